# SPDX-License-Identifier: GPL-2.0-or-later
"""The character device of the driver rclink under programs that do not behave, and
under devices that go while programs use them."""

import time
import unittest

from guestvm import kernel, net, tap
from guestvm.clock import SEED, deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import stream_chardev
from guestvm.paths import BUILD

MODEL = 'rclink'
PROGRAMS = {'/usr/bin/rclink-perf': BUILD / 'tools/rclink/rclink-perf',
            '/usr/bin/rclink-abuse': BUILD / 'qtest/guest/native/rclink-abuse'}
MACS = {'left': '02:00:00:00:00:0a', 'right': '02:00:00:00:00:0b'}
LEFT, RIGHT = '10.3.0.1', '10.3.0.2'
# Each program that has a port has 3 MiB: what 80 of them left behind would be all
# of the guest's memory.
TURNS = 80
STEPS = 5000


class Abuse(unittest.TestCase):
    """A guest with both ends of a wire; the right one's network is apart."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not has_device('x86_64', MODEL):
            raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
        if not any('rclink' in str(m) for m in driver_modules('x86_64')):
            raise NotAvailable('rclink.ko is not built for x86_64')
        for program in PROGRAMS.values():
            if not program.exists():
                raise NotAvailable(f'{program} is not built')
        cls.guest = Guest('abuse', smp=2, hotplug=1, files=PROGRAMS,
                          kern=kernel.other('x86_64'))
        wire = cls.guest.dir / 'wire'
        cls.guest.nics = [
            (stream_chardev(wire, server=True), cls.device('left') +
             ',bus=port0'),
            (stream_chardev(wire, reconnect_ms=100), cls.device('right'))]
        cls.guest.append += ' iomem=relaxed'    # registers, as they are
        cls.addClassCleanup(cls.guest.close)
        cls.guest.boot()
        for side in MACS:       # killall knows them apart
            cls.guest.run(f'ln -s rclink-abuse /usr/bin/abuse-{side}')
        cls.pci = {side: cls.find(side)[1] for side in MACS}
        right = cls.find('right')[0]
        cls.guest.run(f'ip netns add far; ip link set {right} netns far\n'
                      'ip netns exec far sh -c "ip link set lo up; '
                      f'ip addr add {RIGHT}/24 dev {right}; '
                      f'ip link set {right} up"')
        cls.network()
        cls.fresh = {side: cls.state(side) for side in MACS}

    @staticmethod
    def device(side):
        return f'{MODEL},id={side},mac={MACS[side]}'

    @classmethod
    def find(cls, side):
        """Interface and PCI address of a port."""
        return cls.guest.wait_for(
            f'd=$(grep -l {MACS[side]} /sys/class/net/*/address) && '
            'd=${d%/address} && p=$(basename $(readlink $d/device)) && '
            'ls /dev/rclink-$p > /dev/null && echo ${d##*/} $p').split()

    @classmethod
    def network(cls):
        net.static(cls.guest, cls.find('left')[0], LEFT + '/24')
        net.reachable(cls.guest, RIGHT)

    @classmethod
    def state(cls, side):
        """The registers of a port that nobody has open."""
        return cls.guest.out('rclink-abuse state /sys/bus/pci/devices/'
                             f'{cls.pci[side]}/resource0')

    def port(self, side):
        return f'/dev/rclink-{self.pci[side]}'

    def counter(self, side, name):
        return self.guest.qmp.command('qom-get', property=f'counter-{name}',
                                      path=f'/machine/peripheral/{side}')

    def wait_counter(self, side, name, more=0, before=None):
        """Wait until a counter is by more than that above what it is, or was."""
        until = deadline(60)
        if before is None:
            before = self.counter(side, name)
        while self.counter(side, name) <= before + more:
            self.assertLess(time.monotonic(), until, f'{side}: {name}')
            time.sleep(0.01)

    def check_fresh(self):
        """What programs did to the ports went with them, and the network's frames
        pass; the last one of theirs may be under way."""
        for side in MACS:
            until = deadline(30)
            while (state := self.state(side)) != self.fresh[side]:
                if time.monotonic() > until:
                    self.assertEqual(state, self.fresh[side], side)
        net.reachable(self.guest, RIGHT)

    def both(self, end='/'):
        """Programs at both ends that send all the time, and beside each of them others
        that use its file; who has lost its port waits for a file."""
        self.guest.run('rm -f /tmp/go')
        jobs = {}
        for side, other in (('left', 'right'), ('right', 'left')):
            peer = MACS[other].replace(':', '')
            jobs[side] = self.guest.spawn(
                f'abuse-{side} hold {self.port(side)} {peer} /tmp/go {end} '
                f'> /tmp/{side} 2>&1', 120)
            self.guest.wait_for(f'grep -q ready /tmp/{side}')
        self.guest.run('touch /tmp/go')
        for side in MACS:
            self.wait_counter(side, 'rx_type1', 200)
        return jobs

    def end(self, job, name):
        """A program that was told of the end of its device, and did not mind."""
        done = job.wait(check=False)
        log = self.guest.out(f'cat /tmp/{name}')
        self.assertEqual((done.status, log), (0, 'ready\nover'))

    def kill(self, **jobs):
        """kill -9 of the programs that have these ports, and of their children."""
        for side, job in jobs.items():
            self.guest.run(f'killall -9 abuse-{side}')
            self.assertNotEqual(job.wait(check=False).status, 0)
            self.guest.wait_for(f'! pidof abuse-{side}')

    def pattern(self, num, between=lambda job: None):
        """Messages from left to right, once and in order."""
        listen = self.guest.spawn(
            f'rclink-perf -l -d {self.port("right")} -p {MACS["left"]} -n {num} '
            '-q 4 -c pfc -t 60 -w -R 2000,15 pattern > /tmp/perf 2>&1', 180)
        self.guest.wait_for('grep -q ready /tmp/perf')
        job = self.guest.spawn(
            f'rclink-perf -d {self.port("left")} -p {MACS["right"]} -n {num} '
            '-q 4 -c pfc -t 60 -w -R 2000,15 pattern', 180)
        between(job)
        job.wait()
        listen.wait()
        self.assertIn(f'received={num}', self.guest.out('cat /tmp/perf'))

    def test_1_open(self):
        """one has a port; with the last reference, whatever it is, it is free"""
        out = self.guest.out(f'rclink-abuse race {self.port("left")} {TURNS}',
                             120)
        self.assertGreaterEqual(int(out.split('=')[1]), TURNS)
        self.guest.run(f'rclink-abuse close {self.port("left")}')
        self.check_fresh()

    def test_2_fuzz(self):
        """calls, registers, rings and mappings at random, at both ends"""
        jobs = [self.guest.spawn(f'rclink-abuse fuzz {self.port(side)} '
                                 f'{SEED + n} {STEPS}', 180)
                for n, side in enumerate(MACS)]
        for job in jobs:
            job.wait()
        self.check_fresh()
        self.guest.run(f'rclink-abuse broken {self.port("left")}')
        self.check_fresh()
        self.pattern(500)

    def test_3_kill(self):
        """kill -9 of who sends, with a child that has all that is mapped"""
        for turn in range(2):
            jobs = self.both()
            if turn:
                # The child alone has the port, until it goes as well.
                for side, job in jobs.items():
                    self.guest.run(
                        f'all=" $(pidof abuse-{side}) "; for p in $all; do\n'
                        "above=$(awk '/^PPid:/ { print $2 }' /proc/$p/status)\n"
                        'case "$all" in *" $above "*) ;; *) kill -9 $p; esac\n'
                        'done')
                    self.assertNotEqual(job.wait(check=False).status, 0)
                    busy = self.guest.run(f'rclink-perf -d {self.port(side)} '
                                          'stat', check=False)
                    self.assertIn('busy', busy.err)
                    self.guest.run(f'killall -9 abuse-{side}')
            else:
                self.kill(**jobs)
            self.check_fresh()
        self.pattern(500)

    def test_4_unbind(self):
        """the driver lets go of a device that is in use; another program has it then,
        beside who had it before"""
        path = '/sys/bus/pci/drivers/rclink'
        jobs = self.both('/tmp/enough')
        self.assertNotEqual(self.guest.run('rmmod rclink',
                                           check=False).status, 0)
        self.guest.run(f'echo {self.pci["left"]} > {path}/unbind')
        self.guest.wait_for('grep -q over /tmp/left')
        self.guest.run(f'echo {self.pci["left"]} > {path}/bind')
        self.network()
        # Its peer has given it up by now, or will.
        self.kill(right=jobs['right'])
        self.guest.run('mv /tmp/left /tmp/old')
        new = self.both()
        self.guest.run('touch /tmp/enough')
        self.end(jobs['left'], 'old')
        self.wait_counter('left', 'rx_type1', 200)
        self.kill(**new)
        self.check_fresh()
        self.pattern(500)

    def test_5_reset(self):
        """a reset of the function, and sleep, take the port from a program"""
        for what in ('echo 1 > /sys/bus/pci/devices/'
                     f'{self.pci["left"]}/reset',
                     'echo 0 > /sys/module/suspend/parameters/pm_test_delay\n'
                     'echo devices > /sys/power/pm_test\n'
                     'echo mem > /sys/power/state'):
            jobs = self.both()
            self.guest.run(what)
            self.end(jobs.pop('left'), 'left')
            if 'power' in what:
                self.end(jobs.pop('right'), 'right')
            else:
                self.kill(**jobs)
            self.network()
            self.check_fresh()
        self.pattern(500)

    def test_6_unplug(self):
        """the device is unplugged from who uses it, and another one comes"""
        jobs = self.both('/tmp/enough2')
        self.guest.hotplug_remove('left')
        self.guest.wait_for('grep -q over /tmp/left')
        self.guest.hotplug_add(MODEL, id='left', bus='port0', chardev='net0',
                               mac=MACS['left'])
        self.network()
        self.guest.run('touch /tmp/enough2')
        self.end(jobs['left'], 'left')
        self.kill(right=jobs['right'])
        self.check_fresh()
        self.pattern(500)

    def test_7_stop(self):
        """the machine stands still again and again: nothing is lost or twice"""
        stops = 0

        def between(job):
            nonlocal stops
            self.wait_counter('right', 'rx_type1', before=before)
            while stops < 30 and not job.finished:
                self.guest.qmp.command('stop')
                self.guest.qmp.command('cont')
                stops += 1

        before = self.counter('right', 'rx_type1')
        self.pattern(8000, between)
        self.assertGreater(stops, 0)
        self.assertEqual(self.counter('right', 'rx_type1') - before, 8000)

    def test_9_kernel(self):
        """the kernel complains of nothing"""
        self.assertEqual(self.guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
