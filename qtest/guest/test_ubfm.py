# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests and two switches, managed by a program in one of the guests, which
also lends Entities of its controller to the other one."""

import json
import time
import unittest

from guestvm import kernel, net, tap, ubfabric
from guestvm.clock import SCALE, deadline
from guestvm.ubfabric import config, config_set, guid
from guestvm.ubswitch import Switch

SERIAL = {'one': 0x100, 'two': 0x200}
# Of port 1: PORT_CAP21 (UB 2.0 §D.6.22), and a slice of our own.
CE_STATUS, ERROR_INJECTION = 0x31518, 0x3f001
PORT = 0x10000      # from one port's registers to the next's
# Peers of TP channels (include/ub/tp_hw.h).
CHANNELS = 0xf300
DEVICE = {'one': 'entities=bus:urma:other,guard=on,channels-managed=on',
          'two': 'manager=off,guard=on,channels-managed=on'}
IP = {'one': '10.4.0.1', 'two': '10.4.0.2'}
LOW = 1 << 24       # of an NPI: a member that hears no other such member


class Manager(unittest.TestCase):
    """one - near = far - two, with two links between the switches."""

    @classmethod
    def setUpClass(cls):
        ubfabric.needed()
        cls.near = Switch(3, 'near')
        cls.addClassCleanup(cls.near.close)
        cls.near.start()
        cls.far = Switch(3, 'far', slots=['0+'],
                         connect={1: cls.near.path(1), 2: cls.near.path(2)})
        cls.addClassCleanup(cls.far.close)
        cls.far.start()
        cls.guests = []
        for name, switch in zip(SERIAL, (cls.near, cls.far)):
            guest = ubfabric.node(
                name, switch.chardev(0),
                f'guid={guid(SERIAL[name])[0]},{DEVICE[name]}',
                kern=kernel.other('x86_64') if switch is cls.far else None)
            cls.addClassCleanup(guest.close)
            cls.guests.append(guest.start())
        cls.one, cls.two = cls.guests
        ubfabric.ready(cls.guests)

    def scan(self):
        """Nodes by GUID, as the manager's ubscan finds them."""
        done = self.one.run('ubscan --json', 60, check=False)
        return {n['guid']: n for n in json.loads(done.out)['nodes']}

    def cna(self, name):
        return self.scan()[guid(SERIAL[name])[1]]['cna']

    def routes(self, switch):
        return {r['cna']: r['ports']
                for r in switch.command('query-routes')['cna']}

    def changed(self, lines):
        """Wait until the service has told of so many changes."""
        self.one.wait_for(f'[ $(grep -c registers /tmp/log) -ge {lines} ]', 60)

    def lines(self):
        return int(self.one.out('wc -l < /tmp/log'))

    def says(self, text, since):
        """Wait until the service has said so, behind so many lines."""
        self.one.wait_for(f'tail -n +{since + 1} /tmp/log | grep -q "{text}"',
                          60)

    def check_all(self):
        """All are there, with addresses, and their registers can be reached."""
        nodes = self.scan()
        self.assertEqual(len(nodes), 4)
        self.assertEqual(len({n['cna'] for n in nodes.values()} - {0}), 4)
        for node in nodes.values():
            self.assertEqual(node['upi'], 5, node)
            self.assertEqual(node['eid'], f'fd00{0:023x}{node["cna"]:05x}')
        self.check_kernels()

    def check_kernels(self):
        self.assertEqual([g.kernel_complaints() for g in self.guests],
                         [[], []])

    def test_1_once(self):
        """addresses, identities and routes of all, both links in use"""
        self.assertEqual({n['cna'] for n in self.scan().values()},
                         {0})
        done = self.one.run('ubfm -u 5 -e fd000000000000000000000000000000 '
                            '-f json', 60)
        print('# ' + done.err.strip())
        nodes = json.loads(done.out)['nodes']
        self.assertEqual(len(nodes), 4)
        self.check_all()
        two = self.cna('two')
        self.assertEqual(self.routes(self.near)[two], [1, 2])
        self.assertEqual(self.routes(self.far)[two], [0])
        # A second time there is nothing to be done, whatever CNA it would begin with.
        before = self.routes(self.near)
        begin = time.monotonic()
        done = self.one.run('ubfm -c 0x40', 120)
        print(f'# {done.err.strip()}, {time.monotonic() - begin:.2f} s')
        self.assertIn(' 0 registers written', done.err)
        self.assertEqual(self.routes(self.near), before)

    # ---- Pooling ----

    def ubfm(self, command, status=0):
        """A command of the pool; returns what it prints of all Entities."""
        done = self.one.run(f'ubfm -f json -t 60 {command}', 200, check=False)
        print('# ' + done.err.strip().replace('\n', '\n# '))
        self.assertEqual(done.status, status, done.err)
        return {e['index']: e for e in json.loads(done.out)['entities']}

    def devices(self):
        """What the User's bus has beside its own controller: GUID to number."""
        lines = self.two.out('cd /sys/bus/ub/devices; for d in *; do '
                             'echo $d $(cat $d/guid $d/entity_idx); done')
        return {words[1]: words[0] for words in
                (line.split() for line in lines.splitlines())
                if words[2] != '0'}

    def lend_first(self):
        """Entity 1 is lent, by this or by now; returns the pool."""
        pool = self.ubfm('pool')
        if not pool[1]['lent']:
            pool = self.ubfm(f'lend {guid(SERIAL["one"])[1]} 1 '
                             f'{self.cna("two")}')
        self.assertTrue(pool[1]['lent'])
        return pool

    def check_user(self, pool):
        """The User has what is lent, and nothing else."""
        self.assertEqual(set(self.devices()),
                         {e['guid'] for e in pool.values() if e['lent']})

    def test_1b_pool(self):
        """an Entity is lent, used by its User, taken back and replaced"""
        one, two = guid(SERIAL['one'])[1], self.cna('two')
        first, second = (guid(SERIAL['one'] + i)[1] for i in (1, 2))
        token = 0x10000 + 0x2d
        self.two.run('modprobe ub_entity vendor=0xcc08')
        pool = self.ubfm('pool')
        self.assertEqual([(i, e['guid'], e['lent']) for i, e in pool.items()],
                         [(1, first, False), (2, second, False)])
        pool = self.ubfm(f'lend {one} 1 {two}')
        eid = f'fd00{0:023x}1{self.cna("one"):04x}'
        self.assertEqual({k: pool[1][k] for k in
                          ('lent', 'eid', 'upi', 'user-cna', 'user')},
                         {'lent': True, 'eid': eid, 'upi': 5, 'user-cna': two,
                          'user': guid(SERIAL['two'])[1]})
        self.check_user(pool)
        number = self.devices()[first]
        self.assertEqual(
            self.two.out(f'cd /sys/bus/ub/devices/{number}; cat entity_idx '
                         'primary_cna upi eid').split(),
            ['1', f'0x{self.cna("one"):04x}', '0x0005', f'0x{eid[-5:]}'])
        self.assertIn(f'ub_entity {number}: bound', self.two.out('dmesg'))
        # A User's rights: CFG1, and CFG0 to read.
        self.assertEqual(config(self.two, number, 0xe), SERIAL['one'] + 1)
        config_set(self.two, number, token, 5)
        self.assertEqual(config(self.two, number, token), 5)
        self.assertNotEqual(0, self.two.run(
            "printf '\\x5\\0\\0\\0' | dd of=/sys/bus/ub/devices/"
            f'{number}/config bs=4 seek={0x1f} conv=notrunc', check=False
            ).status)
        # It is somebody's; its place is nobody else's.
        self.ubfm(f'lend {one} 1 {two}', 3)
        pool = self.ubfm(f'replace {one} 1 {one} 2')
        self.assertEqual((pool[1]['lent'], pool[2]['eid']), (False, eid))
        self.check_user(pool)
        self.assertIn(f'ub_entity {number}: let go', self.two.out('dmesg'))
        # What the User wrote is gone with the reset.
        local = self.one.out('grep -l "^1$" /sys/bus/ub/devices/*/entity_idx'
                             ).split('/')[-2]
        self.assertEqual(config(self.one, local, token), 0)
        pool = self.ubfm(f'take-back {one} 2')
        self.assertFalse(any(e['lent'] for e in pool.values()))
        self.check_user(pool)
        self.ubfm(f'take-back {one} 2', 3)
        # The User does not take what it cannot reach.
        pool = self.ubfm(f'-u 9 lend {one} 1 {two}', 3)
        self.assertFalse(pool[1]['lent'])
        self.check_user(pool)
        self.ubfm(f'lend {one} 0 {two}', 3)
        self.check_kernels()

    def instances(self, guest):
        """What lsub -b reads: the first line, and a list."""
        lines = guest.out('cat /sys/bus/ub/instance').splitlines()
        return lines[0], lines[1:]

    def test_1b_instances(self):
        """bus instances are made at nodes, and sysfs there lists them"""
        two = guid(SERIAL['two'])[1]
        guids = [f'cc08-0001-0-0-000000-{5 + i:016x}' for i in range(3)]
        lines = [f'guid:{g} type:2 eid:{0x1234 + i:05x} upi:{7 + i:04x}'
                 for i, g in enumerate(guids)]
        for i, text in enumerate(guids):
            self.ubfm(f'instance {two} {text} {0x1234 + i} {7 + i}')
        self.assertEqual(self.instances(self.two),
                         ('count 0x3, from 0x0, show 0x3', lines))
        self.assertEqual(self.instances(self.one)[1], [])
        # The next read begins where it is told to, once.
        self.two.run('printf 1 > /sys/bus/ub/instance')
        self.assertEqual(self.instances(self.two),
                         ('count 0x3, from 0x1, show 0x2', lines[1:]))
        self.assertEqual(self.instances(self.two)[1], lines)
        for bad in ('3', '0x1', 'one'):
            self.assertNotEqual(self.two.run(
                f'printf {bad} | dd of=/sys/bus/ub/instance', check=False
                ).status, 0, bad)
        # Its EID is somebody's; its GUID is an Entity's; there is no such node.
        self.ubfm(f'instance {two} {guids[0][:-1]}9 0x1234 7', 3)
        self.ubfm(f'instance {two} {two} 0x1240 7', 3)
        self.assertEqual(self.one.run(f'ubfm instance {two[:-1]}f {guids[0]} 1 7',
                                      200, check=False).status, 2)
        self.ubfm(f'end-instance {two} {guids[1]}')
        self.ubfm(f'end-instance {two} {guids[1]}', 3)
        self.assertEqual(self.instances(self.two)[1], [lines[0], lines[2]])
        for text in (guids[0], guids[2]):
            self.ubfm(f'end-instance {two} {text}')
        self.assertEqual(self.instances(self.two),
                         ('count 0x0, from 0x0, show 0x0', []))
        self.check_kernels()

    def kill_ubfm(self, command):
        """End it after its first step, wherever it is by then."""
        self.one.run(f'rm -f /tmp/steps; ubfm {command} >/dev/null '
                     '2>/tmp/steps & p=$!; until [ -s /tmp/steps ]; do :; '
                     'done; kill -9 $p; wait $p; true', 60)

    def test_1c_killed(self):
        """a manager ends in the middle: the next one makes an end of it"""
        one, two = guid(SERIAL['one'])[1], self.cna('two')
        self.kill_ubfm(f'lend {one} 1 {two}')
        # Configured, and maybe registered.
        pool = self.ubfm('reclaim')
        self.assertTrue(pool[1]['lent'])
        self.check_user(pool)
        self.kill_ubfm(f'take-back {one} 1')
        pool = self.ubfm('reclaim')
        self.check_user(pool)
        self.check_user(self.lend_first())
        self.check_kernels()

    def test_1d_boundary(self):
        """a manager looks no further than a boundary"""
        for on in (True, False):
            for port in (1, 2):
                self.near.command('port-boundary', port=port, on=on)
            done = self.one.run('ubscan --json', 60)
            nodes = json.loads(done.out)['nodes']
            self.assertEqual(len(nodes), 2 if on else 4)
            near = next(n for n in nodes if n['kind'] == 'switch' and
                        n['hops'] == 1)
            self.assertEqual([p['boundary'] for p in near['ports']],
                             [False, on, on])
            # A new node behind it would get no address, and no route.
            self.assertEqual(self.one.run('ubscan', 60).out.count('boundary'),
                             2 if on else 0)

    # ---- Partitions ----

    def partitions(self, **npis):
        """The manager puts these into partitions, and others into none."""
        lines = ' '.join(f"'{guid(SERIAL[name])[1]} {npi:#x}'"
                         for name, npi in npis.items())
        done = self.one.run(f'printf "%s\\n" {lines} > /tmp/parts; '
                            'ubfm -p /tmp/parts', 120)
        print('# ' + done.err.strip())
        self.assertNotIn('refused', done.err)
        return done.err

    def gates(self, switch):
        """Of each port of a switch: whether it is closed, what passes, what it gives."""
        return [(p['closed'], sorted(p['npis']), p['replace'])
                for p in switch.command('query-npis')]

    def dropped(self):
        return sum(c['counters']['drop-npi']
                   for switch in (self.near, self.far)
                   for c in switch.command('query-counters'))

    def apart(self):
        """Nothing of one comes to the other, either way: the switches drop it."""
        for a, ip in ((self.one, IP['two']), (self.two, IP['one'])):
            before = self.dropped()
            self.assertEqual(net.ping(a, ip, '-c 3 -i 0.2 -W 1'), (3, 0), ip)
            until = deadline(60)
            while self.dropped() < before + 3:
                self.assertLess(time.monotonic(), until, ip)
                time.sleep(0.1)

    def together(self):
        for a, ip in ((self.one, IP['two']), (self.two, IP['one'])):
            self.assertEqual(net.ping(a, ip, '-f -c 20'), (20, 20), ip)

    def test_1e_partitions(self):
        """guests of two partitions do not hear each other, those of one do"""
        self.one.run('ubfm -u 5 -e fd000000000000000000000000000000', 120)
        for name, guest, switch in (('one', self.one, self.far),
                                    ('two', self.two, self.near)):
            guest.run(f'ip addr add {IP[name]}/24 dev {guest.dev}')
            switch.command('ip-route-set', prefix=f'{IP[name]}/32', ports=[1, 2])
        self.together()
        self.partitions(one=5, two=6)
        for switch, npi in ((self.near, 5), (self.far, 6)):
            self.assertEqual(self.gates(switch),
                             [(True, [npi, npi | LOW], npi)] + 2 * [(False, [], 0)])
        self.apart()
        self.assertIn(' 0 registers written', self.partitions(one=5, two=6))
        self.partitions(one=5, two=5)
        self.together()
        # Two low members of a partition have nobody to talk to but its high ones.
        self.partitions(one=5 | LOW, two=5)
        self.together()
        self.partitions(one=5 | LOW, two=5 | LOW)
        for a, ip in ((self.one, IP['two']), (self.two, IP['one'])):
            self.assertEqual(net.ping(a, ip, '-c 2 -i 0.2 -W 1'), (2, 0), ip)
        # Who is in none passes nothing.
        self.partitions(one=5)
        self.assertEqual(self.gates(self.far)[0], (True, [], 0))
        self.apart()
        self.partitions(one=7, two=7)
        self.together()
        self.check_kernels()

    # ---- Channels ----

    def peers(self, name):
        """CNAs with which a node may have channels, as the manager reads them."""
        self.one.run('echo 1 > /sys/bus/ub/rescan', 60)
        number = self.one.out(f'grep -l {guid(SERIAL[name])[1]} '
                              '/sys/bus/ub/devices/*/guid').split('/')[-2]
        count = config(self.one, number, CHANNELS + 3)
        return [config(self.one, number, CHANNELS + 16 + i) for i in range(count)]

    def test_1f_channels(self):
        """nodes may have channels with whom the manager's file says; at first nobody"""
        self.one.run('ubfm -u 5 -e fd000000000000000000000000000000', 120)
        cna = {name: self.cna(name) for name in SERIAL}
        self.assertEqual([self.peers(name) for name in SERIAL], [[], []])
        for line, pair in (('*0100 *0200', True), ('*0100 *0300', False),
                           ('cc08-* cc08-*', True), ('', False)):
            self.one.run(f"echo '{line}' > /tmp/pairs; ubfm -C /tmp/pairs", 120)
            self.assertEqual([self.peers(name) for name in SERIAL],
                             [[cna['two']], [cna['one']]] if pair else [[], []])
        self.assertEqual(self.one.run("echo '*' > /tmp/pairs; ubfm -C /tmp/pairs", 120,
                                      check=False).status, 1)
        # By no other hand: not by its own host's.
        own = self.two.out('grep -lx 0 /sys/bus/ub/devices/*/entity_idx').split('/')[5]
        config_set(self.two, own, CHANNELS + 16, 1)
        self.assertEqual(self.peers('two'), [])
        self.check_kernels()

    # ---- As a service ----

    def test_2_service(self):
        """a link goes and comes back: routes follow, in a second"""
        self.one.run("echo '*' > /tmp/allow")
        self.one.spawn('ubfm -s -w 1 -i 600 -a /tmp/allow -u 5 -f svg -o /tmp/fabric.svg '
                       '-e fd000000000000000000000000000000 2> /tmp/log', 3600)
        self.changed(1)
        self.assertIn('</svg>', self.one.out('cat /tmp/fabric.svg'))
        two = self.cna('two')
        for on, want in ((False, [2]), (True, [1, 2])):
            since = self.lines()
            self.near.command('port-enable', port=1, on=on)
            self.says(f'{4 if on else 3} links', since)
            self.assertEqual(self.routes(self.near)[two], want)
            self.check_all()

    def test_2a_error(self):
        """a switch tells the service of an error of its port, once until it is cleared"""
        near = next(n['guid'] for n in self.scan().values()
                    if n['kind'] == 'switch' and n['hops'] == 1)
        self.one.run('echo 1 > /sys/bus/ub/rescan', 60)
        number = self.one.out(f'grep -l {near} /sys/bus/ub/devices/*/guid'
                              ).split('/')[-2]
        for _ in range(2):
            config_set(self.one, number, CE_STATUS, 0xffffffff)
            since = self.lines()
            config_set(self.one, number, ERROR_INJECTION, 1 << 1)   # C.2
            self.says(f'{near} port 1: correctable error', since)
        self.assertEqual(config(self.one, number, CE_STATUS), 1 << 1)

    def allow(self, *patterns):
        """The service admits whom these name."""
        words = ' '.join(f"'{p}'" for p in patterns)
        since = self.lines()
        self.one.run(f'printf "%s\\n" {words} > /tmp/allow; '
                     'kill -HUP $(pidof ubfm)')
        return since

    def test_2b_allow(self):
        """who is not in the list has neither routes nor what was lent to it"""
        two = self.cna('two')
        self.lend_first()
        # Switches alone; the manager is there anyway.
        since = self.allow('# switches', '????-????-?-3-*  # of any vendor')
        self.says('1 nodes are not admitted', since)
        self.says('1 Entities reclaimed', since)
        for switch in (self.near, self.far):
            self.assertNotIn(two, self.routes(switch))
        self.assertFalse(self.ubfm('pool')[1]['lent'])
        since = self.allow('cc08-b001-0-2-000000-' + f'{SERIAL["two"]:016x}',
                           '????-????-?-3-*')
        self.says('registers written', since)
        self.assertEqual(self.routes(self.near)[two], [1, 2])
        self.assertEqual(self.routes(self.far)[two], [0])
        self.check_all()
        # The User never heard that it was taken back, and takes it again.
        self.check_user(self.lend_first())

    def slot(self):
        """What the slot of the User shows: power and both LEDs."""
        slot = self.far.command('query-slots')[0]
        return slot['power'], slot['work-led'], slot['power-led']

    def test_2c_plug(self):
        """the User is unplugged by its slot's button, and plugged in again"""
        two = self.cna('two')
        self.lend_first()
        self.assertEqual(self.slot(), (True, 'off', 'on'))
        since = self.lines()
        self.far.command('slot-button', slot=0)
        self.says('slot 0: out', since)
        self.assertEqual(self.slot(), (False, 'blink', 'off'))
        self.says('3 nodes', since)
        for switch in (self.near, self.far):
            self.assertNotIn(two, self.routes(switch))
        # It heard that what it had on loan is gone.
        self.assertFalse(self.ubfm('pool')[1]['lent'])
        self.assertEqual(self.devices(), {})
        self.far.command('slot-remove', slot=0)
        self.far.command('slot-insert', slot=0)
        since = self.lines()
        self.far.command('slot-button', slot=0)
        self.says('slot 0: in', since)
        self.assertEqual(self.slot(), (True, 'off', 'on'))
        self.says('4 nodes, 4 links', since)
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier',
                          60)
        self.check_all()
        self.check_user(self.lend_first())

    def harm(self, **plan):
        """What happens to packets from the far switch, on both links."""
        for port in (1, 2):
            self.near.command('fault-set', port=port,
                              **{k.replace('_', '-'): v for k, v in plan.items()})

    def until(self, condition):
        end = deadline(60)
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def log_since(self, lines):
        return self.one.out(f'tail -n +{lines + 1} /tmp/log').splitlines()

    def plug_in(self):
        since = self.lines()
        self.far.command('slot-button', slot=0)
        self.says('slot 0: in', since)
        self.says('4 nodes, 4 links', since)
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier', 60)
        self.check_all()

    def test_2d_twice(self):
        """a slot's button counts once, though its message comes twice"""
        self.assertEqual(self.slot(), (True, 'off', 'on'))
        # Another press would call off the first.
        self.harm(duplicate_ppm=1000000)
        since = self.lines()
        self.far.command('slot-button', slot=0)
        self.says('slot 0: out', since)
        self.assertGreater(sum(f['duplicated'] for f in
                               self.near.command('query-faults')), 0)
        self.harm()
        self.says('3 nodes', since)
        self.assertFalse([line for line in self.log_since(since)
                          if 'called off' in line])
        self.plug_in()

    def test_2e_gone(self):
        """a device that is pulled out while nobody hears of it is missed when somebody
        looks, and what it said before is dropped"""
        own = self.two.out('grep -lx 0 /sys/bus/ub/devices/*/entity_idx').split('/')[5]
        self.check_user(self.lend_first())
        config_set(self.two, own, CE_STATUS - PORT, 0xffffffff)
        # Its last word is under way until it is gone.
        delay = min(15 * SCALE, 60)
        self.far.command('fault-set', port=0, **{'delay-ppm': 1000000,
                                                 'delay-us': int(delay * 1e6)})
        since = self.lines()
        config_set(self.two, own, ERROR_INJECTION - PORT, 1 << 1)   # C.2
        self.until(lambda: any(f['delayed'] for f in
                               self.far.command('query-faults')))
        comes = time.monotonic() + delay
        self.harm(drop_ppm=1000000)
        self.far.command('slot-remove', slot=0, surprise=True)
        # Presence, and the link.
        self.until(lambda: sum(f['dropped'] for f in
                               self.near.command('query-faults')) >= 2)
        self.harm()
        self.assertEqual(self.log_since(since), [])
        self.one.run('kill -HUP $(pidof ubfm)')
        self.says('slot 0: pulled out', since)
        self.says('3 nodes', since)
        self.assertEqual(self.slot(), (False, 'off', 'off'))
        self.assertFalse(self.ubfm('pool')[1]['lent'])
        since += next(i for i, line in enumerate(self.log_since(since), 1)
                      if '3 nodes' in line)
        time.sleep(max(0, comes - time.monotonic()) + 1)
        self.assertEqual(len(self.scan()), 3)
        self.assertFalse([line for line in self.log_since(since) if 'error' in line])
        self.far.command('fault-set', port=0)
        self.far.command('slot-insert', slot=0)
        self.plug_in()
        # It had no word of that, and takes what is lent to it again.
        self.check_user(self.lend_first())

    def test_3_switch(self):
        """a switch is killed and begins anew: the rest goes on, then all"""
        cls = type(self)
        self.lend_first()
        since = self.lines()
        self.far.kill()
        self.says('2 nodes', since)
        # Its User is gone.
        self.says('1 Entities reclaimed', since)
        since = self.lines()
        self.assertFalse(self.ubfm('pool')[1]['lent'])
        self.assertEqual(len(self.scan()), 2)
        cls.far = Switch(3, 'far2', guid=guid(0x7777, 3)[0],
                         connect={1: self.near.path(1),
                                  2: self.near.path(2)})
        # Where the guest's controller looks for it.
        self.far.words[self.far.words.index(
            f'unix:{self.far.path(0)}')] = f'unix:{self.two_path()}'
        cls.addClassCleanup(cls.far.close)
        self.far.start()
        self.two.wait_for(f'grep -q 1 /sys/class/net/{self.two.dev}/carrier',
                          60)
        self.says('4 nodes, 4 links', since)
        self.check_all()
        print('# ' + self.one.out('cat /tmp/log').replace('\n', '\n# '))

    def two_path(self):
        return next(word.split('path=')[1].split(',')[0]
                    for word in self.two.args if 'path=' in word)

    def test_4_ends(self):
        """it ends in order, and with its device"""
        self.one.run('kill $(pidof ubfm)')
        self.one.wait_for('! pidof ubfm')
        self.one.spawn('ubfm -s 2> /tmp/log; echo $? > /tmp/status', 3600)
        self.changed(1)
        pci = self.one.out(f'readlink -f /sys/class/net/{self.one.dev}/'
                           'device/..').split('/')[-1]
        self.one.run(f'echo {pci} > /sys/bus/pci/drivers/ub_core/unbind')
        self.one.wait_for('grep -q 1 /tmp/status')
        self.assertEqual(self.one.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
