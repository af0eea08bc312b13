# SPDX-License-Identifier: GPL-2.0-or-later
"""Three guests on a ub-switch: messages and scans through /dev/ubmsgN."""

import json
import time
import unittest

from guestvm import kernel, net, tap, ublink
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.paths import BUILD
from guestvm.ubswitch import PROGRAM as SWITCH, Switch

TOOLS = BUILD / 'tools' / 'ub'
CHECK = BUILD / 'qtest' / 'guest' / 'native' / 'ubmsg-check'
NAMES = ('one', 'two', 'three')


def guid(kind, serial):
    """In the two ways to write it: a property's and a tool's."""
    bits = f'{0xcc08:04x}{0xb001:04x}0{kind}{0:06x}{serial:016x}'
    return bits, (f'{bits[:4]}-{bits[4:8]}-{bits[8]}-{bits[9]}-{bits[10:16]}-'
                  f'{bits[16:]}')


GUIDS = {name: guid(2, i + 1) for i, name in enumerate(NAMES)}
GUIDS['switch'] = guid(3, 0x51)
CNAS = {'one': 0x11, 'two': 0x12, 'three': 0x13, 'switch': 0x21}


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in (SWITCH, CHECK, TOOLS / 'ubscan'):
            if not program.exists():
                raise NotAvailable(f'{program.name} is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        if not any(p.name == 'ub_net.ko' for p in driver_modules('x86_64')):
            raise NotAvailable('ub_net.ko is not built')
        # More ports than a slice of a topology has.
        cls.switch = Switch(20, guid=GUIDS['switch'][0])
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        cls.guests = [cls.make(i, name) for i, name in enumerate(NAMES)]
        cls.one, cls.two, cls.three = cls.guests
        for guest in cls.guests:
            guest.start()
        for guest in cls.guests:
            guest.wait_ready()
            guest.dev = net.interface(guest, 'ubc')
            guest.run(f'ip link set {guest.dev} up')
        for guest in cls.guests:
            guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier')
        cls.routes()

    @classmethod
    def make(cls, port, name):
        guest = Guest(name, args=['-chardev', cls.switch.chardev(port)],
                      kern=kernel.other('x86_64') if port == 1 else None,
                      files={'/bin/ubscan': TOOLS / 'ubscan',
                             '/bin/ubmsg-check': CHECK})
        cls.addClassCleanup(guest.close)
        guest.devices = ['ubc,id=ub,chardev0=ubwire,guid=' + GUIDS[name][0] +
                         f',cna={CNAS[name]},eid={CNAS[name]:032x}']
        return guest

    @classmethod
    def routes(cls):
        """What a manager of the fabric would do."""
        cls.switch.command('cna-set', cna=CNAS['switch'])
        for port, name in enumerate(NAMES):
            cls.switch.command('route-set', cna=CNAS[name], ports=[port])

    def scan(self, guest, status=0, words=''):
        """What ubscan finds: {name: node}."""
        done = guest.run(f'ubscan --json {words}', 60, check=False)
        self.assertEqual(done.status, status, done.err)
        names = {text: name for name, (_bits, text) in GUIDS.items()}
        return {names[n['guid']]: n for n in json.loads(done.out)['nodes']}

    def check_kernels(self):
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_device(self):
        """what the device promises its openers"""
        self.assertEqual(self.one.out('ubmsg-check /dev/ubmsg0', 60),
                         'all holds')

    def test_2_everybody(self):
        """ubscan in each guest lists all, with their ports and addresses"""
        for guest in self.guests:
            nodes = self.scan(guest)
            self.assertEqual(set(nodes), {*NAMES, 'switch'})
            self.assertEqual({n: nodes[n]['cna'] for n in nodes}, CNAS)
            self.assertEqual({n: nodes[n]['class'] for n in nodes},
                             {'one': 0, 'two': 0, 'three': 0, 'switch': 3})
            ports = nodes['switch']['ports']
            self.assertEqual([p['up'] for p in ports],
                             [True] * 3 + [False] * 17)
            self.assertEqual([p['peer-guid'] for p in ports[:3]],
                             [GUIDS[n][1] for n in NAMES])
            for port, name in enumerate(NAMES):
                node = nodes[name]
                self.assertEqual(node['hops'],
                                 0 if name == guest.name else 2)
                self.assertEqual(node['own'], name == guest.name)
                # By a configuration message.
                self.assertEqual(int(node['eid'], 16), CNAS[name])
                self.assertEqual(node['ports'],
                                 [{'port': 0, 'up': True, 'boundary': False,
                                   'peer-guid': GUIDS['switch'][1],
                                   'peer-port': port, 'peer-answers': True}])
        print('# ' + self.one.out('ubscan').replace('\n', '\n# '))

    def devices(self, guest):
        """/sys/bus/ub/devices after a rescan: {name: number}."""
        guest.run('echo 1 > /sys/bus/ub/rescan', 60)
        names = {text: name for name, (_bits, text) in GUIDS.items()}
        lines = guest.out('cd /sys/bus/ub/devices; for d in *; do '
                          'echo $d $(cat $d/guid); done').splitlines()
        return {names[text]: number for number, text in
                (line.split() for line in lines)}

    def config(self, guest, number, dword):
        """A dword of an Entity and the status of its bytes, in hex."""
        return guest.out(
            f'dd if=/sys/bus/ub/devices/{number}/config bs=8 count=1 '
            f'iflag=skip_bytes skip={4 * dword} 2>/dev/null | '
            "od -An -tx4 | tr -d ' '", 30)

    def test_2b_bus(self):
        """/sys/bus/ub/devices has all, with what public tools read"""
        found = self.devices(self.one)
        self.assertEqual(set(found), {*NAMES, 'switch'})
        base = '/sys/bus/ub/devices'
        show = {name: dict(line.split('=') for line in self.one.out(
            f'cd {base}/{number}; for a in type vendor device class_code ubc '
            'entity_idx primary_entity instance primary_cna eid; do '
            'echo $a=$(cat $a); done').splitlines())
            for name, number in found.items()}
        for number in found.values():
            self.assertRegex(number, '^[0-9a-f]{5}$')
        root = f'0x{int(found["one"], 16):03x}'
        self.assertEqual(show['one'], {
            'type': '0x2', 'vendor': '0xcc08', 'device': '0xb001',
            'class_code': '0x0000', 'ubc': root, 'entity_idx': '0',
            'primary_entity': root, 'instance': '0x000',
            'primary_cna': '0x0011', 'eid': '0x00011'})
        self.assertEqual(show['switch']['type'], '0x3')
        self.assertEqual(show['switch']['class_code'], '0x0003')
        self.assertEqual({s['ubc'] for s in show.values()}, {root})
        links = self.one.out(f'cat {base}/{found["switch"]}/direct_link')
        self.assertEqual(links.splitlines(), [
            f'0x{port:02x} : 0x00 [0x{int(found[name], 16):03x}]'
            for port, name in enumerate(NAMES)])
        for name, number in found.items():
            serial = int(GUIDS[name][0][-8:], 16)
            self.assertEqual(self.config(self.one, number, 0xe),
                             f'{serial:08x}00000000', name)
        # A page, a byte and halves of bytes are refused.
        for size in (4096, 1, 7):
            self.assertTrue(self.one.run(
                f'dd if={base}/{found["one"]}/config bs={size} count=1',
                check=False).status)
        # Write two bytes of a remote register; only those change.
        ueid = 0x27
        where = f'{base}/{found["two"]}/config'
        self.one.run(f"printf '\\x34\\x12' | dd of={where} bs=2 "
                     f'seek={2 * ueid + 1} conv=notrunc')
        self.assertEqual(self.config(self.one, found['two'], ueid),
                         '1234000000000000')
        own = self.devices(self.two)['two']
        self.assertEqual(self.config(self.two, own, ueid),
                         '1234000000000000')
        # What cannot be reached says so.
        self.switch.command('route-set', cna=CNAS['two'], ports=[])
        self.assertEqual(self.config(self.one, found['two'], ueid), 'f' * 16)
        self.routes()
        self.assertEqual(self.one.out('cat /sys/bus/ub/instance'),
                         'count 0x0, from 0x0, show 0x0')
        self.check_kernels()

    def test_2c_driver(self):
        """a driver binds by vendor and device, near and far"""
        found = self.devices(self.one)
        drivers = ('cd /sys/bus/ub/devices; for d in *; do '
                   '[ -e $d/driver ] && echo $d; done')
        self.one.run('modprobe ub_entity vendor=0xcc09')
        self.assertEqual(self.one.out(drivers + '; true'), '')
        self.one.run('rmmod ub_entity; modprobe ub_entity vendor=0xcc08 '
                     'device=0xb001')
        self.assertEqual(set(self.one.out(drivers + '; true').split()),
                         set(found.values()))
        self.assertIn(f'ub_entity {found["two"]}: bound, CNA 0x12',
                      self.one.out('dmesg'))
        self.one.run('rmmod ub_entity')
        self.assertEqual(self.one.out(drivers + '; true'), '')
        self.check_kernels()

    def test_3_cut(self):
        """what a link was cut from is not there, and is again with the link"""
        self.switch.command('port-enable', port=2, on=False)
        self.three.wait_for(
            f'grep -q 0 /sys/class/net/{self.three.dev}/carrier')
        nodes = self.scan(self.one)
        self.assertEqual(set(nodes), {'one', 'two', 'switch'})
        self.assertFalse(nodes['switch']['ports'][2]['up'])
        self.assertEqual(set(self.scan(self.three)), {'three'})
        self.assertEqual(set(self.devices(self.one)), {'one', 'two', 'switch'})
        # Its own link's event was enough.
        self.three.wait_for('[ $(ls /sys/bus/ub/devices | wc -l) = 1 ]')
        self.switch.command('port-enable', port=2, on=True)
        self.three.wait_for(
            f'grep -q 1 /sys/class/net/{self.three.dev}/carrier')
        self.assertEqual(set(self.scan(self.one)), {*NAMES, 'switch'})
        self.three.wait_for('[ $(ls /sys/bus/ub/devices | wc -l) = 4 ]')

    def test_4_many(self):
        """several in each guest at once, and some that are killed"""
        jobs = [guest.spawn(
            'for i in 1 2 3 4; do ubscan > /tmp/scan$i & done\n'
            'ubscan & kill -9 $!\nwait\ncat /tmp/scan? | grep -c "^[a-z]"',
            120) for guest in self.guests]
        for job in jobs:
            self.assertEqual(job.wait().out.strip(), '16')
        self.check_kernels()

    def test_5_reset(self):
        """the function is reset under load: those who asked are told"""
        job = self.two.spawn('for i in $(seq 20); do ubscan -s; done '
                             '> /dev/null 2>&1', 120)
        pci = self.two.out(f'readlink -f /sys/class/net/{self.two.dev}/'
                           'device/..')
        self.two.run(f'echo 1 > {pci}/reset')
        job.wait(check=False)
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier')
        self.assertEqual(set(self.scan(self.two)), {*NAMES, 'switch'})
        self.check_kernels()

    def test_6_gone(self):
        """the driver lets go of the function while programs use it"""
        pci = self.two.out(f'readlink -f /sys/class/net/{self.two.dev}/'
                           'device/..')
        driver, address = '/sys/bus/pci/drivers/ub_core', pci.split('/')[-1]
        job = self.two.spawn('while ubscan -s; do :; done > /dev/null 2>&1\n'
                             'echo ended', 60)
        self.two.run('exec 5<>/dev/ubmsg0\n'
                     f'echo {address} > {driver}/unbind\n'
                     'ls /dev/ubmsg* && exit 1\n'
                     'head -c 1 <&5 && exit 1\n'
                     'exit 0')
        self.assertEqual(job.wait().out.strip(), 'ended')
        self.assertEqual(self.two.out('ls /sys/bus/ub/devices'), '')
        self.two.run(f'echo {address} > {driver}/bind')
        self.two.dev = net.interface(self.two, 'ubc')
        self.two.run(f'ip link set {self.two.dev} up')
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier')
        self.assertEqual(self.two.out('ubmsg-check /dev/ubmsg0', 60),
                         'all holds')
        self.two.run('rmmod ub_net ub_core; modprobe ub_core; '
                     'modprobe ub_net')
        self.check_kernels()

    def test_7_switch_ends(self):
        """the switch is killed: each guest is alone, and says so"""
        self.switch.kill()
        self.one.wait_for(f'grep -q 0 /sys/class/net/{self.one.dev}/carrier')
        until = deadline(20)
        while set(self.scan(self.one)) != {'one'}:
            self.assertLess(time.monotonic(), until, ublink.state(self.one))
        self.check_kernels()


if __name__ == '__main__':
    tap.main()
