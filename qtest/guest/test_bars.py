# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processors while BARs come and go: what scripts/qemu/tlb.patch mends."""

import unittest

from guestvm import tap
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.paths import BUILD

PROGRAM = BUILD / 'qtest' / 'guest' / 'native' / 'bars'
ROUNDS = 6000   # without the mending mostly over after some thousand


class Bars(unittest.TestCase):
    def test_bars(self):
        """Processor 1's accesses reach what they are for while processor 0 changes the
        machine's map: no other device gets them, and no interrupt is lost."""
        if not PROGRAM.exists():
            raise NotAvailable('bars is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        guest = Guest('bars', drivers=[], smp=2, hotplug=1,
                      files={'/bin/bars': PROGRAM}, devices=['ubc,id=ub,bus=port0'])
        self.addCleanup(guest.close)
        guest.start()
        guest.wait_ready()
        self.assertEqual(
            guest.out(f'bars /sys/bus/pci/devices/0000:01:00.0/config {ROUNDS}', 300),
            'ok')


if __name__ == '__main__':
    tap.main()
