#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-floors.py sees each kind of breach, and nothing else."""
import importlib.util
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location('floors',
                                              HERE / 'check-floors.py')
FLOORS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(FLOORS)


class Floors(unittest.TestCase):
    """A small house in a temporary folder."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.root = pathlib.Path(self.dir.name)
        for header in ('core/packet.h', 'ub/port.h', 'ub/net.h', 'ub/phy.h',
                       'ub/dll.h', 'ub/ubc.h', 'rdma/core.h'):
            self.write(f'include/{header}', '')

    def write(self, name, text):
        """A file of the house."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')

    def found(self, name, *includes):
        """What is wrong with a file that includes these."""
        self.write(name, ''.join(f'#include "{i}"\n' for i in includes))
        return list(FLOORS.breaches(self.root))

    def test_downward(self):
        self.write('hw/ub/port/internal.h', '')
        self.assertEqual(self.found('hw/ub/port/port.c', 'core/packet.h',
                                    'ub/phy.h', 'ub/dll.h', 'internal.h'), [])

    def test_upward(self):
        for name, header in (('hw/ub/phy/phy.c', 'ub/dll.h'),
                             ('hw/ub/port/port.c', 'ub/ubc.h'),
                             ('hw/core/packet.c', 'ub/phy.h'),
                             ('hw/ub/ta/ta.c', 'ub/port.h'),
                             ('hw/ub/switch/switch.c', 'ub/ubc.h'),
                             ('hw/rdma/roce/icrc.c', 'rdma/core.h')):
            with self.subTest(name):
                self.assertEqual(len(self.found(name, header)), 1)
                (self.root / name).unlink()

    def test_across(self):
        self.assertEqual(len(self.found('hw/ub/dll/dll.c', '../phy/pcs.h')), 1)
        self.assertEqual(len(self.found('hw/ub/dll/dll.c', 'rdma/core.h')), 1)

    def test_qemu_in_a_core(self):
        self.assertEqual(len(self.found('hw/ub/dll/dll.c', 'hw/pci/pci.h')), 1)
        self.assertGreater(len(self.found('hw/ub/dll/dll.c', 'qemu/osdep.h')),
                           0)
        (self.root / 'hw/ub/dll/dll.c').unlink()
        self.assertEqual(self.found('hw/ub/ubc/ubc-pci.c', 'qemu/osdep.h',
                                    'hw/pci/pci.h', 'ub/ubc.h'), [])

    def test_unknown_room(self):
        self.assertEqual(len(self.found('hw/attic/box.c')), 1)
        (self.root / 'hw/attic/box.c').unlink()
        self.write('include/ub/odd.h', '')
        self.assertEqual(len(self.found('hw/ub/dll/dll.c', 'ub/odd.h')), 1)


if __name__ == '__main__':
    unittest.main()
