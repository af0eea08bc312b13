# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's own ib_mthca, rdma-core and perftest on ncic-mthca, two guests."""

import unittest

from guestvm import net, rdma, tap
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.hostnet import stream

MODEL = 'ncic-mthca'
DEVICE = 'mthca0'


class TwoGuests(unittest.TestCase):
    """The RDMA wire and, for the programs' own talk, an IP wire."""

    @classmethod
    def setUpClass(cls):
        if not has_device('x86_64', MODEL):
            raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
        cls.left, cls.right = (Guest(name, rdma=True, memory=384)
                               for name in ('left', 'right'))
        for guest in (cls.left, cls.right):
            cls.addClassCleanup(guest.close)
        wires = [cls.left.dir / name for name in ('rdma', 'ip')]
        for number, guest in enumerate((cls.left, cls.right), 1):
            guest.nics = [
                (stream(wire, server=number == 1,
                        reconnect_ms=0 if number == 1 else 100),
                 f'{model},mac=52:54:00:00:0{index}:0{number}')
                for index, (wire, model) in enumerate(
                    zip(wires, (f'{MODEL},sm=auto,lid={number}',
                                'virtio-net-pci')))]
            guest.start()
        for number, guest in enumerate((cls.left, cls.right), 1):
            guest.wait_ready()
            net.static(guest, net.interface(guest, 'virtio-net-pci'),
                       f'10.2.0.{number}/24')
            # Without an active port every case would run into its deadline.
            rdma.wait_active(guest, DEVICE)
        net.reachable(cls.right, '10.2.0.1')

    def pingpong(self, kind, options=''):
        rate = rdma.pingpong(self.left, self.right, '10.2.0.1', kind, DEVICE,
                             options)
        print(f'# ibv_{kind}_pingpong {options}: {rate:.0f} Mbit/s')
        self.check_guests()

    def perftest(self, tool, options=''):
        row = rdma.perftest(self.left, self.right, '10.2.0.1', tool, DEVICE,
                            options)
        print(f'# {tool} {options}: ' + ' '.join(row))
        self.check_guests()

    def check_guests(self):
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])

    def test_01_devinfo(self):
        """the stock driver binds and the port comes up"""
        for guest in (self.left, self.right):
            info = rdma.devinfo(guest, DEVICE)
            self.assertEqual(info['transport'], 'InfiniBand (0)')
        self.check_guests()

    def test_02_rc(self):
        """ibv_rc_pingpong, data checked"""
        self.pingpong('rc', '-c')

    def test_03_rc_events(self):
        """ibv_rc_pingpong that sleeps on completion events"""
        self.pingpong('rc', '-c -e')

    def test_04_uc(self):
        """ibv_uc_pingpong, data checked"""
        self.pingpong('uc', '-c')

    def test_05_ud(self):
        """ibv_ud_pingpong, data checked"""
        self.pingpong('ud', '-c')

    def test_06_srq(self):
        """ibv_srq_pingpong, data checked"""
        self.pingpong('srq', '-c')

    def test_07_mtus(self):
        """every path MTU the port has"""
        for mtu in (256, 512, 1024, 2048):
            self.pingpong('rc', f'-c -m {mtu} -s 20000 -n 100')


def add_perftest(name, tool, options):
    def case(self):
        self.perftest(tool, options)
    case.__doc__ = f'{tool} {options}'
    setattr(TwoGuests, name, case)


for number, (what, kinds) in enumerate((
        ('send', ('RC', 'UC', 'UD')), ('write', ('RC', 'UC')),
        ('read', ('RC',)), ('atomic', ('RC',)))):
    for kind in kinds:
        for measure in ('bw', 'lat'):
            size = {'bw': '-s 65536', 'lat': '-s 2'}[measure]
            if kind == 'UD':
                size = {'bw': '-s 1024', 'lat': '-s 2'}[measure]
            if what == 'atomic':
                size = ''
            add_perftest(f'test_{number + 1}1_{what}_{kind.lower()}_{measure}',
                         f'ib_{what}_{measure}', f'-c {kind} {size} -n 200')

del number, what, kinds, kind, measure, size

if __name__ == '__main__':
    tap.main()
