# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory of one guest in programs of others: ub_mem, by way of a switch."""

import time
import unittest

from guestvm import kernel, tap, ubmem
from guestvm.ubmem import NODE, PAGE, SYSFS, Serve
from guestvm.ubswitch import Switch

MTU_CFG = 0x23
EVENT_REMOTE = '0x12'
# Processes that touch one page at once.
TOUCHERS = 24


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ubmem.needed()
        cls.switch = Switch(3)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        cls.guests = [cls.make(n) for n in range(3)]
        cls.home, cls.user, cls.third = cls.guests
        for guest in cls.guests:
            guest.start()
        for guest in cls.guests:
            guest.wait_ready(300)
            ubmem.ready(guest)
        for n in range(3):
            cls.switch.command('route-set', cna=n + 1, ports=[n])

    @classmethod
    def make(cls, n):
        guest = ubmem.node(n, cls.switch.chardev(n),
                           kernel.other('x86_64') if n == 1 else None)
        cls.addClassCleanup(guest.close)
        return guest

    def perf(self, words, guest=None, status=0, timeout=120):
        done = (guest or self.user).run(f'ubmem-perf {words}', timeout,
                                        check=False)
        self.assertEqual(done.status, status, done.out + done.err)
        return (done.out + done.err).strip()

    def refusals(self, guest, name='refused'):
        """How many accesses of peers the guest's UMMU has refused."""
        return int(guest.out(f'cat {SYSFS}/device/ummu/{name}'))

    def channels(self, guest):
        """Channels of RTP that its engine has."""
        return len(guest.qmp.command('query-ub-engines')[0]['channels'])

    def told(self, guest, name, before, count):
        """Its owner hears of @count refusals of a class, and of no more."""
        guest.wait_for(f'test $(cat {SYSFS}/device/ummu/{name}) -ge '
                       f'{before + count}')
        self.assertEqual(self.refusals(guest, name), before + count)

    def clean(self):
        """Nobody has anything any more, and no kernel complains."""
        for guest in self.guests:
            self.assertEqual(ubmem.attr(guest, 'used'), 0)
            self.assertEqual(ubmem.attr(guest, 'exports'), 0)
            self.assertEqual(guest.kernel_complaints(), [])

    def refused(self, desc, what=EVENT_REMOTE):
        """A store fails and says so, a load brings ones."""
        self.assertEqual(self.perf(f'poke {desc} 0 1'), 'Input/output error')
        self.assertRegex(self.perf(f'watch {desc}').splitlines()[-1],
                         f'event {what} ')

    def test_1_memory(self):
        """every byte pattern, widths and atomics, from both guests"""
        for here, there in ((self.user, self.home), (self.home, self.user)):
            serve = Serve(there, f'serve {4 * PAGE}')
            self.assertEqual(self.perf(f'check {serve.desc} 128', here),
                             'checked')
            self.assertEqual(self.perf(f'poke {serve.desc} 0x1008 0xabcdef',
                                       here), 'stored')
            self.assertEqual(serve.tell('word 0x1008'), 'abcdef')
            serve.kill()
        self.clean()

    def test_2_many(self):
        """more than a MiB, and several at once"""
        serve = Serve(self.home, f'serve {3 << 20}')
        self.assertEqual(self.perf(f'check {serve.desc} 64'), 'checked')
        self.user.run('for i in 1 2; do '
                      f'(ubmem-perf watch {serve.desc} > /tmp/watch$i & '
                      'echo $! > /tmp/pid$i); done')
        for i in (1, 2):
            self.user.wait_for(f'grep -q watching /tmp/watch{i}')
        self.assertEqual(ubmem.attr(self.user, 'used'), 6)
        self.assertEqual(ubmem.attr(self.home, 'exports'), 1)
        self.user.run('kill -9 $(cat /tmp/pid1 /tmp/pid2)')
        self.user.wait_for(f'grep -qx 0 {SYSFS}/used')
        serve.kill()
        self.clean()

    def test_2b_rtp(self):
        """the same over a channel of RTP, uncached and cached"""
        serve = Serve(self.home, f'serve {64 * PAGE}')
        before = self.channels(self.home)
        for words, said in ((f'check {serve.desc} 64', 'checked'),
                            (f'poke {serve.desc} 0x1008 0xabcdef', 'stored')):
            done = self.user.out(f'OPTIONS=rtp ubmem-perf {words}', 120)
            self.assertEqual(done, said)
        self.assertEqual(serve.tell('word 0x1008'), 'abcdef')
        # All imports of a peer share its channel.
        self.assertEqual(self.channels(self.home), before + 1)
        self.user.out(f'OPTIONS=rtp ubmem-perf cached {serve.desc}', 120)
        self.assertEqual(int(serve.tell(f'word {PAGE:#x}'), 16),
                         (PAGE + 1) * 0x9e3779b97f4a7c15 % (1 << 64))
        serve.kill()
        # Nobody is there: it ends, and says so.
        eid, *rest = serve.desc.split()
        nobody = ' '.join([eid[:-2] + '4d', *rest])
        done = self.user.run(f'OPTIONS=rtp ubmem-perf peek {nobody} 0', 120,
                             check=False)
        self.assertIn('No route to host', done.err)
        self.clean()

    def test_2c_slots(self):
        """who waits for a peer that does not answer keeps nobody from another"""
        serve = Serve(self.home, f'serve {PAGE}')
        eid, *rest = serve.desc.split()
        nobody = ' '.join([eid[:-2] + '4b', *rest])
        self.user.run(f'(exec 3<>{NODE}; echo import {nobody} >&3; read at rest <&3; '
                      'while :; do echo atomic $at add 8 1 >&3; done) '
                      '> /dev/null 2>&1 & echo $! > /tmp/pid')
        self.user.wait_for('grep -q mem_slot /proc/$(cat /tmp/pid)/stack', 60)
        begun = time.monotonic()
        last = self.user.out(f'exec 3<>{NODE}; echo import {serve.desc} >&3; '
                             'read at rest <&3; for i in 1 2 3; do '
                             'echo atomic $at add 8 1 >&3; done; cat <&3', 120)
        self.assertEqual(last, '0x2')
        # Each would have waited for its turn, up to 15 s.
        self.assertLess(time.monotonic() - begun, 15)
        self.user.run('kill -9 $(cat /tmp/pid)')
        self.user.wait_for(f'grep -qx 0 {SYSFS}/used', 60)
        serve.kill()
        self.clean()

    def test_3_refused(self):
        """wrong token, no token, no right, beyond the end, wrong TokenID"""
        serve = Serve(self.home, f'serve {2 * PAGE} r 0x1234')
        eid, token_id, uba, length, token = serve.desc.split()
        self.assertEqual(token, '0x1234')
        all_before = self.refusals(self.home)
        mapt, bad, away = (self.refusals(self.home, name) for name in
                           ('mapt', 'bad_token', 'translation'))
        # The store of the one, two loads of the other.
        self.refused(f'{eid} {token_id} {uba} {length} 0x1235')
        self.told(self.home, 'mapt', mapt, 3)
        self.home.run('dmesg | grep -q "TokenValue is neither of the two '
                      '(decision 18, event 0x13)"')
        self.refused(f'{eid} {token_id} {uba} {length} -')
        self.told(self.home, 'mapt', mapt, 6)
        self.refused(f'{eid} 0x4321 {uba} {length} {token}')
        self.told(self.home, 'bad_token', bad, 3)
        beyond = hex(int(uba, 16) + 2 * PAGE)
        self.refused(f'{eid} {token_id} {beyond} {length} {token}')
        self.told(self.home, 'translation', away, 3)
        self.told(self.home, 'refused', all_before, 12)
        # It may be read, and what was refused was not written.
        self.assertEqual(self.perf(f'poke {serve.desc} 0 1'),
                         'Input/output error')
        self.assertEqual(serve.tell('word 0'), '0')
        self.told(self.home, 'mapt', mapt, 7)
        self.assertGreater(ubmem.attr(self.user, 'failed'), 4)
        serve.kill()
        self.clean()

    def test_4_bad_text(self):
        """commands that make no sense are refused, and nothing else"""
        for text in ('export', 'export 0 4096 r', 'export 0x1000 1 r',
                     'export 0x7fff0000 4096 x', 'import 1 2 3 4 5',
                     f'import {"0" * 32} 1 0 4096 -', 'unexport 1',
                     f'import {"f" * 32} 1 0 0 -', 'unimport 0', 'rotate 1',
                     f'import fd{1:030x} 1 0x100000 0x100000000000 -',
                     'atomic 0 add 8 1', 'status 0', 'x' * 300,
                     ' '.join(['a'] * 40), 'settle 77'):
            done = self.user.run(f"printf '%s' '{text}' > {NODE}", check=False)
            self.assertNotEqual(done.status, 0, text)
        self.clean()

    def test_4b_sysfs(self):
        """export and import by text in sysfs: both outlive who wrote"""
        # A shell's own heap, whose first words stay; not its last command, for which it
        # would be another program.
        self.home.run(
            'sh -c \'a=0x$(sed -n "s/^\\([0-9a-f]*\\)-.*\\[heap\\]$/\\1/p" '
            f'/proc/$$/maps); echo $a {PAGE} rwa 0x77 > {SYSFS}/export && '
            f'dd if=/proc/$$/mem bs={PAGE} skip=$((a / {PAGE})) count=1 '
            'of=/tmp/heap && true\'')
        desc = self.home.out(f'cat {SYSFS}/export')
        self.assertRegex(desc, f'^fd{1:030x} 0x[0-9a-f]+ 0x[0-9a-f]+ 0x1000 '
                               '0x77$')
        first = self.home.out('od -An -tx8 -j8 -N8 /tmp/heap').strip()
        self.assertNotEqual(int(first, 16), 0)
        self.user.run(f'echo {desc} > {SYSFS}/import')
        where = self.user.out(f'cat {SYSFS}/import')
        self.assertEqual(self.user.out(f'cat {SYSFS}/command'), where)
        self.assertEqual(ubmem.attr(self.user, 'used'), 1)
        self.assertEqual(int(self.perf(f'map {where} 8'), 16), int(first, 16))
        self.assertEqual(self.perf(f'map {where} 0x808 0xabcdef'), 'stored')
        # By another program, which maps nothing of it in sysfs.
        self.assertEqual(self.perf(f'peek {desc} 0x808', self.third), 'abcdef')
        # The other commands, on the same objects.
        offset, token_id = where.split()[0], desc.split()[1]
        self.user.run(f'echo atomic {offset} add 8 0 > {SYSFS}/command')
        self.home.run(f'echo rotate {token_id} 0x78 > {SYSFS}/command')
        self.assertEqual(self.home.out(f'cat {SYSFS}/export').split()[4],
                         '0x78')
        # What is refused to a program's file is refused here.
        for name, text in (('export', f'0 {PAGE} r'), ('import', '1 2 3'),
                           ('unexport', '77'), ('unimport', '0x3f00000'),
                           ('command', 'nothing'), ('import', 'x' * 300)):
            done = self.user.run(f'echo {text} > {SYSFS}/{name}', check=False)
            self.assertNotEqual(done.status, 0, name)
        # Taken back: the store fails, and a fence of another file says so, but none of a
        # file that maps nothing of it.
        self.home.run(f'echo {token_id} > {SYSFS}/unexport')
        self.assertEqual(self.home.out(f'cat {SYSFS}/export'), '')
        serve = Serve(self.third, f'serve {PAGE}')
        self.user.run('rm -f /tmp/when /tmp/dirty; mkfifo /tmp/when')
        self.user.run(f'(exec ubmem-perf sync {serve.desc} <> /tmp/when '
                      '> /tmp/dirty 2>&1 &)')
        self.user.wait_for('grep -q dirty /tmp/dirty', 60)
        self.assertEqual(self.perf(f'map {where} 0 1'), 'Input/output error')
        self.user.run('echo now > /tmp/when')
        self.assertRegex(self.user.wait_for('grep " in " /tmp/dirty'),
                         '^Success in')
        serve.kill()
        self.user.run(f'echo {offset} > {SYSFS}/unimport')
        self.assertEqual(self.perf(f'map {where} 0', status=1),
                         'map: Invalid argument')
        self.clean()

    def test_4d_apart(self):
        """who waits for the peer of an import in sysfs does so alone"""
        far, near = (Serve(guest, f'serve {PAGE}')
                     for guest in (self.third, self.home))
        self.user.run(f'echo {far.desc} cached > {SYSFS}/import')
        where = self.user.out(f'cat {SYSFS}/command')
        self.assertEqual(self.perf(f'map {where} 8'), '0')
        self.third.qmp.command('stop')
        self.addCleanup(self.third.qmp.command, 'cont')
        self.user.run(f'(exec ubmem-perf map {where} 8 1 > /tmp/map 2>&1 & '
                      'echo $! > /tmp/pid)')
        self.user.wait_for('grep -q mem_move /proc/$(cat /tmp/pid)/stack')
        # It maps nothing of that: its fsync is none of it.
        self.assertEqual(self.perf(f'poke {near.desc} 0 1'), 'stored')
        self.user.run('grep -q mem_move /proc/$(cat /tmp/pid)/stack')
        self.third.qmp.command('cont')
        self.user.wait_for('! kill -0 $(cat /tmp/pid)', 60)
        self.assertEqual(self.user.out('cat /tmp/map'), 'stored')
        self.assertEqual(far.tell('word 8'), '1')
        self.user.run(f'echo {where.split()[0]} > {SYSFS}/unimport')
        far.kill()
        near.kill()
        self.clean()

    def test_4e_own_peers(self):
        """who fences, or takes an import back, waits for its own peer alone"""
        far, near = (Serve(guest, f'serve {PAGE}')
                     for guest in (self.third, self.home))
        waits = 'grep -q mem_window_ /proc/$(cat /tmp/pid)/stack'
        self.third.qmp.command('stop')
        self.addCleanup(self.third.qmp.command, 'cont')
        for killed in range(2):
            self.user.run(f'(exec ubmem-perf poke {far.desc} 0 1 '
                          '> /tmp/poke 2>&1 & echo $! > /tmp/pid)')
            self.user.wait_for(waits)
            if killed:
                self.user.run('kill -9 $(cat /tmp/pid)')
            self.assertEqual(self.perf(f'poke {near.desc} 0 {killed + 1}'),
                             'stored')
            self.user.run(waits)
            self.user.wait_for('! kill -0 $(cat /tmp/pid)', 60)
            if not killed:
                self.assertEqual(self.user.out('cat /tmp/poke'),
                                 'Input/output error')
        self.third.qmp.command('cont')
        self.assertEqual(near.tell('word 0'), '2')
        far.kill()
        near.kill()
        self.clean()

    def test_4c_page(self):
        """more in sysfs than a page has room for: what it says is whole"""
        self.home.run(
            'sh -c \'a=0x$(sed -n "s/^\\([0-9a-f]*\\)-.*\\[heap\\]$/\\1/p" '
            '/proc/$$/maps); for i in $(seq 80); do '
            # dma-debug counts to seven for a page.
            f'echo $((a + i % 16 * {PAGE})) {PAGE} r 0x12345678 > '
            f'{SYSFS}/export || exit 1; done && true\'')
        self.assertEqual(ubmem.attr(self.home, 'exports'), 80)
        lines = self.home.out(f'cat {SYSFS}/export').splitlines()
        self.assertGreater(len(lines), 40)
        for line in lines:
            self.assertRegex(line, '^[0-9a-f]{32} 0x[0-9a-f]+ 0x100000 0x1000 '
                                   '0x12345678$')
        self.home.run(f'while read eid id rest < {SYSFS}/export; do '
                      f'echo $id > {SYSFS}/unexport; done', 60)
        self.clean()

    def test_5_revoked(self):
        """what is taken back is taken from who uses it"""
        serve = Serve(self.home, f'serve {PAGE}')
        job = self.user.spawn(f'ubmem-perf watch {serve.desc} > /tmp/watch',
                              90)
        self.user.wait_for('grep -q watching /tmp/watch')
        before = self.refusals(self.home)
        self.assertEqual(serve.tell('unexport'), 'done')
        job.wait()
        # The owner hears of who still tries.
        self.home.wait_for(f'test $(cat {SYSFS}/device/ummu/refused) -gt '
                           f'{before}')
        self.assertIn(f'event {EVENT_REMOTE} ',
                      self.user.out('tail -n 1 /tmp/watch'))
        serve.kill()
        self.clean()

    def test_6_rotate(self):
        """old and new token both hold, then the new one alone; with traffic"""
        serve = Serve(self.home, f'serve {PAGE}')
        old = serve.desc
        job = self.user.spawn(f'ubmem-perf watch {old} > /tmp/watch', 90)
        self.user.wait_for('grep -q watching /tmp/watch')
        new = serve.tell('rotate')
        self.assertNotEqual(new, old)
        for desc in (old, new):
            self.assertEqual(self.perf(f'poke {desc} 8 7'), 'stored')
        self.assertFalse(job.finished)
        self.assertEqual(serve.tell('settle'), new)
        job.wait()
        self.refused(old)
        self.assertEqual(self.perf(f'check {new} 64'), 'checked')
        serve.kill()
        self.clean()

    def test_7_ring(self):
        """a ring of messages from guest to guest"""
        for here, there in ((self.user, self.home), (self.home, self.user)):
            serve = Serve(there, f'receive {8 * PAGE} 1000')
            print('#', self.perf(f'send {serve.desc} 1000', here))
            self.assertEqual(serve.line(), 'received')
        # Cached: one owner after the other.
        serve = Serve(self.home, f'serve {8 * PAGE} rw random shared')
        jobs = [guest.spawn(f'ubmem-perf {what} {serve.desc} 1000', 200)
                for guest, what in ((self.third, 'take'), (self.user, 'put'))]
        for job, said in zip(jobs, ('took', 'put')):
            self.assertRegex(job.wait().out, f'^{said} 1000 in ')
        serve.kill()
        self.clean()

    def test_7b_perf(self):
        """what it takes"""
        serve = Serve(self.home, f'serve {128 * PAGE}')
        for options in ('', 'OPTIONS=strong '):
            done = self.user.run(f'{options}ubmem-perf perf {serve.desc}', 120)
            print(f'# {options}\n# ' + done.out.strip().replace('\n', '\n# '))
            self.assertIn('\nfault ', done.out)
        serve.kill()
        self.clean()

    def test_7c_cached(self):
        """pages are read when they are touched, and written back"""
        serve = Serve(self.home, f'serve {128 * PAGE}')
        print('# ' + self.perf(f'cached {serve.desc}'))
        for at in (0, 8, PAGE, 128 * PAGE - 8):
            self.assertEqual(int(serve.tell(f'word {at:#x}'), 16),
                             (at + 1) * 0x9e3779b97f4a7c15 % (1 << 64))
        # What may only be read is not written back, and says so.
        serve.kill()
        serve = Serve(self.home, f'serve {PAGE} r')
        self.assertIn('clean: Input/output error',
                      self.perf(f'cached {serve.desc}', status=1))
        self.assertEqual(serve.tell('word 0'), '0')
        # Nothing can be read: touching it is an error, and is asked for once.
        self.assertEqual(serve.tell('unexport'), 'done')
        before = self.refusals(self.home)
        self.assertNotEqual(
            self.user.run(f'ubmem-perf cached {serve.desc}', 60,
                          check=False).status, 0)
        self.told(self.home, 'refused', before, 1)
        # So each of several that touch it at once asks once, and hears of its own.
        before = self.refusals(self.home)
        self.assertEqual(self.perf(f'touch {serve.desc} {TOUCHERS}'),
                         'touched 0')
        self.told(self.home, 'refused', before, TOUCHERS)
        serve.kill()
        serve = Serve(self.home, f'serve {PAGE} r')
        self.assertEqual(self.perf(f'touch {serve.desc} {TOUCHERS}'),
                         f'touched {TOUCHERS}')
        serve.kill()
        self.clean()

    def test_7c_asleep(self):
        """who waits for pages sleeps, and an interrupt wakes it"""
        serve = Serve(self.home, f'serve {128 * PAGE}')
        before = ubmem.attr(self.user, 'woken')
        self.perf(f'cached {serve.desc}')
        self.assertGreater(ubmem.attr(self.user, 'woken'), before)
        serve.kill()
        # Nobody answers for 15 s: who waits has slept nearly all the time.  Who polled
        # each 100 us would have been at it 150,000 times, with a look each 50 ms it
        # is 300, and some for its start.
        eid, *rest = serve.desc.split()
        nobody = ' '.join([eid[:-2] + '4c', *rest])
        self.user.run(f'(exec ubmem-perf cached {nobody} > /dev/null 2>&1 & '
                      'echo $! > /tmp/pid)')
        self.user.wait_for('P=$(cat /tmp/pid); while grep '
                           '"^voluntary" /proc/$P/status > /tmp/next; do '
                           'mv /tmp/next /tmp/turns; sleep 1; done; true', 120)
        turns = int(self.user.out('cut -f 2 /tmp/turns'))
        print(f'# slept {turns} times')
        self.assertGreater(turns, 10)
        self.assertLess(turns, 3000)
        self.clean()

    def mtu(self, code):
        """Write MTU_CFG of the user's controller (UB 2.0, D.1.13); what it was."""
        files = f'{SYSFS}/device/ub/config {SYSFS}/device/../ub/config'
        name = self.user.out(f'ls {files} 2>/dev/null | head -n 1')
        read = f'dd if={name} bs=4 count=1 skip={MTU_CFG} | od -An -tu4'
        was = int(self.user.out(read))
        self.user.run(rf"printf '\{code}\0\0\0' | dd of={name} bs=4 count=1 "
                      f'seek={MTU_CFG} conv=notrunc')
        self.assertEqual(int(self.user.out(read)), code)
        return was

    def test_7c_mtu(self):
        """pages go back in packets of the MTU, whatever it is"""
        was = self.mtu(0)
        for code in (0, 1, 2):          # 1024, 4096 and 8192 bytes
            self.mtu(code)
            serve = Serve(self.home, f'serve {128 * PAGE}')
            self.perf(f'cached {serve.desc}')
            for at in (0, 1024, PAGE - 8, PAGE, 128 * PAGE - 8):
                self.assertEqual(int(serve.tell(f'word {at:#x}'), 16),
                                 (at + 1) * 0x9e3779b97f4a7c15 % (1 << 64))
            serve.kill()
        self.mtu(was)
        self.clean()

    def test_7c_others(self):
        """what one peer does not take does not stay dirty of another"""
        serve, where = [], []
        for guest, rights in ((self.third, 'r'), (self.home, 'rw')):
            serve.append(Serve(guest, f'serve {PAGE} {rights}'))
            self.user.run(f'echo {serve[-1].desc} cached > {SYSFS}/import')
            where.append(self.user.out(f'cat {SYSFS}/command'))
        self.assertEqual(self.perf(f'map {where[0]} 8 1'), 'Input/output error')
        self.assertEqual(self.perf(f'map {where[1]} 8 0x77'),
                         'Input/output error')
        self.assertEqual(serve[1].tell('word 8'), '77')
        self.assertEqual(serve[0].tell('word 8'), '0')
        for n in range(2):
            self.user.run(f'echo {where[n].split()[0]} > {SYSFS}/unimport')
            serve[n].kill()
        self.clean()

    def asks_nobody(self, desc):
        """A program waits for pages of nobody; a command that says that it still does."""
        eid, *rest = desc.split()
        nobody = ' '.join([eid[:-2] + '4e', *rest])
        self.user.run(f'(exec ubmem-perf cached {nobody} > /dev/null 2>&1 & '
                      'echo $! > /tmp/dead)')
        waits = 'grep -q mem_move /proc/$(cat /tmp/dead)/stack'
        self.user.wait_for(waits, 60)
        return waits

    def test_7c_dead(self):
        """pages of a peer come and go while another one does not answer"""
        serve = Serve(self.home, f'serve {8 * PAGE}')
        waits = self.asks_nobody(serve.desc)
        begun = time.monotonic()
        self.perf(f'cached {serve.desc}')
        print(f'# {time.monotonic() - begun:.1f} s beside who waits')
        # Who waits for its turn has it when the other's 15 s are over.
        self.user.run(waits)
        self.assertEqual(int(serve.tell('word 8'), 16),
                         9 * 0x9e3779b97f4a7c15 % (1 << 64))
        self.user.wait_for('! kill -0 $(cat /tmp/dead)', 60)
        serve.kill()
        self.clean()

    def test_7c_many(self):
        """two peers that do not answer cost a fence, or the end, what one costs"""
        peers = self.home, self.third
        for guest in peers:
            self.addCleanup(guest.qmp.command, 'cont')
        for ends in range(2):
            serve = [Serve(guest, f'serve {PAGE}') for guest in peers]
            self.user.run('rm -f /tmp/when /tmp/dirty; mkfifo /tmp/when')
            self.user.run(
                f'(exec ubmem-perf sync {serve[0].desc} {serve[1].desc} <> '
                '/tmp/when > /tmp/dirty 2>&1 & echo $! > /tmp/pid)')
            self.user.wait_for('grep -q dirty /tmp/dirty', 60)
            for guest in peers:
                guest.qmp.command('stop')
            begun = time.monotonic()
            self.user.run('kill -9 $(cat /tmp/pid)' if ends
                          else 'echo now > /tmp/when')
            self.user.wait_for(f'grep -qx 0 {SYSFS}/used', 120)
            took = time.monotonic() - begun
            for guest in peers:
                guest.qmp.command('cont')
            if not ends:
                told = self.user.out('tail -n 1 /tmp/dirty')
                self.assertRegex(told, r'^Input/output error in \d+ ms$')
                took = int(told.split()[-2]) / 1000
            self.assertGreater(took, 14)
            self.assertLess(took, 25)
            for program in serve:
                program.kill()
        self.clean()

    def test_7d_shared(self):
        """three guests change the same memory, each as its owner for a time"""
        serve = Serve(self.home, f'serve {2 * PAGE} rw random shared')
        jobs = [guest.spawn(f'ubmem-perf share {serve.desc} 10', 200)
                for guest in self.guests]
        for job in jobs:
            self.assertEqual(job.wait().out.strip(), 'shared')
        self.assertEqual(serve.tell('word 0'), '1e')
        # One that is killed while it owns gives it up, and writes it back.
        self.third.run(f'(exec ubmem-perf hold {serve.desc} > /tmp/hold 2>&1 & '
                       'echo $! > /tmp/pid)')
        self.third.wait_for('grep -q holding /tmp/hold', 60)
        self.assertEqual(serve.tell('word 8'), '0')
        self.third.run('kill -9 $(cat /tmp/pid)')
        self.third.wait_for(f'grep -qx 0 {SYSFS}/used')
        self.assertEqual(serve.tell('word 8'), '1')
        self.assertEqual(self.perf(f'share {serve.desc} 2'), 'shared')
        serve.kill()
        self.clean()

    def test_7c_killed(self):
        """what a program has written is written back, though it is killed meanwhile"""
        serve, other = (Serve(guest, f'serve {8 * PAGE}')
                        for guest in (self.home, self.third))
        self.user.run('rm -f /tmp/when /tmp/dirty; mkfifo /tmp/when')
        self.user.run(f'(exec ubmem-perf close {serve.desc} <> /tmp/when '
                      '> /tmp/dirty 2>&1 & echo $! > /tmp/pid)')
        self.user.wait_for('grep -q dirty /tmp/dirty', 60)
        # The peer answers again later.
        self.home.qmp.command('stop')
        self.user.run('echo now > /tmp/when')
        self.user.wait_for('grep -q mem_move /proc/$(cat /tmp/pid)/stack', 60)
        self.user.run('kill -9 $(cat /tmp/pid)')
        begun = time.monotonic()
        # Pages of another peer come and go meanwhile.
        self.perf(f'cached {other.desc}')
        # Longer than who is killed waits for a page that it only reads.
        time.sleep(max(0, 2 - (time.monotonic() - begun)))
        self.user.run('kill -0 $(cat /tmp/pid)')
        self.home.qmp.command('cont')
        self.user.wait_for(f'grep -qx 0 {SYSFS}/used', 120)
        self.assertEqual(serve.tell('word 0'), '1')
        serve.kill()
        other.kill()
        self.clean()

    def test_7e_reclaimed(self):
        """who was taken for gone leaves nothing that others own since"""
        serve = Serve(self.home, f'serve {PAGE} rw random shared')
        self.third.run(f'(exec ubmem-perf hold {serve.desc} read '
                       '> /tmp/hold 2>&1 & echo $! > /tmp/pid)')
        self.third.wait_for('grep -q holding /tmp/hold', 60)
        self.assertEqual(self.perf(f'try {serve.desc} write'),
                         'Resource temporarily unavailable')
        self.assertEqual(serve.tell('reclaim'), 'done')
        self.user.run(f'(exec ubmem-perf hold {serve.desc} read '
                      '> /tmp/hold 2>&1 & echo $! > /tmp/pid)')
        self.user.wait_for('grep -q holding /tmp/hold', 60)
        self.third.run('kill -9 $(cat /tmp/pid)')
        self.third.wait_for(f'grep -qx 0 {SYSFS}/used')
        # There is still the other reader.
        self.assertEqual(self.perf(f'try {serve.desc} write', self.home),
                         'Resource temporarily unavailable')
        self.assertEqual(self.perf(f'try {serve.desc} read', self.third),
                         'owned')
        self.user.run('kill -9 $(cat /tmp/pid)')
        self.user.wait_for(f'grep -qx 0 {SYSFS}/used')
        self.assertEqual(self.perf(f'share {serve.desc} 2'), 'shared')
        serve.kill()
        self.clean()

    def test_8_unbind(self):
        """the driver goes under mappings: SIGBUS; and comes back"""
        serve = Serve(self.home, f'serve {PAGE}')
        self.assertNotEqual(self.home.run('rmmod ub_mem', check=False).status,
                            0)
        job = self.user.spawn(f'ubmem-perf watch {serve.desc} > /tmp/watch',
                              90)
        self.user.wait_for('grep -q watching /tmp/watch')
        # One has asked for pages, two store all the time, and nobody answers: they end
        # in the time of one.
        waits = self.asks_nobody(serve.desc)
        eid, *rest = serve.desc.split()
        nobody = ' '.join([eid[:-2] + '4e', *rest])
        drips = [self.user.spawn(f'ubmem-perf drip {nobody} > /tmp/drip{n}', 120)
                 for n in range(2)]
        self.user.wait_for('grep -q dripping /tmp/drip0 && '
                           'grep -q dripping /tmp/drip1')
        self.user.run(waits)
        begun = time.monotonic()
        self.user.run('cd /sys/bus/auxiliary/drivers/ub_mem.mem; '
                      'echo ub_core.mem.* > unbind', 60)
        self.assertLess(time.monotonic() - begun, 25)
        for ended in (job, *drips):
            ended.wait()
        self.user.wait_for('! kill -0 $(cat /tmp/dead)', 60)
        self.assertEqual(self.user.out('tail -qn 1 /tmp/watch /tmp/drip?'),
                         '\n'.join(3 * ['bus error']))
        self.user.run('rmmod ub_mem; modprobe ub_mem')
        self.user.wait_for(f'test -c {NODE}')
        self.assertEqual(self.perf(f'check {serve.desc} 64'), 'checked')
        self.perf(f'cached {serve.desc}')
        # A reset of the function ends what there is, too.
        job = self.user.spawn(f'ubmem-perf watch {serve.desc} > /tmp/watch',
                              90)
        self.user.wait_for('grep -q watching /tmp/watch')
        self.user.run(f'echo 1 > {SYSFS}/device/reset')
        job.wait()
        self.assertEqual(self.user.out('tail -n 1 /tmp/watch'), 'bus error')
        self.user.wait_for(
            f'grep -q 1 /sys/class/net/{self.user.dev}/carrier', 60)
        # The switch's end may still be coming up: what is lost is reported.
        self.user.wait_for(f'ubmem-perf check {serve.desc} 64', 60)
        self.perf(f'cached {serve.desc}')
        serve.kill()
        # Afterwards it hears of refusals again, and counts go on.
        before = self.refusals(self.user)
        serve = Serve(self.user, f'serve {PAGE} r 0x1234')
        wrong = serve.desc.replace('0x1234', '0x1235')
        self.assertEqual(self.perf(f'poke {wrong} 0 1', self.home),
                         'Input/output error')
        self.told(self.user, 'refused', before, 1)
        serve.kill()
        self.clean()

    def test_9_unplug(self):
        """the device goes under a program that uses it"""
        serve = Serve(self.home, f'serve {PAGE}')
        job = self.user.spawn(f'ubmem-perf watch {serve.desc} > /tmp/watch',
                              90)
        self.user.wait_for('grep -q watching /tmp/watch')
        self.user.hotplug_remove('ub')
        job.wait()
        # The last load may have ended with the device.
        self.assertRegex(self.user.out('tail -n 1 /tmp/watch'),
                         'bus error|No such device')
        self.user.run(f'! test -e {NODE}')
        self.assertEqual(self.user.kernel_complaints(), [])
        self.assertEqual(self.perf(f'check {serve.desc} 64', self.third),
                         'checked')
        serve.kill()

    def test_9b_killed(self):
        """a peer that is killed costs a bounded time"""
        serve = Serve(self.home, f'serve {PAGE}')
        job = self.third.spawn(f'ubmem-perf watch {serve.desc} > /tmp/watch',
                              90)
        self.third.wait_for('grep -q watching /tmp/watch')
        self.third.run(f'(exec ubmem-perf dirty {serve.desc} 3 > /tmp/dirty '
                       '2>&1 & echo $! > /tmp/pid)')
        self.third.wait_for('grep -q dirty /tmp/dirty', 60)
        before = ubmem.attr(self.third, 'spared')
        self.home.kill()
        job.wait()
        self.assertRegex(self.third.out('tail -n 1 /tmp/watch'), 'event 0x1')
        # What cannot be written back costs its program one wait, not three.
        self.third.run('kill -9 $(cat /tmp/pid)')
        self.third.wait_for(f'grep -qx 0 {SYSFS}/used', 120)
        self.assertEqual(ubmem.attr(self.third, 'spared'), before + 2)
        self.assertEqual(ubmem.attr(self.third, 'used'), 0)
        self.assertEqual(self.third.kernel_complaints(), [])


class Bounced(unittest.TestCase):
    """A guest whose kernel copies what devices have of programs' memory."""

    def test_1_refused(self):
        """memory that a peer would see a copy of is not exported"""
        ubmem.needed()
        guest = ubmem.node(0, 'null,id=ubwire')
        self.addCleanup(guest.close)
        guest.append += ' swiotlb=force'
        guest.boot(300)
        guest.wait_for(f'test -c {NODE}', 60)
        done = guest.run(f'ubmem-perf serve {PAGE}', check=False)
        self.assertEqual(done.status, 1)
        self.assertIn('Operation not supported', done.out + done.err)
        self.assertEqual(ubmem.attr(guest, 'exports'), 0)
        self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
