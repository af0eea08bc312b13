# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of one guest, lent by a second one to a third, which uses it; and loads and
stores that go where the manager says."""

import json
import time
import unittest

from guestvm import kernel, tap, ubfabric
from guestvm.clock import deadline
from guestvm.guest import CommandFailed
from guestvm.ubfabric import config, config_set, guid
from guestvm.ubmem import PERF, Serve
from guestvm.ubswitch import Switch

SERIAL = {'manager': 0x100, 'lender': 0x200, 'user': 0x300}
# What the lender loads and stores is the manager's to say, whatever its driver does.
PROPS = {'manager': 'manager=on',
         'lender': 'manager=off,rights=user,entities=bus:mem=lent0,window=64M,'
                   'window-managed=on,window-timeout=15000',
         'user': 'manager=off,window=64M,window-timeout=15000'}
MEMORY = 4 << 20
PAGE = 4096
# CFG0_BASIC, CFG1_BASIC (UB 2.0 §D.2, §D.3).
UBFM_CNA = 0x26
CFG1 = 0x10000
ERS1_SS, ERS1_UBA, ERS_ACCESS_EN = CFG1 + 0xe, CFG1 + 0x18, CFG1 + 0x2f


class Pool(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ubfabric.needed('ub_mem.ko')
        cls.switch = Switch(3)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        cls.guests = {}
        for port, name in enumerate(SERIAL):
            guest = ubfabric.node(
                name, cls.switch.chardev(port),
                f'guid={guid(SERIAL[name])[0]},{PROPS[name]}',
                args=['-object', f'memory-backend-ram,id=lent0,size={MEMORY}'],
                files={'/usr/bin/ubmem-perf': PERF},
                kern=kernel.other('x86_64') if name == 'user' else None)
            cls.addClassCleanup(guest.close)
            cls.guests[name] = guest.start()
        ubfabric.ready(cls.guests.values())
        cls.user = cls.guests['user']
        cls.user.wait_for('test -c /dev/ubmem0', 60)
        cls.ubfm('-u 5 -e fd000000000000000000000000000000')

    @classmethod
    def ubfm(cls, words):
        """What it prints."""
        done = cls.guests['manager'].run(f'ubfm -f json -t 60 {words}', 200)
        print('# ' + done.err.strip().replace('\n', '\n# '))
        return json.loads(done.out)

    def lend(self):
        """To the User; what is lent."""
        lender, user = (guid(SERIAL[n])[1] for n in ('lender', 'user'))
        pool = self.ubfm(f'lend {lender} 1 {user}')['entities']
        return next(e for e in pool if e['lent'])

    def take_back(self):
        self.ubfm(f'take-back {guid(SERIAL["lender"])[1]} 1')

    def device(self, lent):
        """The User's device of what is lent."""
        return self.user.out(f'grep -l {lent["guid"]} /sys/bus/ub/devices/'
                             '*/guid').split('/')[-2]

    def desc(self, lent):
        """Its memory, as the User finds it in its registers."""
        number = self.device(lent)
        config_set(self.user, number, ERS_ACCESS_EN, 1)
        pages = config(self.user, number, ERS1_SS)
        self.assertEqual(pages * PAGE, MEMORY)
        uba = (config(self.user, number, ERS1_UBA) |
               config(self.user, number, ERS1_UBA + 1) << 32)
        return f'{lent["eid"]} 0 {uba:#x} {MEMORY:#x} -'

    def perf(self, words):
        return self.user.out(f'ubmem-perf {words}', 120)

    def quiet(self):
        self.assertEqual([g.kernel_complaints() for g in self.guests.values()],
                         [[], [], []])

    def read(self, number, offset, count):
        """Bytes of an Entity's registers, as public tools read them: one read of two
        times as many; the second half is of what could not be read."""
        done = self.guests['manager'].wait_for(
            f'dd if=/sys/bus/ub/devices/{number}/config bs={2 * count} count=1 '
            f'iflag=skip_bytes skip={offset} 2>/dev/null | od -An -v -tx1 | '
            f"tr -d ' \\n' | grep '{'0' * 2 * count}$'", 60)
        self.assertEqual(len(done.strip()), 4 * count)
        return bytes.fromhex(done.strip()[:2 * count])

    def attributes(self):
        """Of each device: what tools read of all."""
        names = ('type vendor device class_code ubc primary_entity entity_idx '
                 'instance')
        lines = self.guests['manager'].out(
            'cd /sys/bus/ub/devices; for d in *; do cd $d; echo $d '
            f'$(cat {names}); cd ..; done').splitlines()
        return {w[0]: dict(zip(names.split(), (int(v, 0) for v in w[1:])))
                for w in (line.split() for line in lines)}

    def test_0_public(self):
        """what public tools read of sysfs: a tree with its root, registers at any byte"""
        # What was found before there were addresses has none yet.
        self.guests['manager'].run('echo 1 > /sys/bus/ub/rescan', 60)
        entities = self.attributes()
        self.assertTrue(all(len(e) == 8 for e in entities.values()), entities)
        self.assertTrue(all(len(name) == 5 for name in entities))
        # A tree begins at a bus controller, and has who names it.
        roots = [n for n, e in entities.items()
                 if e['type'] == 2 and e['class_code'] & 0xff == 0 and
                 e['ubc'] == int(n, 16)]
        self.assertEqual(len(roots), 1)
        self.assertEqual({e['ubc'] for e in entities.values()},
                         {int(roots[0], 16)})
        # Each link is in the lists of both its ends.
        lines = self.guests['manager'].out(
            'cd /sys/bus/ub/devices; for d in *; do '
            'sed "s/^/$d /" $d/direct_link; done').splitlines()
        links = {(int(n, 16), int(port, 16), int(peer[1:-1], 16),
                  int(other, 16)) for n, port, _, other, peer in
                 (line.split() for line in lines)}
        self.assertEqual(links, {(p, o, n, w) for n, w, p, o in links})
        self.assertEqual(len(links), 6)
        for name, entity in entities.items():
            basic = self.read(name, 0, 0xb0)
            self.assertEqual(int.from_bytes(basic[:4], 'little') >> 4, 0x2c)
            for offset, count in ((4, 2), (6, 2), (8, 32), (2, 4), (6, 4),
                                  (0x3e, 4), (5, 1), (3, 6)):
                self.assertEqual(self.read(name, offset, count),
                                 basic[offset:offset + count])
            self.assertEqual(int.from_bytes(basic[0x46:0x48], 'little'),
                             entity['vendor'])
            self.assertEqual(len(self.read(name, 0x40000, 0xc0)), 0xc0)
        # A whole page, or half a byte, is nobody's read.
        for size in (4096, 1, 3):
            self.assertNotEqual(self.guests['manager'].run(
                f'dd if=/sys/bus/ub/devices/{roots[0]}/config bs={size} '
                'count=1', check=False).status, 0)
        self.quiet()

    def test_1_used(self):
        """a program writes and reads memory that is lent by a third node"""
        desc = self.desc(self.lend())
        for n, at in enumerate((0, PAGE + 8, MEMORY // 2, MEMORY - 8)):
            self.assertEqual(self.perf(f'poke {desc} {at:#x} {n + 0x5eb0:#x}'),
                             'stored')
        # Another import, maybe at another place of the window.
        for n, at in enumerate((0, PAGE + 8, MEMORY // 2, MEMORY - 8)):
            self.assertEqual(int(self.perf(f'peek {desc} {at:#x}'), 16),
                             n + 0x5eb0)
        self.assertEqual(int(self.perf(f'peek {desc} 8'), 16), 0)
        self.quiet()

    def test_2_taken_back(self):
        """what is taken back is an error to who still uses it, and to who begins"""
        pool = self.ubfm('pool')['entities']
        lent = next((e for e in pool if e['lent']), None) or self.lend()
        desc = self.desc(lent)
        self.assertEqual(self.perf(f'poke {desc} 0 0x77'), 'stored')
        job = self.user.spawn(f'ubmem-perf watch {desc} > /tmp/watch', 180)
        self.user.wait_for('grep -q watching /tmp/watch')
        self.take_back()
        job.wait()
        self.assertRegex(self.user.out('tail -n 1 /tmp/watch'),
                         '^event 0x[1-9]')
        # There is no such device any more, and no way.
        self.assertRaises(CommandFailed, self.device, lent)
        self.assertNotEqual(self.user.run(f'ubmem-perf poke {desc} 0 1', 120,
                                          check=False).out.strip(), 'stored')
        self.quiet()

    def test_3_again(self):
        """lent again it is another loan, with what the memory has"""
        lent = self.lend()
        number = self.device(lent)
        # The reset of the Entity has closed it.
        self.assertEqual(config(self.user, number, ERS_ACCESS_EN), 0)
        desc = self.desc(lent)
        self.assertEqual(self.perf(f'poke {desc} 0x10 0x99'), 'stored')
        self.assertEqual(int(self.perf(f'peek {desc} 0x10'), 16), 0x99)
        self.take_back()
        self.quiet()

    def test_4_mapped(self):
        """the manager says where a node's loads and stores go; then, that they do not"""
        lender, user = (guid(SERIAL[n])[1] for n in ('lender', 'user'))
        guest = self.guests['lender']
        at, mib, word = 3 << 20, 1 << 20, 0x38
        map_ = f'ubmem-perf map {at:#x} {mib:#x} {word:#x}'
        home = Serve(self.user, f'serve {mib:#x}')
        eid, token_id, uba, _, token = home.desc.split()
        guest.wait_for('test -c /dev/ubmem0', 60)
        # It is nobody else's to say; where nothing is said, nothing is.
        done = guest.run(f'ubmem-perf peek {home.desc} 0', 120, check=False)
        self.assertNotEqual(done.status, 0)
        self.assertIn('Operation not permitted', done.err)
        self.assertEqual(self.ubfm(f'maps {lender}'), {'maps': []})
        self.assertEqual(guest.out(map_, 120), 'f' * 16)
        self.assertEqual(guest.out(f'{map_} 1', 120), 'Input/output error')
        self.assertEqual(
            self.ubfm(f'map {lender} 3 1 {user} {eid} {uba} {token_id} {token}'),
            {'maps': [{'first': 3, 'last': 3, 'cna': int(eid[-4:], 16), 'eid': eid,
                       'uba': int(uba, 0), 'token-id': int(token_id, 0),
                       'token': token != '-'}]})
        self.assertEqual(guest.out(map_, 120), '0')
        self.assertEqual(guest.out(f'{map_} 0x123456789abcdef', 120), 'stored')
        self.assertEqual(guest.out(map_, 120), '123456789abcdef')
        self.assertEqual(home.tell(f'word {word:#x}'), '123456789abcdef')
        # Its host cannot make it forget whose the table is.
        own = guest.out('grep -lx 0 /sys/bus/ub/devices/*/entity_idx').split('/')[5]
        config_set(guest, own, UBFM_CNA, 0)
        self.assertNotEqual(config(guest, own, UBFM_CNA), 0)
        # The MiB beside it is none of it.
        self.assertEqual(guest.out(f'ubmem-perf map {at - mib:#x} {mib:#x} {word:#x}',
                                   120), 'f' * 16)
        self.assertEqual(self.ubfm(f'unmap {lender} 3'), {'maps': []})
        self.assertEqual(guest.out(map_, 120), 'f' * 16)
        self.assertEqual(guest.out(f'{map_} 2', 120), 'Input/output error')
        self.assertEqual(home.tell(f'word {word:#x}'), '123456789abcdef')
        home.kill()
        self.quiet()

    def test_5_locked(self):
        """in a kernel that is locked down registers are read, and none is written"""
        number = self.guests['manager'].out(
            'grep -lx 0x2 /sys/bus/ub/devices/*/type').split('/')[5]
        guest = self.guests['manager']
        if guest.run('mount -t securityfs none /sys/kernel/security; '
                     '[ -e /sys/kernel/security/lockdown ]', check=False).status:
            self.skipTest('this kernel cannot be locked down')
        guest.run('echo integrity > /sys/kernel/security/lockdown')
        write = (f"printf '\\0\\0\\0\\0' | dd of=/sys/bus/ub/devices/{number}/config "
                 f'bs=4 seek={ERS_ACCESS_EN} conv=notrunc')
        done = guest.run(write, check=False)
        self.assertNotEqual(done.status, 0)
        self.assertIn('Operation not permitted', done.err)
        config(guest, number, ERS_ACCESS_EN)
        self.quiet()

    def says(self, text, since):
        """Wait until the service has said so, behind so many lines."""
        self.guests['manager'].wait_for(
            f'tail -n +{since + 1} /tmp/log | grep -q "{text}"', 60)

    def lines(self):
        return int(self.guests['manager'].out('wc -l < /tmp/log'))

    def leads_nowhere(self):
        """Nothing does: not before everybody has said who it is."""
        until = deadline(60)
        while self.ubfm(f'maps {guid(SERIAL["lender"])[1]}') != {'maps': []}:
            self.assertLess(time.monotonic(), until)

    def test_6_gone(self):
        """what a table says of a node that is gone does not hold for who comes with
        its address"""
        manager, lender, user = self.guests.values()
        gone, at, mib, word = guid(SERIAL['user'])[1], 5 << 20, 1 << 20, 0x40
        map_ = f'ubmem-perf map {at:#x} {mib:#x} {word:#x}'
        home = Serve(user, f'serve {mib:#x}')
        eid, token_id, uba, _, token = home.desc.split()
        say = (f'map {guid(SERIAL["lender"])[1]} 5 1 {gone} {eid} {uba} {token_id} '
               f'{token}')
        self.ubfm(say)
        self.assertEqual(lender.out(f'{map_} 0x5eed', 120), 'stored')
        manager.spawn('ubfm -s -i 600 2> /tmp/log', 3600)
        manager.wait_for('grep registers /tmp/log', 60)
        since = self.lines()
        self.switch.command('port-enable', port=2, on=False)
        self.says(f'lost {gone}', since)
        self.leads_nowhere()
        # Its memory is where it was, behind the same CNA, and nobody gets there.
        self.switch.command('port-enable', port=2, on=True)
        self.says(f'new {gone}', since)
        user.wait_for(f'grep -q 1 /sys/class/net/{user.dev}/carrier', 60)
        self.assertEqual(lender.out(map_, 120), 'f' * 16)
        self.assertEqual(lender.out(f'{map_} 2', 120), 'Input/output error')
        self.assertEqual(home.tell(f'word {word:#x}'), '5eed')
        # It is the manager's to say so once more.
        self.assertEqual(len(self.ubfm(say)['maps']), 1)
        self.assertEqual(lender.out(map_, 120), '5eed')
        home.kill()
        # Another node has its place, and gets its CNA.
        cna = int(eid[-4:], 16)
        since = self.lines()
        user.kill()
        self.says(f'lost {gone}', since)
        self.leads_nowhere()    # until then it is nobody else's
        other = ubfabric.node('other', self.switch.chardev(2),
                              f'guid={guid(0x400)[0]},{PROPS["user"]}')
        self.addCleanup(other.close)
        other.start()
        ubfabric.ready([other])
        self.says(f'new {guid(0x400)[1]}', since)
        self.leads_nowhere()
        self.assertEqual(lender.out(map_, 120), 'f' * 16)
        manager.run('kill $(pidof ubfm)')
        manager.wait_for('! pidof ubfm')
        nodes = json.loads(manager.run('ubscan --json', 60).out)['nodes']
        self.assertEqual([n['cna'] for n in nodes if n['guid'] == guid(0x400)[1]],
                         [cna])
        self.assertEqual([g.kernel_complaints() for g in (manager, lender, other)],
                         [[], [], []])


if __name__ == '__main__':
    tap.main()
