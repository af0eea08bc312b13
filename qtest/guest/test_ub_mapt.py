# SPDX-License-Identifier: GPL-2.0-or-later
"""A program without any rights guards its memory by permission tables that it writes
itself, and by a queue of unprivileged software; a program in another guest is let in,
or not."""

import unittest

from guestvm import tap
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.paths import BUILD
from guestvm.ubmem import Serve

PROGRAM = BUILD / 'qtest' / 'guest' / 'native' / 'ub-mapt'
# Decisions of §9.4.1: why the owner's UMMU refuses.
INVALID, TOKEN, RIGHT, BLOCK = 16, 18, 20, 43
WRITE, READ = 1, 2


class Mapt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PROGRAM.exists():
            raise NotAvailable('ub-mapt is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        cls.home = cls.make('home', 1)
        cls.away = cls.make('away', 2)
        for guest in (cls.home, cls.away):
            guest.start()
        for guest in (cls.home, cls.away):
            guest.wait_ready()
            guest.run('echo 2 > /proc/sys/vm/nr_hugepages')
        # Either end comes up when both are enabled.
        for job in [guest.spawn(f'ub-mapt {n} {3 - n} link', 300)
                    for n, guest in ((1, cls.home), (2, cls.away))]:
            job.wait()

    @classmethod
    def make(cls, name, number):
        guest = Guest(name, drivers=[], files={'/bin/ub-mapt': PROGRAM})
        cls.addClassCleanup(guest.close)
        wire = guest.dir if number == 1 else cls.home.dir
        end = 'server=on,wait=off' if number == 1 else 'reconnect-ms=100'
        guest.args = ['-chardev', f'socket,id=ubwire,path={wire}/ub,{end}']
        # What the program changes does not count before it has told so.
        guest.devices = [f'ubc,id=ub,chardev0=ubwire,upi=1,cna={number},'
                         f'eid={number:032x},ummu-strict=on,'
                         'ummu-positive=off']
        return guest

    def refused(self):
        """How often each decision of the owner's has refused."""
        state = self.home.qmp.command('query-ub-ummu')[0]
        return {r['decision']: r['count'] for r in state['refused']}

    def ask(self, command, answer, decision=None):
        before = self.refused()
        self.assertEqual(self.user.tell(command), answer, command)
        if decision:
            before[decision] = before.get(decision, 0) + 1
        self.assertEqual(self.refused(), before, command)

    def told(self, *commands):
        for command in commands + ('tell',):
            self.assertEqual(self.owner.tell(command), 'done', command)

    def test_1_program(self):
        """rights, TokenValues, revocation, by a program that may nothing else"""
        type(self).owner = Serve(self.home, '1 2 owner', 'ub-mapt')
        type(self).user = Serve(self.away, '2 1 user', 'ub-mapt')
        self.assertEqual(self.owner.desc, 'nobody')
        self.assertEqual(self.home.out('stat -c %u /proc/$(cat /tmp/pid)'),
                         '65534')
        self.ask('read 5', 'refused', INVALID)
        self.told(f'grant {READ} 5')
        self.ask('read 5', 'ok 0')
        self.ask('read 6', 'refused', TOKEN)
        self.ask('write 5 1', 'refused', RIGHT)
        # Written, and not told: it is as it was.
        self.owner.tell(f'grant {READ | WRITE} 5')
        self.ask('write 5 2', 'refused', RIGHT)
        self.told()
        self.ask('write 5 2', 'ok')
        self.assertEqual(self.owner.tell('word'), '2')
        # Another TokenValue: both, then the new one alone.
        self.told(f'grant {READ | WRITE} 5 7')
        for token in (5, 7):
            self.ask(f'write {token} {token}', 'ok')
        self.told(f'grant {READ | WRITE} 7')
        self.ask('write 5 8', 'refused', TOKEN)
        self.ask('read 7', 'ok 7')
        self.told('revoke')
        self.ask('read 7', 'refused', INVALID)
        self.assertEqual(self.owner.tell('word'), '7')

    def test_2_block(self):
        """entries do not lead out of the block, whatever the program writes"""
        self.told(f'grant {READ} 5')
        self.ask('read 5', 'ok 7')
        self.told('far')
        self.ask('read 5', 'refused', BLOCK)
        self.told('near')
        self.ask('read 5', 'ok 7')

    def test_3_killed(self):
        """the queue of a program that was killed does nothing, and harms nobody"""
        self.owner.kill()
        self.ask('read 5', 'ok 7')
        for guest in (self.home, self.away):
            self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
