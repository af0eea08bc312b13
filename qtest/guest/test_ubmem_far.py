# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of a guest that is two switches away, and links that disturb bits."""

import time
import unittest

from guestvm import kernel, tap, ubmem, ublink
from guestvm.clock import deadline
from guestvm.ubmem import PAGE, Serve
from guestvm.ubswitch import Switch

# Bursts are longer than the FEC can mend: blocks are sent again.
BAD = {'ber': 1e-6, 'burst': 300}


class Far(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ubmem.needed()
        # Port 0 has the guest, port 1 the other switch.
        near = Switch(2, name='near')
        far = Switch(2, name='far', connect={1: near.path(1)})
        cls.switches = (near, far)
        for n, switch in enumerate(cls.switches):
            cls.addClassCleanup(switch.close)
            switch.start()
            for cna in (1, 2):
                switch.command('route-set', cna=cna,
                               ports=[0 if cna == n + 1 else 1])
        cls.guests = [
            ubmem.node(n, switch.chardev(0),
                       kernel.other('x86_64') if n == 1 else None)
            for n, switch in enumerate(cls.switches)]
        for guest in cls.guests:
            cls.addClassCleanup(guest.close)
            guest.start()
        for guest in cls.guests:
            guest.wait_ready(300)
            ubmem.ready(guest)
        cls.ends = (cls.guests, cls.guests[::-1])

    def perf(self, guest, words):
        return guest.out(f'ubmem-perf {words}', 600)

    def window(self):
        """Loads, stores and atomics of each on the memory of the other."""
        for here, there in self.ends:
            serve = Serve(there, f'serve {2 * PAGE}')
            self.assertEqual(self.perf(here, f'check {serve.desc} 16'),
                             'checked')
            serve.kill()

    def cached(self):
        """Pages that are read, written, and written back; as their owner sees them."""
        for here, there in self.ends:
            serve = Serve(there, f'serve {64 * PAGE}')
            print('# ' + self.perf(here, f'cached {serve.desc}'))
            for at in (0, PAGE, 64 * PAGE - 8):
                self.assertEqual(int(serve.tell(f'word {at:#x}'), 16),
                                 (at + 1) * 0x9e3779b97f4a7c15 % (1 << 64))
            serve.kill()

    def disturb(self, **fault):
        """Every lane, both ways, of all three links."""
        for guest in self.guests:
            ublink.disturb(guest, **fault)
        for switch in self.switches:
            for port in (0, 1):
                for lane in ublink.LANES:
                    switch.command('inject-lane', port=port, lane=lane,
                                   **fault)

    def clean(self):
        for guest in self.guests:
            for name in ('used', 'exports', 'failed'):
                self.assertEqual(ubmem.attr(guest, name), 0, name)
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_window(self):
        """a program has the memory of a guest two switches away"""
        self.window()
        self.clean()

    def test_2_cached(self):
        """cached, and written back over two switches"""
        self.cached()
        self.clean()

    def test_3_lossy(self):
        """the same while blocks are lost on each link: nothing fails, nothing differs"""
        before = [ublink.counters(g)['flits_resent'] for g in self.guests]
        until = deadline(120)
        self.disturb(**BAD)
        while True:
            self.window()
            self.cached()
            now = [ublink.counters(g)['flits_resent'] for g in self.guests]
            if all(a > b for a, b in zip(now, before)):
                break
            self.assertLess(time.monotonic(), until, 'no block was lost')
        self.disturb()
        self.clean()


if __name__ == '__main__':
    tap.main()
