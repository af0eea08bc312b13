# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests and two switches, managed by a program in one of the guests."""

import json
import unittest

from guestvm import net, tap
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.paths import BUILD
from guestvm.ubswitch import PROGRAM as SWITCH, Switch

TOOLS = BUILD / 'tools' / 'ub'
NAMES = ('one', 'two')


class Manager(unittest.TestCase):
    """one - near = far - two, with two links between the switches."""

    @classmethod
    def setUpClass(cls):
        for program in (SWITCH, TOOLS / 'ubfm', TOOLS / 'ubscan'):
            if not program.exists():
                raise NotAvailable(f'{program.name} is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        if not any(p.name == 'ub_net.ko' for p in driver_modules('x86_64')):
            raise NotAvailable('ub_net.ko is not built')
        cls.near = Switch(3, 'near')
        cls.addClassCleanup(cls.near.close)
        cls.near.start()
        cls.far = Switch(3, 'far', connect={1: cls.near.path(1),
                                            2: cls.near.path(2)})
        cls.addClassCleanup(cls.far.close)
        cls.far.start()
        cls.guests = []
        for name, switch in zip(NAMES, (cls.near, cls.far)):
            guest = Guest(name, args=['-chardev', switch.chardev(0)],
                          devices=['ubc,id=ub,chardev0=ubwire'],
                          files={f'/bin/{tool}': TOOLS / tool
                                 for tool in ('ubfm', 'ubscan')})
            cls.addClassCleanup(guest.close)
            cls.guests.append(guest.start())
        cls.one, cls.two = cls.guests
        for guest in cls.guests:
            guest.wait_ready()
            guest.dev = net.interface(guest, 'ubc')
            guest.run(f'ip link set {guest.dev} up')
        for guest in cls.guests:
            guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier')

    def scan(self, guest):
        """Nodes by GUID, as ubscan finds them."""
        done = guest.run('ubscan --json', 60, check=False)
        return {n['guid']: n for n in json.loads(done.out)['nodes']}

    def own(self, guest):
        return next(n for n in self.scan(guest).values() if n['own'])

    def routes(self, switch):
        return {r['cna']: r['ports']
                for r in switch.command('query-routes')['cna']}

    def changed(self, lines):
        """Wait until the service has told of so many changes."""
        self.one.wait_for(f'[ $(grep -c registers /tmp/log) -ge {lines} ]', 60)

    def told(self):
        return int(self.one.out('grep -c registers /tmp/log'))

    def check_all(self):
        """Each guest sees all, with addresses, and has the registers of all."""
        for guest in self.guests:
            nodes = self.scan(guest)
            self.assertEqual(len(nodes), 4)
            self.assertEqual(len({n['cna'] for n in nodes.values()} - {0}), 4)
            for node in nodes.values():
                self.assertEqual(node['upi'], 5, node)
                self.assertEqual(node['eid'],
                                 f'fd00{0:023x}{node["cna"]:05x}')
        self.assertEqual([g.kernel_complaints() for g in self.guests],
                         [[], []])

    def test_1_once(self):
        """addresses, identities and routes of all, both links in use"""
        self.assertEqual({n['cna'] for n in self.scan(self.one).values()},
                         {0})
        done = self.one.run('ubfm -u 5 -e fd000000000000000000000000000000 '
                            '-f json', 60)
        print('# ' + done.err.strip())
        nodes = json.loads(done.out)['nodes']
        self.assertEqual(len(nodes), 4)
        self.check_all()
        two = self.own(self.two)['cna']
        self.assertEqual(self.routes(self.near)[two], [1, 2])
        self.assertEqual(self.routes(self.far)[two], [0])
        # A second time there is nothing to be done.
        before = self.routes(self.near)
        self.one.run('ubfm', 60)
        self.assertEqual(self.routes(self.near), before)

    def test_2_service(self):
        """a link goes and comes back: routes follow, in a second"""
        self.one.spawn('ubfm -s -i 600 -u 5 -f svg -o /tmp/fabric.svg '
                       '-e fd000000000000000000000000000000 2> /tmp/log', 600)
        self.changed(1)
        self.assertIn('</svg>', self.one.out('cat /tmp/fabric.svg'))
        two = self.own(self.two)['cna']
        for on, want in ((False, [2]), (True, [1, 2])):
            lines = self.told()
            self.near.command('port-enable', port=1, on=on)
            self.changed(lines + 1)
            self.one.wait_for('tail -n 1 /tmp/log | '
                              f'grep -q "{4 if on else 3} links"', 60)
            self.assertEqual(self.routes(self.near)[two], want)
            self.check_all()

    def test_3_switch(self):
        """a switch is killed and begins anew: the rest goes on, then all"""
        cls = type(self)
        self.far.kill()
        self.one.wait_for('tail -n 5 /tmp/log | grep -q "2 nodes"', 60)
        self.assertEqual(len(self.scan(self.one)), 2)
        cls.far = Switch(3, 'far2', guid='cc08b00103000000' + '7' * 16,
                         connect={1: self.near.path(1),
                                  2: self.near.path(2)})
        # Where the guest's controller looks for it.
        self.far.words[self.far.words.index(
            f'unix:{self.far.path(0)}')] = f'unix:{self.two_path()}'
        cls.addClassCleanup(cls.far.close)
        self.far.start()
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier',
                          60)
        self.one.wait_for('tail -n 5 /tmp/log | grep -q "4 nodes, 4 links"',
                          60)
        self.check_all()
        print('# ' + self.one.out('cat /tmp/log').replace('\n', '\n# '))

    def two_path(self):
        return next(word.split('path=')[1].split(',')[0]
                    for word in self.two.args if 'path=' in word)

    def test_4_ends(self):
        """it ends in order, and with its device"""
        self.one.run('kill $(pidof ubfm)')
        self.one.wait_for('! pidof ubfm')
        self.one.spawn('ubfm -s 2> /tmp/log; echo $? > /tmp/status', 600)
        self.changed(1)
        pci = self.one.out(f'readlink -f /sys/class/net/{self.one.dev}/'
                           'device/..').split('/')[-1]
        self.one.run(f'echo {pci} > /sys/bus/pci/drivers/ub_core/unbind')
        self.one.wait_for('grep -q 1 /tmp/status')
        self.assertEqual(self.one.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
