# SPDX-License-Identifier: GPL-2.0-or-later
"""What guest tests take for a complaint of the kernel."""

import tempfile
import unittest
from pathlib import Path

from guestvm import tap
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
[    5.1] BUG kmalloc-64 (Tainted: G           O      ): Poison overwritten
[    5.1] kernel BUG at lib/list_debug.c:59!
[    5.1] INFO: trying to register non-static key.
[    5.1] DMA-API: debugging out of memory - disabling
[    5.1] ODEBUG: Out of memory. ODEBUG disabled
[    5.1] WARNING: CPU: 0 PID: 4 at kernel/dma/debug.c:973 check_unmap+0xd30
'''
QUIET = '''\
[    0.0] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo
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


if __name__ == '__main__':
    tap.main()
