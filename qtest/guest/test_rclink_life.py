# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux driver rclink beside other processors, on its way to other machines,
asleep, and with a stranger on its Ethernet."""

import random
import re
import struct
import threading
import time
import unittest

from guestvm import kernel, net, tap
from guestvm.clock import SEED, deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import Gateway, stream_chardev
from guestvm.paths import BUILD

MODEL = 'rclink'
PERF = BUILD / 'tools' / 'rclink' / 'rclink-perf'
PERF_ARM = BUILD / 'tools' / 'rclink' / 'rclink-perf-aarch64'
LEFT, RIGHT = '10.3.0.1', '10.3.0.2'
MACS = {'left': '02:00:00:00:00:0a', 'right': '02:00:00:00:00:0b'}
# What is behind the hub: slirp would answer for our addresses.
NOBODY = 'socket,udp=127.0.0.1:9,localaddr=127.0.0.1:0'
STRANGER = bytes.fromhex('02000000000c')


def need(*arches):
    """Raise NotAvailable where there is nothing to test with."""
    for arch in arches or ('x86_64',):
        if not has_device(arch, MODEL):
            raise NotAvailable(f'qemu-system-{arch} has no device {MODEL}')
        if not any('rclink' in str(m) for m in driver_modules(arch)):
            raise NotAvailable(f'rclink.ko is not built for {arch}')


def program(perf):
    return {'/usr/bin/rclink-perf': perf} if perf.exists() else None


def nic(name):
    return f'{MODEL},id=nic,mac={MACS[name]}'


def counter(guest, name):
    return guest.qmp.command('qom-get', path='/machine/peripheral/nic',
                             property=f'counter-{name}')


class Case(unittest.TestCase):
    """Two guests, left and right."""

    @classmethod
    def address(cls, guest):
        guest.dev = net.interface(guest, MODEL)
        net.static(guest, guest.dev,
                   (LEFT if guest is cls.left else RIGHT) + '/24')

    @classmethod
    def chardev_pair(cls, left, right):
        """Start two guests on a wire that is a chardev."""
        cls.left, cls.right = left, right
        for guest in (left, right):
            cls.addClassCleanup(guest.close)
            wire = stream_chardev(left.dir / 'wire', server=guest is left,
                                  reconnect_ms=0 if guest is left else 100)
            guest.nics = [(wire, nic(guest.name))]
            guest.start()
        for guest in (left, right):
            guest.wait_ready()
            cls.address(guest)
        net.reachable(left, RIGHT)

    def compare(self):
        net.same_file(self.right, self.left, RIGHT)
        net.same_file(self.left, self.right, LEFT)

    def stat(self, guest, name):
        out = guest.out(f'ethtool -S {guest.dev}')
        return int(re.search(rf'^\s*{name}: (\d+)$', out, re.M).group(1))

    def check_kernels(self):
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])


class UnlikeEnds(Case):
    """An arm64 machine and an x86_64 one."""

    @classmethod
    def setUpClass(cls):
        need('aarch64', 'x86_64')
        cls.chardev_pair(
            Guest('left', 'aarch64', smp=2, kern=kernel.other('aarch64'),
                  files=program(PERF_ARM)),
            Guest('right', smp=2, files=program(PERF)))

    def test_1_frames(self):
        """frames of all sizes, files both ways"""
        for size in (0, 18, 1000, 1472):
            self.assertEqual(net.ping(self.left, RIGHT,
                                      f'-f -c 30 -s {size}'), (30, 30))
        self.compare()

    def test_2_jumbo(self):
        """the largest MTU"""
        for guest in (self.left, self.right):
            guest.run(f'ip link set {guest.dev} mtu 4078')
        self.assertEqual(net.ping(self.right, LEFT, '-f -c 30 -s 4050'),
                         (30, 30))
        self.compare()

    def test_3_again(self):
        """down and up, unbound and bound, reset"""
        dev = self.left.dev
        self.left.run(f'ip link set {dev} down; ip link set {dev} up')
        net.reachable(self.left, RIGHT)
        self.left.run(f'echo 1 > /sys/class/net/{dev}/device/reset')
        net.reachable(self.left, RIGHT)
        pci = self.left.out(f'basename $(readlink /sys/class/net/{dev}/device)')
        self.left.run(f'cd /sys/bus/pci/drivers/rclink; echo {pci} > unbind; '
                      f'echo {pci} > bind')
        self.address(self.left)
        net.reachable(self.left, RIGHT)
        self.compare()

    def perf(self, sender, receiver, test, options):
        """rclink-perf from one to the other; what the receiver says."""
        if not (PERF.exists() and PERF_ARM.exists()):
            self.skipTest('rclink-perf is not built for both machines')
        peer = ('' if test == 'group' else
                f'-p {MACS[sender.name]} ', f'-p {MACS[receiver.name]} ')
        receiver.run('rm -f /tmp/log')
        server = receiver.spawn(f'rclink-perf -l {peer[0]} {options} -t 60 {test} '
                                '> /tmp/log 2>&1', 180)
        receiver.wait_for('grep -q ready /tmp/log')
        sender.run(f'rclink-perf {peer[1] if peer[0] else ""} {options} -t 60 '
                   f'{test}', 180)
        done = server.wait(check=False)
        out = receiver.out('cat /tmp/log')
        self.assertEqual(done.status, 0, out)
        return out

    def test_4_messages(self):
        """TYPE1 both ways, in each format, with credits and with pauses"""
        for guest in (self.left, self.right):
            guest.wait_for('ls /dev/rclink-*')
        for sender, receiver in ((self.left, self.right),
                                 (self.right, self.left)):
            for options in ('-f standard -q 8', '-f gen1 -q 4 -c cbfc',
                            '-f gen2 -q 64 -s 333 -c pfc', '-w -q 3 -s 64',
                            '-f lite -q 4 -c cbfc'):
                with self.subTest(sender=sender.name, options=options):
                    self.assertIn('received=2000', self.perf(
                        sender, receiver, 'pattern', f'-n 2000 {options}'))

    def test_5_groups(self):
        """TYPE2 both ways: no more than the ring has, so nobody loses any"""
        for sender, receiver in ((self.left, self.right),
                                 (self.right, self.left)):
            for form in ('standard', 'gen1', 'gen2', 'lite'):
                with self.subTest(sender=sender.name, form=form):
                    self.assertIn('received=256', self.perf(
                        sender, receiver, 'group',
                        f'-n 256 -g 2 -s 700 -f {form}'))

    def test_6_loss(self):
        """1 % of the frames is lost both ways, and no message"""
        for value in (10000, 0):
            for guest in (self.left, self.right):
                guest.qmp.command('qom-set', path='/machine/peripheral/nic',
                                  property='fault-out-drop-ppm', value=value)
            if value:
                self.assertIn('received=4000', self.perf(
                    self.left, self.right, 'pattern', '-n 4000 -q 8'))

    def test_9_kernels(self):
        """the kernels complain of nothing, the devices of no rule"""
        self.check_kernels()
        for guest in (self.left, self.right):
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())


class Moves(Case):
    """A guest moves to another QEMU, of which its driver knows nothing."""

    def setUp(self):
        need()
        if not PERF.exists():
            raise NotAvailable(f'{PERF} is not built')
        self.hub = Gateway(NOBODY)
        self.addCleanup(self.hub.close)
        cls = type(self)
        cls.left, cls.right = self.make('left', 0), self.make('right', 1)
        for port, guest in enumerate((self.left, self.right)):
            guest.start()
            guest.wait_ready()
            self.hub.open(port)
            self.address(guest)
            guest.wait_for('ls /dev/rclink-*')
        net.reachable(self.left, RIGHT)

    def make(self, name, port):
        guest = Guest(name, smp=2, files={'/usr/bin/rclink-perf': PERF},
                      nics=[(self.hub.netdev(port), nic(name))])
        self.addCleanup(guest.close)
        return guest

    def move(self, *jobs):
        """The left guest moves to another port of the hub, which is opened when
        it is there, and to a device without a link: the driver is told."""
        source, target = self.left, self.make('left', 2)
        target.incoming = f'unix:{target.dir}/incoming'
        target.dev = source.dev
        target.start()
        target.qmp.command('set_link', name='net0', up=False)
        for job in jobs:
            job.moved(target)
        source.migrate_to(target, target.incoming)
        source.kill()
        type(self).left = target
        carrier = f'cat /sys/class/net/{target.dev}/carrier'
        target.wait_for(f'[ $({carrier}) = 0 ]')
        self.hub.open(2)
        target.qmp.wait_event('NETDEV_STREAM_CONNECTED', 60)
        target.qmp.command('set_link', name='net0', up=True)
        target.wait_for(f'[ $({carrier}) = 1 ]')
        return target

    def test_messages(self):
        """messages of TYPE1 that are under way arrive once and in order"""
        # At this rate they take 20 s however fast the machine is; and a guest that
        # writes no faster can be copied.
        num, messages_in_window = 24000, 10
        options = (f'-n {num} -q 8 -s 1344 -r {1344 * messages_in_window} '
                   '-R 4000,15 -t 60 -w pattern')
        server = self.right.spawn(
            f'rclink-perf -l -p {MACS["left"]} {options} > /tmp/log 2>&1', 180)
        self.right.wait_for('grep -q ready /tmp/log')
        job = self.left.spawn(f'rclink-perf -p {MACS["right"]} {options}', 180)
        until = deadline(60)
        while counter(self.right, 'rx_type1') < 1000:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        self.move(job)
        self.assertFalse(job.finished)
        job.wait()
        server.wait()
        self.assertIn(f'received={num}', self.right.out('cat /tmp/log'))
        self.assertEqual(counter(self.right, 'rx_type1'), num)
        self.check_kernels()

    def test_stream(self):
        """a TCP connection over TYPE3 goes on where the guest has moved to"""
        self.right.run('mkdir -p /tmp/www; head -c 24000003 /dev/urandom > '
                       '/tmp/www/big; httpd -p 8080 -h /tmp/www')
        sent = self.right.out('md5sum < /tmp/www/big')
        # Up to a tenth is read as the guest moves, the rest where it has got to.
        job = self.left.spawn(
            f'set -o pipefail; wget -q -O - http://{RIGHT}:8080/big | '
            '{ n=0; while [ ! -e /tmp/go ]; do if [ $n -lt 40 ]; then '
            'dd bs=64k count=1 2>/dev/null; n=$((n + 1)); echo $n > /tmp/n; '
            'else sleep 0.1; fi; done; cat; } | md5sum', 900)
        self.left.wait_for('[ "$(cat /tmp/n)" -gt 10 ]')
        target = self.move(job)
        connection = 'ss -Htn state established "dport = :8080" | wc -l'
        self.assertEqual(target.out(connection).strip(), '1')
        self.assertFalse(job.finished)
        target.run('touch /tmp/go')
        self.assertEqual(job.wait().out.strip(), sent.strip())
        self.check_kernels()


class Sleep(Case):
    """The machines sleep (S3), once each."""

    @classmethod
    def setUpClass(cls):
        need()
        cls.chardev_pair(
            Guest('left', smp=2, append='tsc=reliable',
                  files={'/usr/bin/rclink-perf': PERF} if PERF.exists()
                  else None, kern=kernel.get('x86_64', packed=True)),
            Guest('right', smp=2, append='tsc=reliable',
                  kern=kernel.other('x86_64', packed=True) or
                  kernel.get('x86_64', packed=True)))

    def test_1_up(self):
        """with the interface up and frames that come in: traffic goes on"""
        self.left.sleep_and_wake(lambda: net.ping(
            self.right, LEFT, '-c 20 -i 0.01 -w 2'))
        net.reachable(self.left, RIGHT)
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 100'), (100, 100))
        self.compare()

    def test_2_down(self):
        """with the interface down, which comes up later"""
        self.right.run(f'ip link set {self.right.dev} down')
        self.right.sleep_and_wake()
        self.address(self.right)
        net.reachable(self.right, LEFT)
        self.compare()

    def test_9_kernels(self):
        """the kernels complain of nothing, the devices of no rule"""
        self.check_kernels()
        for guest in (self.left, self.right):
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())


class Host:
    """A host on the hub that is neither of the two: this program."""

    def __init__(self, sock):
        self.socket = sock
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        try:
            while self.socket.recv(1 << 16):
                pass
        except OSError:
            pass

    def send(self, frame):
        self.socket.sendall(struct.pack('>I', len(frame)) + frame)

    def close(self):
        self.socket.close()


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def echo_request(mac, ip, size):
    """An ICMP echo request of @size bytes of data, in one frame."""
    data = bytes(i * 7 & 0xff for i in range(size))
    icmp = struct.pack('>BBHHH', 8, 0, 0, 1, 1) + data
    icmp = icmp[:2] + struct.pack('>H', checksum(icmp)) + icmp[4:]
    head = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(icmp), 1, 0, 64, 1,
                       0, bytes([10, 3, 0, 99]), bytes(map(int, ip.split('.'))))
    head = head[:10] + struct.pack('>H', checksum(head)) + head[12:]
    return mac + STRANGER + b'\x08\x00' + head + icmp


class Stranger(Case):
    """A third host on the Ethernet, which sends what no RC Link does."""

    @classmethod
    def setUpClass(cls):
        need()
        cls.hub = Gateway(NOBODY)
        cls.addClassCleanup(cls.hub.close)
        cls.left, cls.right = (
            Guest(name, smp=2, nics=[(cls.hub.netdev(port), nic(name))],
                  kern=kernel.other('x86_64') if port else None)
            for port, name in enumerate(('left', 'right')))
        for port, guest in enumerate((cls.left, cls.right)):
            cls.addClassCleanup(guest.close)
            guest.start()
        for port, guest in enumerate((cls.left, cls.right)):
            guest.wait_ready()
            cls.hub.open(port)
            cls.address(guest)
        net.reachable(cls.left, RIGHT)
        cls.hub.open(2)
        cls.host = Host(cls.hub.connect(2))
        cls.addClassCleanup(cls.host.close)
        cls.mac = bytes.fromhex(MACS['left'].replace(':', ''))

    def echo(self, size):
        """Have the left guest find an echo request of @size bytes right; what was
        sent before has come by then."""
        echos = ("awk '$1 == \"Icmp:\" && !at { for (i = 2; i <= NF; i++) "
                 "if ($i == \"InEchos\") at = i; next } "
                 "$1 == \"Icmp:\" { print $at }' /proc/net/snmp")
        before = int(self.left.out(echos))
        self.host.send(echo_request(self.mac, LEFT, size - 42))
        self.left.wait_for(f'[ $({echos}) -gt {before} ]')

    def test_1_stopped(self):
        """a frame that is too long stops reception; the driver restarts it"""
        for n in range(1, 4):
            self.host.send(self.mac + STRANGER + b'\x99\x99' + bytes(9000))
            for guest in (self.left, self.right):
                guest.wait_for(f'ethtool -S {guest.dev} | '
                               f'grep -q "restarts: {n}$"')
            net.reachable(self.left, RIGHT)
        self.compare()

    def test_2_long(self):
        """frames that fill several buffers come in whole"""
        for size in (4096, 4097, 5000, 8191, 8192):
            self.echo(size)
        dropped = self.left.out(
            f'cat /sys/class/net/{self.left.dev}/statistics/rx_dropped')
        self.assertEqual(net.ping(self.right, LEFT, '-f -c 50'), (50, 50))
        self.assertEqual(self.left.out(
            f'cat /sys/class/net/{self.left.dev}/statistics/rx_dropped'),
            dropped)

    def test_3_lies(self):
        """lengths that lie, short frames, headers without end"""
        rand = random.Random(SEED)
        for kind in (b'\x00\x40', b'\x05\xdc', b'\x08\x00', b'\x81\x00',
                     b'\x88\x08', b'\x88\xb5', b'\x88\xb6', b'\x99\x99'):
            for _ in range(100):
                frame = (self.mac + STRANGER + kind +
                         rand.randbytes(rand.choice((0, 1, 4, 46, 200, 1500,
                                                     4200, 8000))))
                self.host.send(frame[:rand.randrange(1, len(frame) + 1)])
        # The MAC's own: pauses of all classes, credits, with any content.
        for opcode in (0x0001, 0x0101, 0xcbfc):
            for _ in range(50):
                self.host.send(bytes.fromhex('0180c2000001') + STRANGER +
                               struct.pack('>HH', 0x8808, opcode) +
                               rand.randbytes(44))
        # The device may have no room for what comes at once.
        net.reachable(self.left, RIGHT)
        self.echo(100)
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 50'), (50, 50))
        self.compare()

    def test_4_fcs(self):
        """frames with a bad FCS are counted as such and go nowhere"""
        self.left.qmp.command('qom-set', path='/machine/peripheral/nic',
                              property='fault-fcs', value=1)
        errors = (f'cat /sys/class/net/{self.left.dev}/statistics/'
                  'rx_crc_errors')
        self.host.send(echo_request(self.mac, LEFT, 100))
        self.left.wait_for(f'[ $({errors}) -ge 1 ]')
        self.left.qmp.command('qom-set', path='/machine/peripheral/nic',
                              property='fault-fcs', value=0)
        net.reachable(self.left, RIGHT)

    def test_5_dma(self):
        """descriptors that cannot be written: reception begins anew"""
        before = counter(self.left, 'dma_errors')
        self.fault_dma(1)
        self.host.send(echo_request(self.mac, LEFT, 100))
        end = deadline(30)
        while counter(self.left, 'dma_errors') == before:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.fault_dma(0)
        net.reachable(self.left, RIGHT)
        self.compare()

    def fault_dma(self, value):
        self.left.qmp.command('qom-set', path='/machine/peripheral/nic',
                              property='fault-dma', value=value)

    def test_9_kernels(self):
        """the kernels complain of nothing, the devices of no rule"""
        self.check_kernels()
        for guest in (self.left, self.right):
            self.assertEqual(counter(guest, 'guest_errors'), 0,
                             guest.qemu_output())


if __name__ == '__main__':
    tap.main()
