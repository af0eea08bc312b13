# SPDX-License-Identifier: GPL-2.0-or-later
"""UB over Ethernet between two guests: one at a UB link behind a gateway, ub-switch with
an Ethernet port, the other with a netdev of its own controller.  Programs of both use
their controllers' queues over ways of IPv4 and IPv6 (LPH.CFG 3 and 4)."""

import unittest

from guestvm import kernel, tap
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.paths import BUILD
from guestvm.ubswitch import PROGRAM as SWITCH, Switch

PROGRAM = BUILD / 'qtest' / 'guest' / 'native' / 'ub-ip'
UB, ETHER = 1, 2        # numbers of the nodes
PORT = {UB: 0, ETHER: 1}  # of the switch


class Gateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PROGRAM.exists():
            raise NotAvailable('ub-ip is not built')
        if not SWITCH.exists():
            raise NotAvailable('ub-switch is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        cls.switch = Switch(1, ethernet=1)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        for number, port in PORT.items():
            for prefix in (f'10.0.0.{number}', f'fd00::{number}'):
                cls.switch.command('ip-route-set', prefix=prefix, ports=[port])
        cls.guests = {
            UB: cls.make(UB, ['-chardev', cls.switch.chardev(0)],
                         'chardev0=ubwire'),
            ETHER: cls.make(ETHER, ['-netdev', cls.switch.netdev(1, 'ether')],
                            'netdev=ether,mac=52:54:00:00:00:02'),
        }
        for guest in cls.guests.values():
            guest.start()
        for guest in cls.guests.values():
            guest.wait_ready(300)
            guest.run('echo 1 > /proc/sys/vm/nr_hugepages')
        cls.program(UB, 'link')

    @classmethod
    def make(cls, number, args, props):
        guest = Guest(f'node{number}', drivers=[],
                      files={'/bin/ub-ip': PROGRAM},
                      kern=kernel.other('x86_64') if number == UB else None)
        cls.addClassCleanup(guest.close)
        guest.args = args
        guest.devices = [f'ubc,id=ub,{props},cna={number},upi=1,'
                         f'eid={number:032x}']
        return guest

    @classmethod
    def words(cls, number, what):
        return f'/bin/ub-ip {number} {3 - number} {what}'

    @classmethod
    def program(cls, number, what):
        return cls.guests[number].out(cls.words(number, what), 300)

    def serve_and_check(self, server):
        host = self.guests[server]
        host.run(f'({self.words(server, "serve")} > /tmp/out 2>&1 & '
                 'echo $! > /tmp/pid; wait; : > /tmp/ended) '
                 '> /dev/null 2>&1 &')
        host.wait_for('grep -q serving /tmp/out', 240)
        self.assertEqual(self.program(3 - server, 'check'), 'ok')
        host.wait_for('test $(grep -c message /tmp/out) = 2', 240)
        host.run('kill $(cat /tmp/pid)')
        host.wait_for('test -e /tmp/ended', 60)
        self.assertEqual(host.out('cat /tmp/out'),
                         'serving\nmessage\nmessage')

    def test_1_to_ethernet(self):
        """from behind the gateway to the netdev"""
        self.serve_and_check(ETHER)

    def test_2_complaints(self):
        """the kernels have nothing to complain of"""
        for guest in self.guests.values():
            self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
