# SPDX-License-Identifier: GPL-2.0-or-later
"""URMA between two booted guests while something goes wrong: every byte compared."""

import time

from guestvm import tap, ublink
from guestvm.clock import deadline
from guestvm.urmacase import DRIVE, TwoGuests

# What query-faults counts of what a plan asks for.
COUNTED = {'drop_ppm': 'dropped', 'duplicate_ppm': 'duplicated',
           'reorder_ppm': 'reordered', 'corrupt_ppm': 'corrupted'}
# A channel outlives what takes some seconds.
PATIENT = ',tp-time-scale=25'


class Faults(TwoGuests):
    """With a switch between them."""
    switched = True
    props = PATIENT

    def fault(self, **plan):
        """Of what the switch sends to either."""
        for port in range(2):
            self.switch.command('fault-set', port=port, seed=port + 1,
                                **{k.replace('_', '-'): v
                                   for k, v in plan.items()})

    def happened(self, plan):
        """Each kind, to either."""
        ports = self.switch.command('query-faults')
        return len(ports) == 2 and all(port[COUNTED[kind]] > 0
                                       for port in ports for kind in plan)

    def faulty(self, **plan):
        """A whole round while the switch does that, and one after it."""
        self.traffic('rm')
        self.fault(**plan)
        self.progress(2)
        until = deadline(180)
        while not self.happened(plan):
            self.assertLess(time.monotonic(), until,
                            self.switch.command('query-faults'))
            self.progress()
        self.fault()
        self.finish()

    def test_1_loss(self):
        """packets are lost: RTP loses nothing"""
        self.faulty(drop_ppm=10000)

    def test_2_order(self):
        """packets change their order, or come twice"""
        self.faulty(reorder_ppm=20000, duplicate_ppm=20000)

    def test_3_corruption(self):
        """bits change: within the switch, and on the lanes of either wire"""
        self.faulty(corrupt_ppm=10000)
        before = [ublink.counters(g)['flits_resent']
                  for g in (self.left, self.right)]
        self.traffic('rm')
        for guest in (self.left, self.right):
            ublink.disturb(guest, ber=1e-7, burst=300)
        until = deadline(180)
        while not all(ublink.counters(g)['flits_resent'] > b for g, b in
                      zip((self.left, self.right), before)):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        for guest in (self.left, self.right):
            ublink.disturb(guest)
        self.finish()

    def test_4_switch_restarts(self):
        """the switch dies under traffic and another takes its place"""
        self.traffic('rm')
        self.switch.kill()
        for guest in (self.left, self.right):
            guest.wait_for(f'grep -q 0 /sys/class/net/{guest.dev}/carrier')
        self.assertFalse(self.job.finished)
        self.switch_start()
        self.finish()

    def test_5_corrupt(self):
        """a program writes over its rings: others go on, here and there"""
        self.traffic('rm')
        self.assertEqual(self.left.out(f'{DRIVE} corrupt 5 8', 240),
                         'corrupted')
        self.finish()
        self.drive('rm', host='self', guest=self.left)


class Moves(TwoGuests):
    """On a wire of their own."""
    hotplug = 0
    props = PATIENT

    def test_1_link_cut(self):
        """the wire is cut under traffic, and joined again: programs are told"""
        events = self.awaited('port-down', 'port-active')
        self.traffic('rm')
        for lane in range(8):
            ublink.inject(self.left, lane, cut=True)
        self.right.wait_for(
            f'grep -q 0 /sys/class/net/{self.right.dev}/carrier')
        self.assertFalse(self.job.finished)
        for lane in range(8):
            ublink.inject(self.left, lane)
        # Training may have had to begin again.
        told = self.told(events)
        self.assertEqual((told[0], told[-1]), ('port-down 0', 'port-active 0'))
        self.finish()

    def move(self, name):
        """The right guest to an emulator of its own, whose caches are cold."""
        cls = type(self)
        source = cls.right
        target = cls.make(name, 2)
        target.name, target.dev = source.name, source.dev
        target.incoming = f'unix:{target.dir}/incoming'
        target.start()
        self.job.moved(target)
        source.migrate_to(target, target.incoming)
        source.kill()
        cls.right = target

    def test_2_migrate(self):
        """the guest that writes, reads and sends moves in the midst of it"""
        self.traffic('rm', 'rc', 'mutual')
        self.move('moved')
        self.finish()


if __name__ == '__main__':
    tap.main()
