# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of two guests load from and store to each other's memory by BAR4."""

import time
import unittest

from guestvm import tap
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.paths import BUILD

PROGRAM = BUILD / 'qtest' / 'guest' / 'native' / 'ub-window'
# A load that is not answered waits until something is done about it.
PATIENCE = 'window-timeout=600000,ta-time-scale=10000'
NUMBER = 2000
# Of `ub-window parts`: one fewer than may be under way, and 8 bytes one by one.
PARTS_STORES = 127 + 8


class Window(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PROGRAM.exists():
            raise NotAvailable('ub-window is not built')
        if not has_device('x86_64', 'ubc'):
            raise NotAvailable('qemu-system-x86_64 has no device ubc')
        cls.left = cls.make('left', 1)
        cls.right = cls.make('right', 2)
        for guest in (cls.left, cls.right):
            guest.start()
        for guest in (cls.left, cls.right):
            guest.wait_ready()
        cls.link()

    @classmethod
    def make(cls, name, number):
        guest = Guest(name, drivers=[], smp=2, hotplug=1,
                      files={'/bin/ub-window': PROGRAM})
        cls.addClassCleanup(guest.close)
        wire = guest.dir if number == 1 else cls.left.dir
        end = 'server=on,wait=off' if number == 1 else 'reconnect-ms=100'
        device = (f'ubc,id=ub,bus=port0,chardev0=ubwire,upi=1,cna={number},'
                  f'eid={number:032x},{PATIENCE}')
        guest.args = ['-chardev', f'socket,id=ubwire,path={wire}/ub,{end}']
        # One has what there is where an instruction cannot begin again.
        if number == 1:
            device += ',window-again=off'
        else:
            guest.args += ['-object', 'iothread,id=io']
            device += ',iothread=io'
        guest.devices = [device]
        return guest

    @classmethod
    def link(cls):
        """Either end comes up when both are enabled."""
        for job in [guest.spawn(cls.command(number, 'link'), 240)
                    for number, guest in ((1, cls.left), (2, cls.right))]:
            job.wait()

    @staticmethod
    def command(number, what):
        """What node @number is to do with the other one."""
        return f'/bin/ub-window {3 - number} {what}'

    def words(self, guest, what):
        return self.command(1 if guest is self.left else 2, what)

    def program(self, guest, what, timeout=120):
        return guest.out(self.words(guest, what), timeout)

    def start(self, guest, what):
        """In the background, see wait_said() and stop()."""
        guest.run('rm -f /tmp/out /tmp/pid /tmp/ended; '
                  f'({self.words(guest, what)} > /tmp/out 2>&1 & '
                  'echo $! > /tmp/pid; wait; : > /tmp/ended) '
                  '> /dev/null 2>&1 &')

    def wait_said(self, guest, word):
        """Until the program says the word, and nothing else."""
        guest.wait_for('grep . /tmp/out', 240)
        self.assertEqual(guest.out('cat /tmp/out'), word)

    def serve(self, guest):
        self.start(guest, 'serve')
        self.wait_said(guest, 'serving')

    def stop(self, guest):
        """The program ends by itself, with what it has shared taken back."""
        guest.wait_for('test -s /tmp/pid', 60)
        guest.run('kill $(cat /tmp/pid)')
        guest.wait_for('test -e /tmp/ended', 60)

    def counters(self, guest):
        """Of its window, those that are not 0."""
        window = guest.qmp.command('query-ub-engines')[0]['window']
        return {c['name']: c['value'] for c in window}

    def waiting(self, guest):
        """Loads that wait, as the emulator has it."""
        return self.counters(guest).get('waiting', 0)

    def wait_counter(self, guest, name, least):
        """Not by a program: one that a processor has to answer would not end while
        that waits."""
        until = deadline(120)
        while self.counters(guest).get(name, 0) < least:
            self.assertLess(time.monotonic(), until, f'{name}: too few')
            time.sleep(0.01)

    def wait_waiting(self, guest):
        self.wait_counter(guest, 'waiting', 1)

    def test_1_memory(self):
        """loads, stores and atomics reach the memory of a program there"""
        for here, there in ((self.right, self.left), (self.left, self.right)):
            self.serve(there)
            self.assertEqual(self.program(here, 'check'), 'checked')
            self.stop(there)

    def test_2_both(self):
        """both load from each other at once, with and without an IOThread"""
        for guest in (self.left, self.right):
            self.start(guest, 'both 500')
        for guest in (self.left, self.right):
            self.wait_said(guest, 'both')
        for guest in (self.left, self.right):
            self.stop(guest)

    def test_3_doorbells(self):
        """another processor's doorbells go on while one waits"""
        for guest in (self.left, self.right):
            out = self.program(guest, f'doorbells {NUMBER}')
            print(f'# {guest.name}: {out}')
            self.assertTrue(out.startswith(f'doorbells {NUMBER} '), out)

    def test_4_stop(self):
        """a machine stops though a load waits, which gets all ones, if it is so set"""
        job = self.left.spawn(self.words(self.left, 'deaf'), 120)
        self.wait_waiting(self.left)
        self.left.qmp.command('stop')
        self.assertEqual(self.waiting(self.left), 0)
        self.left.qmp.command('cont')
        self.assertEqual(job.wait().out.strip(), 'f' * 16)
        self.assertEqual(self.counters(self.left).get('stopped'), 1)

    def test_4b_again(self):
        """else it is made again when the machine goes on, by the tables of then"""
        self.serve(self.left)
        before = self.counters(self.right)
        job = self.right.spawn(self.words(self.right, 'again'), 240)
        self.wait_counter(self.right, 'slot-commands',
                          before.get('slot-commands', 0) + 1)
        self.assertEqual(self.waiting(self.right), 1)
        self.right.qmp.command('stop')
        self.assertEqual(self.waiting(self.right), 0)
        self.right.qmp.command('cont')
        self.assertEqual(job.wait().out.strip(), 'again')
        after = self.counters(self.right)
        self.assertEqual(after.get('stopped', 0), before.get('stopped', 0))
        self.assertEqual(after['withdrawn'], before.get('withdrawn', 0) + 1)
        self.stop(self.left)

    def test_4c_parts(self):
        """a store that the processor makes in parts is made once, though the machine
        stops when some have no room"""
        for guest in (self.left, self.right):
            before = self.counters(guest)
            self.start(guest, 'parts')
            self.wait_waiting(guest)
            guest.qmp.command('stop')
            self.assertEqual(self.waiting(guest), 0)
            guest.qmp.command('cont')
            self.wait_said(guest, 'parts')
            after = self.counters(guest)
            self.assertEqual(after['stores'] - before.get('stores', 0),
                             PARTS_STORES)
            for name in ('withdrawn', 'stopped'):
                self.assertEqual(after.get(name, 0), before.get(name, 0))
            self.stop(guest)
            self.link()

    def test_5_bench(self):
        """latency of a load, rate of stores"""
        self.serve(self.left)
        print('#', self.program(self.right, 'bench'))
        self.stop(self.left)

    def test_5b_reset(self):
        """a controller is reset while a load waits, which gets all ones"""
        for guest in (self.left, self.right):
            self.assertEqual(self.program(guest, 'reset'), 'reset')
            self.link()

    def test_6_ejected(self):
        """a processor comes to a window that has gone while it waited"""
        for number, guest in ((2, self.right), (1, self.left)):
            job = guest.spawn(self.words(guest, 'eject'), 120)
            guest.qmp.wait_event('DEVICE_DELETED', 60,
                                 lambda data: data.get('device') == 'ub')
            print('#', ' '.join(job.wait().out.split()))
            self.assertEqual(guest.out('echo alive'), 'alive')
            # Firmware finds room for the next one.
            more = {'iothread': 'io'} if number == 2 else {}
            guest.qmp.command(
                'device_add', driver='ubc', id='ub', bus='port0',
                chardev0='ubwire', upi=1, cna=number, eid=f'{number:032x}',
                **{'window-timeout': 600000, 'ta-time-scale': 10000}, **more)
            guest.reboot()
            self.link()

    def test_7_killed(self):
        """a peer that is killed costs a bounded time"""
        self.serve(self.left)
        self.assertEqual(self.program(self.right, 'check'), 'checked')
        self.start(self.right, 'until')
        self.wait_said(self.right, 'loading')
        self.left.kill()
        self.right.wait_for('grep lost /tmp/out', 120)
        self.assertFalse(self.right.kernel_complaints())


if __name__ == '__main__':
    tap.main()
