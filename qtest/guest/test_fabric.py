# SPDX-License-Identifier: GPL-2.0-or-later
"""Four booted guests behind one ub-switch: IP between all of them."""

import itertools
import time
import unittest

from guestvm import net, tap, ublink
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.ubswitch import PROGRAM, Switch

MODEL = 'ubc'
MODULE = 'ub_net.ko'
MIB = 1 << 20
# A control frame to the group of DHCPv4, as a packet socket has it: type,
# Protocol, DGUID, SGUID (left to the sender), payload.
FRAME = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0100))
s.bind((sys.argv[2], 0x0100))
s.settimeout(30)
own = bytes.fromhex(open('/sys/class/net/%s/address' % sys.argv[2]).read()
                    .strip().replace(':', ''))
group = bytes([255]) * 14 + bytes([1, 0])
if sys.argv[1] == 'send':
    s.send(bytes([5, 1, 0]) + group + own + b'Anybody there?')
else:
    open('/tmp/listening', 'w').close()
    while True:
        data = s.recv(9000)
        if data[:3] == bytes([5, 1, 0]):
            assert data[3:19] == group, data
            print(data[19:35].hex(), data[35:].decode())
            break
"""


class FourGuests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not has_device('x86_64', MODEL):
            raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
        if not any(p.name == MODULE for p in driver_modules('x86_64')):
            raise NotAvailable(f'{MODULE} is not built for x86_64')
        if not PROGRAM.exists():
            raise NotAvailable('ub-switch is not built')
        cls.switch = Switch(4)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        cls.guests = [cls.make(n) for n in range(4)]
        for guest in cls.guests:
            guest.start()
        for guest in cls.guests:
            guest.wait_ready(300)
            guest.dev = net.interface(guest, MODEL)
            guest.run(f'ip addr add {guest.ip}/24 dev {guest.dev}\n'
                      f'ip link set {guest.dev} up')
        cls.all_up()
        for guest in cls.guests:
            net.iperf3_serve(guest)

    @classmethod
    def make(cls, n):
        guest = Guest(f'g{n}', sets=('base', 'python') if n < 3 else ('base',))
        cls.addClassCleanup(guest.close)
        guest.ip = f'10.3.0.{n + 1}'
        guest.args = ['-chardev', cls.switch.chardev(n)]
        guest.devices = [f'{MODEL},id=ub,chardev0=ubwire']
        return guest

    @classmethod
    def all_up(cls):
        """All have carrier, and the switch has a way to each."""
        for guest in cls.guests:
            guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier')
        until = deadline(30)
        want = {f'{g.ip}/32': [n] for n, g in enumerate(cls.guests)}
        while True:
            now = cls.routes()
            if want.items() <= now.items():
                return
            assert time.monotonic() < until, now
            time.sleep(0.1)

    @classmethod
    def routes(cls):
        return {r['prefix']: r['ports']
                for r in cls.switch.command('query-routes')['ip']}

    def pings(self, options='-f -c 20'):
        for a, b in itertools.permutations(self.guests, 2):
            count = int(options.split()[-1])
            self.assertEqual(net.ping(a, b.ip, options), (count, count),
                             (a.name, b.name))

    def transfer(self, a, b, size, options=''):
        end = net.iperf3(a, b.ip, f'-n {size} {options}')['end']
        self.assertGreaterEqual(end['sum_sent']['bytes'], size)
        rate = end['sum_received']['bits_per_second'] / 1e6
        print(f'# {a.name} - {b.name} {options}: {rate:.1f} Mbit/s')

    def check_kernels(self):
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_routes(self):
        """the switch knows who is where by IP notify alone"""
        for n, port in enumerate(self.switch.command('query-ports')):
            self.assertTrue(port['packets-pass'], port)
            self.assertEqual(port['edge'], 1)
            guid = self.guests[n].out(
                f'cat /sys/class/net/{self.guests[n].dev}/address')
            self.assertEqual(port['neighbor-guid'].lower(),
                             guid.replace(':', ''))

    def test_2_ping(self):
        """ping between all pairs"""
        self.pings()

    def test_3_tcp(self):
        """TCP across the switch, both ways, two pairs at a time"""
        a, b, c, d = self.guests
        job = c.spawn(f'iperf3 -J -c {d.ip} -n {4 * MIB}', 120)
        self.transfer(a, b, 4 * MIB)
        self.transfer(a, b, 4 * MIB, '-R')
        job.wait()
        self.check_kernels()

    def test_4_address(self):
        """another address is another route; it moves with the address"""
        a, b, c, _ = self.guests
        for owner in (b, c):
            owner.run(f'ip addr add 10.3.0.99/32 dev {owner.dev}')
            net.reachable(a, '10.3.0.99', 30)
            owner.run(f'ip addr del 10.3.0.99/32 dev {owner.dev}')
        for n, guest in enumerate((a, b)):
            guest.run(f'ip addr add fd00::{n + 1}/64 dev {guest.dev} nodad')
        net.reachable(b, 'fd00::1', 30)
        self.assertEqual(self.routes()['fd00::1/128'], [0])

    def test_5_control_frames(self):
        """a frame of CFG 5 from a packet socket comes to those of others"""
        a, b, c, _ = self.guests
        guid = a.out(f'cat /sys/class/net/{a.dev}/address').replace(':', '')
        jobs = []
        for guest in (a, b, c):
            guest.run(f"cat > /tmp/frame.py <<'END'\n{FRAME}\nEND")
        for guest in (b, c):
            jobs.append(guest.spawn(
                f'python3 /tmp/frame.py receive {guest.dev}', 60))
            guest.wait_for('[ -e /tmp/listening ]')
        a.run(f'python3 /tmp/frame.py send {a.dev}')
        for job in jobs:
            self.assertEqual(job.wait().out.strip(), f'{guid} Anybody there?')

    def test_6_bit_errors(self):
        """one link has bit errors at 1e-6: nothing is lost"""
        a, b, *_ = self.guests
        ublink.disturb(a, ber=1e-6)
        for lane in range(8):
            self.switch.command('inject-lane', port=0, lane=lane, ber=1e-6)
        before = ublink.counters(a)['fec_corrected']
        self.pings()
        self.transfer(a, b, 4 * MIB)
        self.transfer(a, b, 4 * MIB, '-R')
        self.assertGreater(ublink.counters(a)['fec_corrected'], before)
        ublink.disturb(a)
        for lane in range(8):
            self.switch.command('inject-lane', port=0, lane=lane)

    def test_7_switch_restarts(self):
        """the switch is killed under traffic and started again: TCP goes on"""
        a, b, c, d = self.guests
        size = 24 * MIB
        jobs = [x.spawn(f'iperf3 -J -c {y.ip} -n {size} -b 60M', 300)
                for x, y in ((a, b), (c, d))]
        before = ublink.counters(b)['rx_bytes']
        until = deadline(60)
        while ublink.counters(b)['rx_bytes'] < before + MIB:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.switch.kill()
        for guest in self.guests:
            guest.wait_for(f'grep -q 0 /sys/class/net/{guest.dev}/carrier')
        self.assertFalse(any(job.finished for job in jobs))
        self.switch.start()
        self.all_up()
        for job in jobs:
            job.wait()
        self.pings()
        self.check_kernels()

    def test_8_guest_dies(self):
        """a guest dies: the others go on"""
        self.guests[3].kill()
        until = deadline(30)
        while len(self.switch.command('query-status')['up']) != 3:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertEqual(net.ping(self.guests[0], self.guests[2].ip,
                                  '-f -c 20'), (20, 20))


if __name__ == '__main__':
    tap.main()
