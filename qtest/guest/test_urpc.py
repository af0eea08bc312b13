# SPDX-License-Identifier: GPL-2.0-or-later
"""URPC between two booted guests, over jetties of the real link."""

from guestvm import tap, ublink
from guestvm.urmacase import NATIVE, TwoGuests


class Urpc(TwoGuests):
    @staticmethod
    def program(arch):
        return NATIVE / 'urpc-drive'

    def test_1_self(self):
        """one guest with itself, without a link"""
        self.drive('echo', 'many', 'both', 'methods', 'deploy', 'reference',
                   'merge', 'ranges', 'late', 'lost', 'log', 'redirect',
                   'refused', 'hostile', host='self')
        self.check_kernels()

    def test_2_calls(self):
        """echo in every way of arguments, many at a time, calls both ways"""
        before = ublink.counters(self.left)['rx_flits']
        self.drive('echo', 'many', 'both', 'methods')
        # A flit has 20 bytes; each of 3,000 calls is a message of its own.
        self.assertGreater(ublink.counters(self.left)['rx_flits'],
                           before + 3000)

    def test_2b_methods(self):
        """functions that a peer deploys and deletes, arguments by reference"""
        self.drive('deploy', 'reference')
        self.check_kernels()

    def test_2c_messages(self):
        """Acks with Responses, Responses of several calls, time-outs at either end"""
        self.drive('merge', 'ranges', 'late', 'lost')
        self.check_kernels()

    def test_3_log(self):
        """storage logs in all Data Modes"""
        before = ublink.counters(self.left)['rx_flits']
        self.drive('log')
        self.assertGreater(ublink.counters(self.left)['rx_flits'],
                           before + 20000)
        self.check_kernels()

    def test_3b_redirect(self):
        """a log whose data are a third node's"""
        self.drive('redirect')
        self.check_kernels()

    def test_4_refused(self):
        """statuses; memory that the device refuses; messages that are none"""
        self.drive('refused', 'hostile')
        self.check_kernels()

    def test_5_together(self):
        """broadcast, barrier, all-reduce of four nodes, two in each guest"""
        self.drive('collective')
        self.check_kernels()


if __name__ == '__main__':
    tap.main()
