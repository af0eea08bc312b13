# SPDX-License-Identifier: GPL-2.0-or-later
"""Two booted guests on a UB link: IP over UB, bit errors, lost lanes, TLS."""

import contextlib
import json
import socket
import time
import unittest

from guestvm import kernel, net, tap, ublink
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device

MODEL = 'ubc'
MIB = 1 << 20
HOSTS = {'left': '10.3.0.1', 'right': '10.3.0.2'}


class TwoGuests(unittest.TestCase):
    arch = {'left': 'x86_64', 'right': 'x86_64'}
    module = 'ub_net.ko'
    props = ''      # of both controllers

    @classmethod
    def setUpClass(cls):
        for arch in cls.arch.values():
            if not has_device(arch, MODEL):
                raise NotAvailable(f'qemu-system-{arch} has no device {MODEL}')
            if not any(p.name == cls.module for p in driver_modules(arch)):
                raise NotAvailable(f'{cls.module} is not built for {arch}')
        cls.guests = []
        cls.left = cls.make('left')
        cls.right = cls.make('right')
        for guest in (cls.left, cls.right):
            guest.start()
        # A port trains once both ends are up.
        for guest in (cls.left, cls.right):
            cls.ready(guest)
        for guest in (cls.left, cls.right):
            cls.carrier(guest)
        net.iperf3_serve(cls.left)

    @classmethod
    def make(cls, name):
        arch = cls.arch.get(name, cls.arch['right'])
        guest = Guest(name, arch,
                      kern=kernel.other(arch) if name == 'right' else None)
        cls.addClassCleanup(guest.close)
        cls.guests.append(guest)
        if name == 'left':
            cls.wire = cls.new_wire(guest)
            end = 'server=on,wait=off'
        else:
            end = 'reconnect-ms=100'
        guest.args = cls.secrets(guest, server=name == 'left') + [
            '-chardev', f'socket,id=ubwire,{cls.wire},{end}']
        device = f'{MODEL},id=ub,chardev0=ubwire{cls.props}'
        if name == 'right':
            # One end in the main loop, the other one in a thread of its own.
            guest.args += ['-object', 'iothread,id=io']
            device += ',iothread=io'
        guest.devices = [device]
        return guest

    @staticmethod
    def new_wire(guest):
        """Options of the socket that both ends have in common."""
        return f'path={guest.dir}/ub'

    @staticmethod
    def secrets(guest, server):
        """Options that define the credentials of the wire."""
        return []

    @classmethod
    def ready(cls, guest):
        guest.wait_ready()
        guest.dev = net.interface(guest, MODEL)
        guest.run(f'ip addr add {HOSTS[guest.name]}/24 dev {guest.dev}\n'
                  f'ip link set {guest.dev} up')

    @staticmethod
    def carrier(guest, value=1):
        guest.wait_for(f'grep -q {value} /sys/class/net/{guest.dev}/carrier')

    def disturb(self, **fault):
        """Set a fault on every lane of both ends, or none; the counters."""
        for guest in (self.left, self.right):
            ublink.disturb(guest, **fault)
        return [ublink.counters(g) for g in (self.left, self.right)]

    def flood(self, count=500):
        net.reachable(self.right, HOSTS['left'])
        for guest, peer in ((self.right, 'left'), (self.left, 'right')):
            self.assertEqual(net.ping(guest, HOSTS[peer], f'-f -c {count}'),
                             (count, count))

    def transfer(self, size=8 * MIB):
        """TCP both ways; every byte is acknowledged or it raises."""
        for way in ('', '-R'):
            end = net.iperf3(self.right, HOSTS['left'],
                             f'-n {size} {way}')['end']
            self.assertGreaterEqual(end['sum_sent']['bytes'], size)
            rate = end['sum_received']['bits_per_second'] / 1e6
            print(f'# iperf3 {way or "forward"}: {rate:.1f} Mbit/s')

    def more_packets(self, guest, count):
        """Wait until a guest has received so many more packets."""
        packets = ublink.counters(guest)['rx_packets']
        until = deadline(60)
        while ublink.counters(guest)['rx_packets'] < packets + count:
            self.assertLess(time.monotonic(), until, ublink.state(guest))
            time.sleep(0.05)

    def check_kernels(self):
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_link(self):
        """the link trains and the driver has carrier"""
        for guest in (self.left, self.right):
            link = ublink.state(guest)
            self.assertTrue(link['link-up'], link)
            self.assertEqual((link['tx-width'], link['rx-width']), (8, 8))
            kind = guest.out(f'cat /sys/class/net/{guest.dev}/type')
            self.assertEqual(kind, '38')    # ARPHRD_UB
        self.assertNotEqual(ublink.state(self.left)['primary'],
                            ublink.state(self.right)['primary'])

    def test_1b_configuration_space(self):
        """the configuration space is a sparse file in sysfs"""
        self.assertEqual(ublink.config(self.left, 0), 0x2c << 4)
        status = [ublink.config(self.left, ublink.PORT_LINK + 4 * dword)
                  for dword in (0xc0, 0xc1)]
        self.assertEqual([status[0] & 3, status[1] >> 4 & 0x1f], [3, 8])
        self.assertEqual(ublink.config(self.left, 0x27fffc), 0)

    def test_1c_monitor(self):
        """info ub names the states"""
        text = self.left.qmp.command('human-monitor-command',
                                     **{'command-line': 'info ub'})
        self.assertIn('LMSM link-active, DLL dll-normal', text)

    def test_2_ping(self):
        """ping flood loses nothing, either way"""
        self.flood()

    def test_3_ipv6(self):
        """IPv6 over the link"""
        self.right.run(f'ip addr add fd00::2/64 dev {self.right.dev} nodad')
        self.left.run(f'ip addr add fd00::1/64 dev {self.left.dev} nodad')
        self.assertEqual(net.ping(self.right, 'fd00::1', '-f -c 100'),
                         (100, 100))

    def test_4_iperf3(self):
        """iperf3 both ways"""
        self.transfer()
        self.check_kernels()

    def again(self, guest):
        """The interface is there anew, or never went: traffic goes on."""
        guest.dev = net.interface(guest, MODEL)
        guest.run(f'ip addr replace {HOSTS[guest.name]}/24 dev {guest.dev}\n'
                  f'ip link set {guest.dev} up')
        for end in (self.left, self.right):
            self.carrier(end)
        self.flood()
        self.check_kernels()

    def test_4b_one_vector(self):
        """the driver works with one vector, and with one a source again"""
        for words, lines in (('max_vectors=1', 1), ('', 4)):
            self.left.run('rmmod ub_net ub_urma ub_mem ub_core\n'
                          f'modprobe ub_core {words}\nmodprobe ub_net')
            self.again(self.left)
            self.assertEqual(self.left.out(
                f'grep -c "ub_core\\|{self.left.dev}-" /proc/interrupts'),
                str(lines))

    def test_4c_reset(self):
        """somebody resets the function: the drivers go on"""
        self.left.run('echo 1 > '
                      f'/sys/class/net/{self.left.dev}/device/../reset')
        self.again(self.left)

    def test_4d_reset_down(self):
        """resets, and the interface goes down and up between their two halves"""
        dev = self.left.dev
        net_dir = f'/sys/class/net/{dev}'
        pci = self.left.out(f'readlink -f {net_dir}/device/..')
        # Its speed is not told between them, and it cannot go up: if it is so
        # still when it has gone down, that was between them.
        self.left.run(f'''for i in $(seq 40); do
            echo 1 > {pci}/reset & job=$!
            while kill -0 $job && cat {net_dir}/speed; do :; done
            ip link set {dev} down
            ip link set {dev} up || echo $i >> /tmp/between
            wait
            ip link set {dev} up
            until cat {net_dir}/speed; do sleep 0.1; done
            [ $i -lt 4 ] || [ ! -e /tmp/between ] || break
        done > /dev/null 2>&1''', 300)
        self.left.run('rm /tmp/between')    # it was, once at least
        self.again(self.left)

    def test_5_bit_errors(self):
        """bit errors at 1e-6 on every lane: nothing is lost"""
        before = self.disturb(ber=1e-6)
        self.flood()
        self.transfer()
        after = self.disturb()
        for guest, old, new in zip((self.left, self.right), before,
                                   after):
            self.assertGreater(new['fec_corrected'], old['fec_corrected'],
                               guest.name)

    def test_5b_bursts(self):
        """bursts beyond the FEC: blocks are sent again, nothing is lost"""
        before = self.disturb(ber=1e-7, burst=300)
        self.transfer()
        after = self.disturb()
        self.assertGreater(sum(c['flits_resent'] for c in after),
                           sum(c['flits_resent'] for c in before))
        self.flood()

    def test_5c_changes(self):
        """width and rate change while TCP runs with bit errors at 1e-6:
        nothing is lost above the data link layer"""
        before = self.disturb(ber=1e-6)
        job = self.right.spawn(
            'rm -f /tmp/stop\n'
            f'iperf3 -J -i 1 -c {HOSTS["left"]} -t 3600 > /tmp/changes &\n'
            'until [ -e /tmp/stop ]; do sleep 0.1; done\n'
            'kill -INT $!; wait $!; cat /tmp/changes', 400)
        self.right.wait_for('ss -Htn dport = 5201 | grep -q ESTAB')
        for rate, width in ((8, 4), (8, 8), (4, 8), (8, 8), (8, 1), (8, 8)):
            ublink.retarget(self.left, self.right, rate, width)
            # Traffic goes on at the new setting.
            self.more_packets(self.left, 100)
        self.right.run('touch /tmp/stop')
        report = json.loads(job.wait(check=False).out)
        self.assertGreater(sum(i['sum']['bytes'] for i in report['intervals']),
                           MIB)
        after = self.disturb()
        for old, new in zip(before, after):
            self.assertGreater(new['fec_corrected'], old['fec_corrected'])
            for name in ('link_downs', 'tx_errors'):
                self.assertEqual(new[name], old[name], name)
        self.flood()
        self.check_kernels()

    def test_6_lane_lost(self):
        """a lane is cut while TCP runs: the link goes on, narrower, and
        nothing is lost"""
        before = ublink.counters(self.right)
        size = 64 * MIB
        job = self.right.spawn(
            f'iperf3 -J -c {HOSTS["left"]} -n {size} -b 100M', 300)
        self.more_packets(self.left, 100)
        ublink.inject(self.left, 7, cut=True)
        until = deadline(60)
        while ublink.state(self.right)['rx-width'] == 8:
            self.assertLess(time.monotonic(), until, 'the cut is not seen')
            time.sleep(0.05)
        # The link came back and what was under way goes on over it.
        self.more_packets(self.left, 1000)
        self.assertFalse(job.finished, 'it ended before the cut')
        report = json.loads(job.wait().out)
        self.assertGreaterEqual(report['end']['sum_sent']['bytes'], size)
        link = ublink.state(self.right)
        print(f'# width after the cut: {link["rx-width"]}')
        self.assertTrue(link['link-up'])
        self.assertIn(link['rx-width'], (1, 2, 4))
        after = ublink.counters(self.right)
        for name in ('link_downs', 'tx_errors'):
            self.assertEqual(after[name], before[name], name)
        self.flood()
        ublink.inject(self.left, 7)
        self.check_kernels()

    def test_7_peer_restarts(self):
        """the peer's QEMU is killed: carrier drops; started again: returns"""
        self.right.kill()
        self.carrier(self.left, 0)
        cls = type(self)
        cls.right = cls.make('right').start()
        self.ready(cls.right)
        self.carrier(cls.right)
        self.carrier(self.left)
        self.flood()
        self.check_kernels()

    def test_9_migration(self):
        """a guest moves to another QEMU while TCP runs: the link trains
        anew and every byte arrives"""
        cls = type(self)
        source = self.right
        target = cls.make('moved')
        target.dev = source.dev
        target.incoming = f'unix:{target.dir}/incoming'
        target.start()
        # Held back, so that it outlasts the move on any host: an answer that
        # leaves before is one to the QEMU that goes away.
        size = 96 * MIB
        job = source.spawn(
            f'iperf3 -J -c {HOSTS["left"]} -n {size} -b 100M', 300)
        before = ublink.counters(self.left)['rx_bytes']
        until = deadline(60)
        while ublink.counters(self.left)['rx_bytes'] < before + MIB:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        job.moved(target)
        source.migrate_to(target, target.incoming)
        source.kill()
        cls.guests.remove(source)
        cls.right = target
        self.carrier(target)
        report = json.loads(job.wait().out)
        self.assertGreaterEqual(report['end']['sum_sent']['bytes'], size)
        self.flood()
        self.check_kernels()


class UnlikeEnds(TwoGuests):
    """An arm64 and an x86_64 guest, the wire under TLS with a shared key, controllers
    that guard a partition of their own."""
    arch = {'left': 'aarch64', 'right': 'x86_64'}
    props = ',guard=on,npi=0xb0b'
    test_1b_configuration_space = None
    test_5b_bursts = None
    test_5c_changes = None
    test_6_lane_lost = None
    test_9_migration = None

    @classmethod
    def new_wire(cls, guest):
        with socket.create_server(('127.0.0.1', 0)) as free:
            cls.place = free.getsockname()
        return f'host={cls.place[0]},port={cls.place[1]},tls-creds=tls'

    @staticmethod
    def secrets(guest, server):
        keys = guest.dir / 'tls'
        keys.mkdir(exist_ok=True)
        (keys / 'keys.psk').write_text(f'ub:{"5a" * 16}\n')
        end = 'server' if server else 'client,username=ub'
        return ['-object', f'tls-creds-psk,id=tls,dir={keys},endpoint={end}']

    def transfer(self, size=2 * MIB):
        super().transfer(size)

    def test_8_stranger(self):
        """a peer without the key gets no link, and the right one comes back"""
        self.right.kill()
        self.carrier(self.left, 0)
        with socket.create_connection(self.place, 30) as stranger:
            stranger.sendall(bytes(4096))
            with contextlib.suppress(ConnectionResetError):
                while stranger.recv(4096):      # an alert, then the end
                    pass
        self.assertFalse(ublink.state(self.left)['link-up'])
        cls = type(self)
        cls.right = cls.make('right').start()
        self.ready(cls.right)
        self.carrier(cls.right)
        self.carrier(self.left)
        self.flood(100)


if __name__ == '__main__':
    tap.main()
