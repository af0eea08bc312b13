# SPDX-License-Identifier: GPL-2.0-or-later
"""What guest tests take for a complaint of the kernel, and whose kernels."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from guestvm import kernel, tap, watch
from guestvm.guest import Guest

# As Linux 6.1 prints them: lib/debugobjects.c, kernel/locking/lockdep.c,
# kernel/dma/debug.c, mm/slub.c, mm/kasan/report.c.
COMPLAINTS = '''\
[    5.1] WARNING: possible circular locking dependency detected
[    5.1] WARNING: possible recursive locking detected
[    5.1] WARNING: inconsistent lock state
[    5.1] WARNING: suspicious RCU usage
[    5.1] WARNING: lock held when returning to user space!
[    5.1] BUG: sleeping function called from invalid context at mm/slab.h:492
[    5.1] BUG: scheduling while atomic: sh/54/0x00000002
[    5.1] BUG: MAX_LOCKDEP_CHAINS too low!
[    5.1] BUG: KASAN: use-after-free in eq_irq+0x1f/0x200 [ub_urma]
[    5.1] refcount_t: underflow; use-after-free.
[    5.1] BUG kmalloc-64 (Tainted: G           O      ): Poison overwritten
[    5.1] kernel BUG at lib/list_debug.c:59!
[    5.1] INFO: trying to register non-static key.
[    5.1] DMA-API: debugging out of memory - disabling
[    5.1] ODEBUG: Out of memory. ODEBUG disabled
[    5.1] WARNING: CPU: 0 PID: 4 at kernel/dma/debug.c:973 check_unmap+0xd30
'''
QUIET = '''\
[    0.0] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo
[    0.0] rcu: \tRCU callback double-/use-after-free debug is enabled.
[    0.1] DMA-API: preallocated 65536 debug entries
[    0.1] DMA-API: debugging enabled by kernel config
[    0.2] ODEBUG: selftest passed
[    5.1] INFO: task rmmod:80 blocked for more than 120 seconds.
[    5.1] ub_core 0000:00:03.0: INFO: tasks and BUGs
'''


class Console(unittest.TestCase):
    def test_complaints(self):
        """reports of a kernel that watches are complaints, its mere words not"""
        with tempfile.TemporaryDirectory() as where:
            guest = Guest('console', workdir=where)
            Path(guest.console_log).write_text(COMPLAINTS + QUIET)
            self.assertEqual(guest.kernel_complaints(),
                             COMPLAINTS.splitlines())


class End(unittest.TestCase):
    """What is asked for at the end of a guest."""

    def test_judge(self):
        """a lockdep that is off, errors that were not printed, drivers that stay"""
        self.assertEqual(watch.judge('lockdep: 1\ndma-api: N 0\n'), [])
        for said in ('lockdep: 0\ndma-api: N 0\n',
                     'lockdep: 1\ndma-api: N 3\n',
                     'lockdep: 1\ndma-api: Y 0\n',
                     'stays: ub_core\nlockdep: 1\ndma-api: N 0\n',
                     'lockdep: 1\n', ''):
            self.assertNotEqual(watch.judge(said), [], said)

    def test_order(self):
        """whose symbols others have goes last"""
        self.assertIn(' in rclink ub_net ub_core;',
                      watch.script(['ub_core', 'ub_net', 'rclink']))


class Watching(unittest.TestCase):
    """Kernels that scripts/build-debug-kernel made."""

    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.build = Path(where.name)
        patch = mock.patch.object(kernel, 'GUEST_BUILD', self.build)
        patch.start()
        self.addCleanup(patch.stop)

    def make(self, arch, suite, release):
        tree = self.build / arch / f'kernel-{suite}'
        tree.mkdir(parents=True)
        (tree / 'release').write_text(release + '\n')

    def test_get(self):
        """they are told apart from Debian's, and only x86_64 has them"""
        self.make('x86_64', 'debug', '6.1.1-debug')
        self.make('aarch64', kernel.SUITE, '6.1.0-1-arm64')
        kern = kernel.get('x86_64', suite='debug')
        self.assertEqual((kern.suite, kern.release), ('debug', '6.1.1-debug'))
        self.assertEqual(kernel.get('aarch64', suite='debug').release,
                         '6.1.0-1-arm64')

    def test_missing(self):
        """what is not there is not fetched: it is said how to make it"""
        with self.assertRaisesRegex(FileNotFoundError, 'build-debug-kernel'):
            kernel.get('x86_64', suite='kasan')

    def test_both(self):
        """two guests boot the same one"""
        with mock.patch.object(kernel, 'KERNEL_SUITE', 'debug'):
            self.assertIsNone(kernel.other('x86_64'))


if __name__ == '__main__':
    tap.main()
