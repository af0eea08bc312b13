# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs over RC Link: librclink, rclink-perf and the character device."""

import re
import select
import socket
import struct
import threading
import time
import unittest

from guestvm import kernel, net, tap
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import Gateway, stream_chardev
from guestvm.paths import BUILD

MODEL = 'rclink'
PERF = BUILD / 'tools' / 'rclink' / 'rclink-perf'
# Entries of the ring of multicast: this many are lost by nobody, however long
# its guest stands still.
RING = 256
MACS = [f'02:00:00:00:00:0{c}' for c in 'abcd']
LEFT, RIGHT = '10.3.0.1', '10.3.0.2'
# What is behind the hub: slirp would answer pings that are for others.
NOBODY = 'socket,udp=127.0.0.1:9,localaddr=127.0.0.1:0'


def need():
    """Raise NotAvailable where there is nothing to test with."""
    if not has_device('x86_64', MODEL):
        raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
    if not any('rclink' in str(m) for m in driver_modules('x86_64')):
        raise NotAvailable('rclink.ko is not built for x86_64')
    if not PERF.exists():
        raise NotAvailable(f'{PERF} is not built')


def make(name, wire, index, props=''):
    return Guest(name, smp=2, files={'/usr/bin/rclink-perf': PERF},
                 kern=kernel.other('x86_64') if index == 1 else None,
                 nics=[(wire, f'{MODEL},id=nic,mac={MACS[index]}{props}')])


def counter(guest, name):
    return guest.qmp.command('qom-get', path='/machine/peripheral/nic',
                             property=f'counter-{name}')


# As librclink maps flows: the class and the VC of the network's frames.
VC_TYPE3 = 6
# Registers of docs/specs/rclink.rst.
RX_MD_HEAD, RX_MD_TAIL, NONR_DMA_CTRL, STATUS = 0x1020, 0x1060, 0x1140, 0x3050
MAC_CBFC_CFG = 0x3100
TX_ARM = 0x4018
NONR_RX_EN = 0x100
# A full queue is looked at each second, and is stuck after ten (linux/rclink).
STUCK = 10


def stat(guest, name):
    """A counter as the driver shows it."""
    out = guest.out(f'ethtool -S {guest.dev}')
    return int(re.search(rf'^\s*{name}: (\d+)$', out, re.M).group(1))


def wait_stat(guest, name, what):
    """Wait until a counter is as test(1) wants it."""
    guest.wait_for(f'[ $(ethtool -S {guest.dev} | sed -n "s/^ *{name}: //p") '
                   f'{what} ]', 200)


def register(guest, at, value=''):
    """A register's place and value for busybox devmem."""
    base = int(guest.out(f'head -n 1 /sys/class/net/{guest.dev}/device/'
                         'resource').split()[0], 0)
    return f'busybox devmem {base + at:#x} 32 {value}'


class Receiver:
    """rclink-perf -l in a guest, ready."""
    number = 0

    def __init__(self, guest, options, timeout=120):
        Receiver.number += 1
        self.guest = guest
        self.log = f'/tmp/perf{Receiver.number}'
        self.job = guest.spawn(f'rclink-perf -l {options} > {self.log} 2>&1',
                               timeout)
        guest.wait_for(f'grep -q ready {self.log}')

    def result(self):
        """What it found; raises if that is an error."""
        done = self.job.wait(check=False)
        out = self.guest.out(f'cat {self.log}')
        if done.status:
            raise AssertionError(f'{self.guest.name}: {out}')
        return values(out)

    def pid(self):
        return self.guest.out('pidof rclink-perf')


def values(text):
    return dict(re.findall(r'(\w+)=(\S+)', text))


class Programs(unittest.TestCase):
    """Two guests on a wire (a chardev)."""

    @classmethod
    def setUpClass(cls):
        need()
        cls.left = cls.boot('left', 0)
        cls.right = cls.boot('right', 1)
        for guest, ip in ((cls.left, LEFT), (cls.right, RIGHT)):
            guest.wait_ready()
            guest.dev = net.interface(guest, MODEL)
            net.static(guest, guest.dev, ip + '/24')
            guest.wait_for('ls /dev/rclink-*')
        net.reachable(cls.left, RIGHT)

    @classmethod
    def boot(cls, name, index):
        if index == 0:
            guest = make(name, '', 0)
            cls.wire = guest.dir / 'wire'
        wire = stream_chardev(cls.wire, server=index == 0,
                              reconnect_ms=0 if index == 0 else 100)
        if index:
            guest = make(name, wire, index)
        else:
            guest.nics = [(wire, guest.nics[0][1])]
        guest.append += ' iomem=relaxed'    # for registers by /dev/mem
        cls.addClassCleanup(guest.close)
        return guest.start()

    def set(self, name, value, guests=None):
        for guest in guests or (self.left, self.right):
            guest.qmp.command('qom-set', path='/machine/peripheral/nic',
                              property=name, value=value)

    def pair(self, test, options, timeout=120):
        """Run a test from left to right; what both found."""
        server = Receiver(self.right, f'-p {MACS[0]} {options} {test}',
                          timeout)
        out = self.left.run(f'rclink-perf -p {MACS[1]} {options} {test}',
                            timeout, check=False)
        got = server.result()
        self.assertEqual(out.status, 0, out.out + out.err)
        return values(out.out), got

    def pattern(self, num, options=''):
        before = counter(self.right, 'rx_type1')
        sent, got = self.pair('pattern', f'-n {num} {options}')
        self.assertEqual(int(got['received']), num)
        self.assertEqual(counter(self.right, 'rx_type1') - before, num)
        return sent

    def test_1_pattern(self):
        """messages arrive once and in order, in each format with QPs"""
        for form in ('standard', 'gen1', 'gen2'):
            self.pattern(4000, f'-f {form} -q 8')
        # Nobody answers in AFH_Lite: credits alone see that nothing is lost.
        self.pattern(4000, '-f lite -q 8 -c cbfc')
        self.pattern(1000, '-s 64')
        self.pattern(1000, '-w -q 3 -s 1001')

    def test_2_loss(self):
        """1 % of the frames is lost both ways, and nothing of the data"""
        self.set('fault-out-drop-ppm', 10000)
        try:
            self.pattern(10000, '-q 8 -s 1344')
            self.pattern(3000, '-f gen2 -q 64')
        finally:
            self.set('fault-out-drop-ppm', 0)
        self.assertGreater(counter(self.left, 'tx_type1_again'), 0)
        self.assertGreater(counter(self.right, 'rx_gap'), 0)

    def test_3_flow(self):
        """PFC and credits hold back a sender whose receiver sleeps"""
        self.pattern(4000, '-c cbfc -q 4 -w')
        self.assertGreater(counter(self.left, 'cbfc_rx'), 0)
        self.assertGreater(counter(self.right, 'cbfc_rx'), 0)
        # One that stands still until its buffers are full to the mark.
        options = '-c pfc -q 4 -n 8000 -R 8000,15 -t 60 pattern'
        before = counter(self.left, 'pfc_rx')
        server = Receiver(self.right, f'-p {MACS[0]} {options}')
        self.right.run(f'kill -STOP {server.pid()}')
        job = self.left.spawn(f'rclink-perf -p {MACS[1]} {options}', 120)
        until = deadline(60)
        while counter(self.left, 'pfc_rx') == before:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.assertGreater(counter(self.right, 'pfc_tx'), 0)
        self.right.run(f'kill -CONT {server.pid()}')
        job.wait()
        self.assertEqual(server.result()['received'], '8000')

    def test_3_network(self):
        """frames of the network wait for credits as programs do"""
        programs = self.flow('cbfc')
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 300 -s 1400'),
                         (300, 300))
        # Without news of its credits a port stops where they end.
        fault = {'path': '/machine/peripheral/nic',
                 'property': 'fault-lose-credits'}
        self.left.qmp.command('qom-set', value=1, **fault)
        sent, received = net.ping(self.left, RIGHT, '-f -c 100 -s 1400 -w 3')
        self.assertLess(received, sent)
        self.assertGreater(counter(self.left, 'cbfc_blocked'), 0)
        sent = counter(self.left, 'tx_type3')
        self.assertEqual(net.ping(self.left, RIGHT, '-c 3 -i 0.2 -w 2')[1], 0)
        self.assertEqual(counter(self.left, 'tx_type3'), sent)
        self.left.qmp.command('qom-set', value=0, **fault)
        net.reachable(self.left, RIGHT)
        self.end(programs)

    def flow(self, flow):
        """Flow control at both ends, by programs that do nothing else."""
        options = f'-n 1 -t 600 -w -c {flow} pattern'
        programs = [Receiver(guest, f'-p {MACS[1 - i]} {options}', 600)
                    for i, guest in enumerate((self.left, self.right))]
        net.reachable(self.left, RIGHT)
        return programs

    def end(self, programs):
        for program in programs:
            program.guest.run(f'kill {program.pid()}')
            program.job.wait(check=False)
        net.reachable(self.left, RIGHT)

    def flood(self):
        """More than the left guest's ring takes at once, again and again until
        /tmp/stop is there; a job."""
        self.left.run('rm -f /tmp/stop')
        return self.left.spawn('while [ ! -e /tmp/stop ]; do\n'
                               f'ping -n -q -f -l 300 -c 300 -s 18 -W 1 {RIGHT}\n'
                               'done; :', 600)

    def test_3_pause(self):
        """frames of the network wait for the end of a pause, however long, and
        nobody takes that for a fault; so for credits"""
        # A pause ends where nobody renews it in time; then the ring runs dry.
        for flow, fault, guest, value, looks in (
                ('pfc', 'fault-pause-storm', self.right, 1 << VC_TYPE3, 3),
                ('cbfc', 'fault-lose-credits', self.left, 1, STUCK + 3)):
            with self.subTest(flow=flow):
                programs = self.flow(flow)
                net.same_file(self.right, self.left, RIGHT)
                # Files go all the time: before, meanwhile and afterwards.
                want = self.right.out('md5sum < /tmp/www/data')
                flood = self.flood()
                files = self.left.spawn(
                    'while [ ! -e /tmp/stop ]; do\n'
                    f'wget -q -O - http://{RIGHT}:8080/data | md5sum; done', 600)
                restarts, held = (stat(self.left, name)
                                  for name in ('restarts', 'held'))
                self.set(fault, value, (guest,))
                wait_stat(self.left, 'held', f'-gt {held}')
                sent = counter(self.left, 'tx_type3')
                wait_stat(self.left, 'held', f'-ge {held + looks}')
                if flow == 'cbfc':
                    self.assertEqual(counter(self.left, 'tx_type3'), sent)
                sent = counter(self.left, 'tx_type3')
                self.set(fault, 0, (guest,))
                self.left.run('touch /tmp/stop')
                flood.wait()
                sums = files.wait().out.split('\n')
                self.assertEqual(set(filter(None, sums)), {want})
                self.assertGreater(counter(self.left, 'tx_type3'), sent)
                self.assertEqual(stat(self.left, 'restarts'), restarts)
                if flow == 'pfc':
                    self.assertGreater(counter(self.right, 'pfc_tx'), 0)
                    self.assertGreater(counter(self.left, 'pfc_rx'), 0)
                self.end(programs)
        # The programs' credits went with them.
        for guest in (self.left, self.right):
            for vc in range(8):
                self.assertEqual(int(guest.out(register(
                    guest, MAC_CBFC_CFG + 8 * vc)), 0), 0)

    def test_3_late(self):
        """a driver that gives no buffers has the peer pause (XOFF), and goes on
        where it was (XON): no frame is lost"""
        programs = self.flow('pfc')
        for guest in (self.left, self.right):
            # Nobody speaks unasked, nor asks.
            guest.run(f'echo 1 > /proc/sys/net/ipv6/conf/{guest.dev}/disable_ipv6')
        status = f'$({register(self.left, STATUS)})'
        head = register(self.right, RX_MD_HEAD)
        tail = register(self.right, RX_MD_TAIL)
        old = self.right.out(head)
        # Unless a frame came meanwhile.
        self.right.wait_for(f't=$({tail}); {head} $t; [ $({tail}) = $t ]')
        before = counter(self.left, 'pfc_rx')
        lost = counter(self.right, 'drop_rx3')
        jobs = [self.left.spawn(f'ping -n -q -c 1 -W 600 {RIGHT}', 600)]
        until = deadline(60)
        while counter(self.left, 'pfc_rx') == before:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        jobs.append(self.left.spawn(f'ping -n -q -c 40 -i 0.01 -W 600 {RIGHT}',
                                    600))
        self.left.wait_for(f'[ $(({status} >> 30 & 1)) = 1 ]')
        seen = counter(self.left, 'pfc_rx')
        self.right.run(f'{head} {old}')
        for job in jobs:
            self.assertIn(' 0% packet loss', job.wait().out)
        self.assertGreater(counter(self.left, 'pfc_rx'), seen)
        self.assertEqual(counter(self.right, 'drop_rx3'), lost)
        self.end(programs)

    def test_3_groups(self):
        """multicast is held back by credits, and beside PFC"""
        for flow, num in (('cbfc', 2000), ('cbfc -f lite', 2000),
                          ('pfc', RING)):
            options = f'-n {num} -g 5 -c {flow} -s 700 group'
            server = Receiver(self.right, options)
            self.left.run(f'rclink-perf {options}', 120)
            self.assertEqual(server.result()['received'], str(num))

    def test_4_figures(self):
        """latency and bandwidth; a rate is kept"""
        lat, _ = self.pair('lat', '-n 500 -s 64')
        print(f"# one way {lat['us']} us, 99 % {lat['us99']} us")
        bw, _ = self.pair('bw', '-n 20000')
        print(f"# {bw['MBps']} MB/s")
        # Who sleeps is woken for the last acknowledgement, too, at both ends.
        self.pair('lat', '-n 200 -s 64 -w')
        # 65536 bytes in each window of 65.536 ms: 1 MB/s, or less on a host that
        # stands still meanwhile.
        slow, _ = self.pair('bw', '-n 1500 -r 65536')
        print(f"# {slow['MBps']} MB/s")
        self.assertLess(float(slow['MBps']), 1.3)

    def test_4_sleep(self):
        """who sleeps until there is room or a message is always woken"""
        for flow in ('pfc', 'cbfc'):
            self.pair('bw', f'-n 20000 -w -c {flow} -t 60')

    def test_4_read(self):
        """a read() with too little room fetches no messages of rings, the next one all"""
        count = ("awk '/rclink-ring0/ { for (i = 2; i <= NF; i++) n += $i } "
                 "END { print n + 0 }' /proc/interrupts")
        arm = register(self.left, TX_ARM, 1)    # its index is 0: a message at once
        out = self.left.out(f'''(
            exec 3< $(ls /dev/rclink-*)
            for message in 1 2; do
                was=$({count})
                {arm}
                for i in $(seq 100); do
                    [ $({count}) -gt $was ] && break
                    sleep 0.1
                done
            done
            for bytes in 1 3; do
                dd bs=$bytes count=1 <&3 2>&1 | grep -o 'Invalid argument'
            done
            n=0
            for i in $(seq 100); do
                n=$((n + $(dd bs=8 count=1 <&3 2>/dev/null | od -An -tu4)))
                [ $n -ge 2 ] && break
                sleep 0.1
            done
            echo $n
            )''', 60)
        self.assertEqual(out.split('\n'),
                         ['Invalid argument', 'Invalid argument', '2'])

    def test_5_two(self):
        """a port belongs to one program; TYPE3 goes on beside it"""
        server = Receiver(self.right, f'-p {MACS[0]} -n 3000 pattern')
        second = self.right.run(f'rclink-perf -p {MACS[0]} -n 1 -l pattern',
                                check=False)
        self.assertEqual(second.status, 1)
        self.assertIn('busy', second.err)
        job = self.left.spawn(f'rclink-perf -p {MACS[1]} -n 3000 pattern', 60)
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 100 -s 1000'),
                         (100, 100))
        job.wait()
        self.assertEqual(server.result()['received'], '3000')

    def test_6_kill(self):
        """a program that is killed leaves nothing behind"""
        server = Receiver(self.right, f'-p {MACS[0]} -n 100000000 '
                          '-c cbfc bw')
        job = self.left.spawn(f'rclink-perf -p {MACS[1]} -n 100000000 '
                              '-c cbfc bw', 60)
        start = counter(self.right, 'rx_type1')
        until = deadline(60)
        while counter(self.right, 'rx_type1') <= start:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.right.run(f'kill -9 {server.pid()}')
        server.job.wait(check=False)
        # Without credits, then without answers, the sender cannot go on.
        self.left.run('kill -9 $(pidof rclink-perf)')
        self.assertNotEqual(job.wait(check=False).status, 0)
        net.reachable(self.left, RIGHT)
        self.pattern(2000, '-q 4')
        self.pattern(2000, '-q 4 -c pfc')

    def test_7_unbind(self):
        """a program outlives its device; the module is in use as long"""
        server = Receiver(self.right, f'-p {MACS[0]} -n 1000 -t 3 pattern')
        busy = self.right.run('rmmod rclink', check=False)
        self.assertNotEqual(busy.status, 0)
        dev = self.right.dev
        pci = self.right.out(f'basename $(readlink /sys/class/net/{dev}/'
                             'device)')
        self.right.run(f'echo {pci} > /sys/bus/pci/drivers/rclink/unbind')
        # It goes on polling memory, or waits and is told; no signal ends it.
        self.assertEqual(server.job.wait(check=False).status, 1)
        self.assertRegex(self.right.out(f'cat {server.log}'),
                         'nothing happened|Input/output error')
        self.right.run(f'echo {pci} > /sys/bus/pci/drivers/rclink/bind')
        server = Receiver(self.right, f'-p {MACS[0]} -n 1000 -w pattern')
        self.right.run(f'echo {pci} > /sys/bus/pci/drivers/rclink/unbind')
        self.assertEqual(server.job.wait(check=False).status, 1)
        self.assertIn('Input/output error',
                      self.right.out(f'cat {server.log}'))
        self.right.run(f'echo {pci} > /sys/bus/pci/drivers/rclink/bind')
        self.right.run('rmmod rclink')
        self.right.run('modprobe rclink || '
                       'insmod $(find / -name rclink.ko | head -n 1)')
        self.right.dev = net.interface(self.right, MODEL)
        net.static(self.right, self.right.dev, RIGHT + '/24')
        net.reachable(self.right, LEFT)
        self.pattern(1000)

    def test_8_reset(self):
        """a reset of the function is told to the program that has it open"""
        server = Receiver(self.right, f'-p {MACS[0]} -n 1000 -w -t 100 '
                          'pattern')
        self.right.run('echo 1 > '
                       f'/sys/class/net/{self.right.dev}/device/reset')
        self.assertEqual(server.job.wait(check=False).status, 1)
        self.assertIn('Input/output error',
                      self.right.out(f'cat {server.log}'))
        net.reachable(self.right, LEFT)
        self.pattern(1000)

    def test_9_kernels(self):
        """the kernels complain of nothing, the device of no rule"""
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())

    def test_9b_stuck(self):
        """a port that sends nothing though nothing holds it is started anew; of that
        the kernel complains"""
        restarts = stat(self.left, 'restarts')
        self.left.run(register(self.left, NONR_DMA_CTRL, NONR_RX_EN))
        flood = self.flood()
        wait_stat(self.left, 'restarts', f'-eq {restarts + 1}')
        self.left.run('touch /tmp/stop')
        flood.wait()
        net.reachable(self.left, RIGHT)
        self.assertIn('NETDEV WATCHDOG', ' '.join(self.left.kernel_complaints()))
        self.assertEqual(counter(self.left, 'guest_errors'), 0)

    def test_9c_behind(self):
        """what waits behind the ring of such a port goes when that is started anew,
        though nobody sends more"""
        for guest, ip, mac in ((self.left, RIGHT, MACS[1]),
                               (self.right, LEFT, MACS[0])):
            # Nobody speaks unasked, nor asks.
            guest.run(f'echo 1 > /proc/sys/net/ipv6/conf/{guest.dev}/disable_ipv6; '
                      f'ip neigh replace {ip} lladdr {mac} dev {guest.dev} '
                      'nud permanent')
        restarts = stat(self.left, 'restarts')
        self.left.run(register(self.left, NONR_DMA_CTRL, NONR_RX_EN))
        self.left.run(f'ping -n -q -f -c 400 -s 18 -W 1 {RIGHT}; :', 120)
        wait_stat(self.left, 'restarts', f'-eq {restarts + 1}')
        self.left.wait_for(f'tc -s qdisc show dev {self.left.dev} | '
                           'grep -q "backlog 0b 0p"', 60)
        net.reachable(self.left, RIGHT)


class Relay(threading.Thread):
    """Two chardevs' frames, each way; congested: those of TYPE1 that carry data
    are marked on their way from the first."""

    def __init__(self, paths):
        super().__init__(daemon=True)
        self.congested = False
        self.marked = 0
        self.listeners = []
        for path in paths:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            listener.listen(1)
            self.listeners.append(listener)
        self.start()

    def run(self):
        ends = [listener.accept()[0] for listener in self.listeners]
        buf = [b'', b'']
        while True:
            for end in select.select(ends, [], [])[0]:
                i = ends.index(end)
                data = end.recv(1 << 16)
                if not data:
                    return
                buf[i] += data
                out, buf[i] = self.frames(buf[i], i == 0)
                try:
                    ends[1 - i].sendall(out)
                except OSError:
                    return

    def frames(self, data, first):
        """What of @data is whole, marked; and the rest."""
        out = []
        while len(data) >= 4:
            n = 4 + int.from_bytes(data[:4], 'big')
            if len(data) < n:
                break
            frame, data = data[4:n], data[n:]
            if self.congested and first:
                frame = self.mark(frame)
            out.append(len(frame).to_bytes(4, 'big') + frame)
        return b''.join(out), data

    def mark(self, frame):
        # IPv4, UDP to 4791, opcode SEND (RC Link 4.9)
        if frame[12:15] != b'\x08\x00E' or frame[23] != 17 or \
                frame[36:38] != (4791).to_bytes(2, 'big') or frame[42] >> 6:
            return frame
        head = bytearray(frame[14:34])
        head[1] |= 3
        head[10:12] = b'\0\0'
        total = sum(struct.unpack('>10H', head))
        total = (total & 0xffff) + (total >> 16)
        total = (total & 0xffff) + (total >> 16)
        head[10:12] = (total ^ 0xffff).to_bytes(2, 'big')
        self.marked += 1
        return frame[:14] + bytes(head) + frame[34:]

    def close(self):
        for listener in self.listeners:
            listener.close()


class Wide(unittest.TestCase):
    """Two guests; somebody between them looks at their frames."""

    @classmethod
    def setUpClass(cls):
        need()
        guests = [make(name, '', i, ',payload=4096,shm=off')
                  for i, name in enumerate(('left', 'right'))]
        cls.left, cls.right = guests
        cls.relay = Relay([g.dir / 'wire' for g in guests])
        cls.addClassCleanup(cls.relay.close)
        for guest in guests:
            wire = stream_chardev(guest.dir / 'wire', reconnect_ms=100)
            guest.nics = [(wire, guest.nics[0][1])]
            cls.addClassCleanup(guest.close)
            guest.start()
        for guest, ip in ((cls.left, LEFT), (cls.right, RIGHT)):
            guest.wait_ready()
            guest.dev = net.interface(guest, MODEL)
            net.static(guest, guest.dev, ip + '/24')
            guest.wait_for('ls /dev/rclink-*')
        net.reachable(cls.left, RIGHT)

    def pattern(self, num, options=''):
        options = f'-n {num} -t 60 {options} pattern'
        server = Receiver(self.right, f'-p {MACS[0]} {options}')
        out = self.left.out(f'rclink-perf -p {MACS[1]} {options}')
        self.assertEqual(int(server.result()['received']), num)
        return values(out)

    def test_1_mark(self):
        """congestion on the way comes back as CNPs, and times as they are"""
        sent = self.pattern(1600, '-a -q 4')
        self.assertEqual(sent['cnps'], '0')
        self.assertGreater(int(sent['rtts']), 0)
        self.assertGreater(int(sent['rtt']), 0)
        self.relay.congested = True
        sent = self.pattern(1600, '-a -q 4')
        self.relay.congested = False
        self.assertGreaterEqual(self.relay.marked, 1600)
        self.assertGreater(int(sent['cnps']), 0)
        self.assertGreater(counter(self.right, 'tx_cnp'), 0)
        sent = self.pattern(1600, '-a -q 4')
        self.assertEqual(sent['cnps'], '0')

    def test_2_overrun(self):
        """all QPs at once, long messages, and nothing that holds them back"""
        self.pattern(3000, '-q 1024 -s 4096 -R 400,15')

    def test_9_kernels(self):
        """the kernels complain of nothing, the devices of no rule"""
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())


class Multicast(unittest.TestCase):
    """Four guests on an Ethernet."""

    @classmethod
    def setUpClass(cls):
        need()
        cls.hub = Gateway(NOBODY)
        cls.addClassCleanup(cls.hub.close)
        cls.guests = []
        for i, name in enumerate(('one', 'two', 'three', 'four')):
            guest = make(name, cls.hub.netdev(i), i)
            cls.addClassCleanup(guest.close)
            cls.guests.append(guest.start())
        for i, guest in enumerate(cls.guests):
            guest.wait_ready()
            guest.wait_for('ls /dev/rclink-*')
            cls.hub.open(i)
        for guest in cls.guests:
            guest.dev = net.interface(guest, MODEL)
            guest.run(f'ip link set {guest.dev} up')
            guest.wait_for(f'[ $(cat /sys/class/net/{guest.dev}/carrier) '
                           '= 1 ]')

    def test_1_three(self):
        """what one sends to a group, three receive whole and in order"""
        for form in ('standard', 'gen1', 'gen2', 'lite'):
            options = f'-n {RING} -g 3 -f {form} -s 700 group'
            servers = [Receiver(g, options) for g in self.guests[1:]]
            self.guests[0].run(f'rclink-perf {options}', 120)
            for server in servers:
                self.assertEqual(server.result()['received'], str(RING))

    def test_2_beside(self):
        """reliable messages of two pairs in each format reach their port alone"""
        one, two, three, four = self.guests
        for form, num in (('standard', 1000), ('gen1', 1000), ('gen2', 1000),
                          ('lite', RING)):
            before = [counter(g, 'rx_type1') for g in self.guests]
            options = f'-n {num} -q 4 -R 4000,15 -f {form} pattern'
            servers = [Receiver(two, f'-p {MACS[0]} {options}'),
                       Receiver(four, f'-p {MACS[2]} {options}')]
            job = three.spawn(f'rclink-perf -p {MACS[3]} {options}', 120)
            one.run(f'rclink-perf -p {MACS[1]} {options}', 120)
            job.wait()
            for server in servers:
                self.assertEqual(server.result()['received'], str(num), form)
            self.assertEqual([counter(g, 'rx_type1') - n
                              for g, n in zip(self.guests, before)],
                             [0, num, 0, num], form)

    def test_3_frames(self):
        """each reaches each by TYPE3, and no frame is lost"""
        for i, guest in enumerate(self.guests):
            net.static(guest, guest.dev, f'10.3.0.{i + 1}/24')
        for guest in self.guests:
            for i, other in enumerate(self.guests):
                if other is guest:
                    continue
                address = f'10.3.0.{i + 1}'
                net.reachable(guest, address)
                self.assertEqual(net.ping(guest, address, '-c 20 -i 0.01 -s 1000'),
                                 (20, 20), self.losses())
                # Who is asked answers, once, with what it was sent.
                out = guest.run(f'ping -n -c 20 -i 0.01 -s 1400 {address}',
                                check=False).out
                self.assertNotRegex(out, 'wrong|DUP|duplicates|Unreachable')

    def losses(self):
        names = ('tx_type3', 'rx_type3', 'drop_rx3', 'drop_rx3_off', 'drop_short',
                 'dma_errors', 'wire_full')
        return [{n: counter(guest, n) for n in names} for guest in self.guests]

    def test_9_kernels(self):
        """the kernels complain of nothing, the devices of no rule"""
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())


if __name__ == '__main__':
    tap.main()
