# SPDX-License-Identifier: GPL-2.0-or-later
"""Two booted guests with each of the devices, in the emulator that has the
address and undefined-behaviour sanitizers: what real drivers do, once."""

import unittest

from guestvm import net, rdma, tap
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import stream

MODELS = 'ncic-nic', 'ubc', 'ncic-mthca'


class Sanitized(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for model in MODELS:
            if not has_device('x86_64', model):
                raise NotAvailable(f'qemu-system-x86_64 has no device {model}')
        if len(driver_modules('x86_64')) < 2:
            raise NotAvailable('the drivers are not built for x86_64')
        cls.guests = []
        for number, name in enumerate(('left', 'right'), 1):
            guest = Guest(name, rdma=True, memory=384)
            cls.addClassCleanup(guest.close)
            cls.guests.append(guest)
            wires = cls.guests[0].dir
            end = 'server=on,wait=off' if number == 1 else 'reconnect-ms=100'
            guest.args = ['-chardev',
                          f'socket,id=ubwire,path={wires}/ub,{end}']
            guest.devices = ['ubc,id=ub,chardev0=ubwire']
            guest.nics = [(stream(wires / model, server=number == 1,
                                  reconnect_ms=100 * (number - 1)),
                           f'{model},mac=52:54:00:0{i}:09:0{number}{more}')
                          for i, (model, more) in enumerate((
                              ('ncic-nic', ''),
                              ('ncic-mthca', f',lid={number}')))]
            guest.start()
        for guest in cls.guests:
            guest.wait_ready()

    def test_1_ncic(self):
        """ncic_eth: ping and TCP"""
        left, right = self.guests
        for number, guest in enumerate(self.guests, 1):
            net.static(guest, net.interface(guest, 'ncic-nic'),
                       f'10.2.0.{number}/24')
        net.reachable(right, '10.2.0.1')
        self.assertEqual(net.ping(right, '10.2.0.1', '-f -c 100'), (100, 100))
        net.iperf3_serve(left)
        for way in ('', '-R'):
            net.iperf3(right, '10.2.0.1', f'-n 2M {way}')

    def test_2_ubc(self):
        """ubc: the link trains, ping"""
        for number, guest in enumerate(self.guests, 1):
            dev = net.interface(guest, 'ubc')
            guest.run(f'ip addr add 10.3.0.{number}/24 dev {dev}\n'
                      f'ip link set {dev} up')
        net.reachable(self.guests[1], '10.3.0.1', 120)
        self.assertEqual(net.ping(self.guests[1], '10.3.0.1', '-f -c 100'),
                         (100, 100))

    def test_3_mthca(self):
        """ib_mthca: data by RC, UC and UD"""
        device = [rdma.wait_active(guest) for guest in self.guests][0]
        for kind in ('rc', 'uc', 'ud'):
            rdma.pingpong(*self.guests, '10.2.0.1', kind, device, '-c -n 100')

    def test_4_unload(self):
        """the drivers let go of the devices"""
        for guest in self.guests:
            guest.run('rmmod ncic_eth ub_net ub_core; modprobe -r ib_mthca', 60)
            self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
