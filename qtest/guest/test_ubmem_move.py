# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with memory of each other mapped move to other emulators while programs load
and store: whoever moves, they go on, and nothing differs."""

import unittest

from guestvm import tap, ubmem
from guestvm.ubmem import PAGE, Serve
from guestvm.ubswitch import Switch

# What moves has no link for seconds, on a slow host for more: loads wait, and channels
# try again.
PATIENT = 'window-timeout=120000,window-grace=120000,tp-time-scale=25'
IOTHREAD = ['-object', 'iothread,id=io']


class Move(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ubmem.needed()
        cls.switch = Switch(2)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        for port in range(2):
            cls.switch.command('route-set', cna=port + 1, ports=[port])
        cls.guests = [cls.make(n) for n in range(2)]
        for guest in cls.guests:
            guest.start()
        for guest in cls.guests:
            guest.wait_ready(300)
            ubmem.ready(guest)

    @classmethod
    def make(cls, n):
        """Node 1 has its ports in an IOThread."""
        guest = ubmem.node(n, cls.switch.chardev(n), hotplug=0,
                           props=PATIENT + (',iothread=io' if n else ''))
        cls.addClassCleanup(guest.close)
        guest.args += IOTHREAD if n else []
        return guest

    def move(self, n, *programs):
        """A node to an emulator of its own, with programs that run there."""
        source = self.guests[n]
        target = self.make(n)
        target.name, target.dev = source.name, source.dev
        target.incoming = f'unix:{target.dir}/incoming'
        target.start()
        source.migrate_to(target, target.incoming)
        source.kill()
        self.guests[n] = target
        for program in programs:
            program.guest = target
        target.wait_for(
            f'grep -q 1 /sys/class/net/{target.dev}/carrier', 120)

    def rounds(self, steady):
        """It has gone on since the last time, and nothing has failed: what was under
        way when its machine was stopped is done where it has moved to."""
        said = steady.tell('go', 300)
        print('#', said)
        rounds, failed = (int(word) for word in said.split()[:2])
        self.assertGreater(rounds, 0)
        self.assertEqual(failed, 0, said)

    def case(self, options, user):
        """The node @user uses the memory of the other one; both move."""
        home = 1 - user
        serve = Serve(self.guests[home], f'serve {2 * PAGE}')
        steady = Serve(self.guests[user], f'steady {serve.desc}',
                       f'env OPTIONS={options} ubmem-perf')
        self.assertEqual(steady.desc, 'steady')
        self.rounds(steady)
        self.move(user, steady)
        self.rounds(steady)
        self.rounds(steady)
        self.move(home, serve)
        self.rounds(steady)
        # As its owner sees it.
        self.assertNotEqual(int(serve.tell('word 8'), 16), 0)
        steady.kill()
        self.assertEqual(
            self.guests[user].out(f'ubmem-perf check {serve.desc} 64', 240),
            'checked')
        serve.kill()
        for guest in self.guests:
            guest.wait_for(f'grep -qx 0 {ubmem.SYSFS}/used')
            self.assertEqual(ubmem.attr(guest, 'exports'), 0)
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_window(self):
        """loads and stores by the window"""
        self.case('rtp', 0)

    def test_2_iothread(self):
        """the same of the node whose ports are in an IOThread"""
        self.case('rtp', 1)

    def test_3_cached(self):
        """cached pages that are written back"""
        self.case("'rtp cached'", 0)


if __name__ == '__main__':
    tap.main()
