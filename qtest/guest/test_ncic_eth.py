# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux driver ncic_eth: what a driver must stand, over two guests."""

import re
import time
import unittest

from guestvm import kernel, net, tap
from guestvm.clock import deadline
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import stream

MODEL = 'ncic-nic'
LEFT, RIGHT = '10.2.0.1', '10.2.0.2'
JUMBO = 9000


class Driver(unittest.TestCase):
    """Two guests with two processors each on a wire (-netdev stream)."""

    @classmethod
    def setUpClass(cls):
        if not has_device('x86_64', MODEL):
            raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
        if not driver_modules('x86_64'):
            raise NotAvailable('ncic_eth.ko is not built for x86_64')
        cls.left = cls.boot('left')
        cls.right = cls.boot('right')
        for guest in cls.guests():
            guest.wait_ready()
            guest.dev = net.interface(guest, MODEL)
            cls.address(guest)
        net.iperf3_serve(cls.right)

    @classmethod
    def boot(cls, name):
        # Both are put to sleep.
        kern = name == 'right' and kernel.other('x86_64', packed=True)
        guest = Guest(name, smp=2, modules=('vxlan',), append='tsc=reliable',
                      hotplug=1,
                      kern=kern or kernel.get('x86_64', packed=True))
        cls.addClassCleanup(guest.close)
        if name == 'left':
            cls.wire = guest.dir / 'wire'
        mac = '52:54:00:00:02:01' if name == 'left' else '52:54:00:00:02:02'
        guest.nics = [(stream(cls.wire, server=name == 'left'),
                       f'{MODEL},id=nic,bus=port0,mac={mac},mtu={JUMBO}')]
        return guest.start()

    @classmethod
    def guests(cls):
        return cls.left, cls.right

    @classmethod
    def address(cls, guest):
        net.static(guest, guest.dev,
                   (LEFT if guest is cls.left else RIGHT) + '/24')

    def stats(self, guest):
        """What ethtool -S says, as {name: value}."""
        out = guest.out(f'ethtool -S {guest.dev}')
        return {name: int(value)
                for name, value in re.findall(r'^\s*(\w+): (\d+)$', out, re.M)}

    def grown(self, guest, before, pattern):
        """The counters of a pattern that have grown."""
        return {name for name, value in self.stats(guest).items()
                if re.fullmatch(pattern, name) and value > before[name]}

    def wait_grown(self, guest, pattern, what):
        """Wait until one of those counters grows."""
        before = self.stats(guest)
        until = deadline(30)
        while not self.grown(guest, before, pattern):
            self.assertLess(time.monotonic(), until, what)

    def transfer(self, options='-n 4M'):
        return net.iperf3(self.left, RIGHT, options)

    def compare(self, left=LEFT, right=RIGHT, what=''):
        """Send a file both ways and compare what arrived: with the checksums
        left to the device, TCP would not notice a wrong byte."""
        for server, client, host in ((self.right, self.left, right),
                                     (self.left, self.right, left)):
            if ':' in host:
                host = f'[{host}]'
            server.run('[ -s /tmp/www/data ] || {\n  mkdir -p /tmp/www\n'
                       '  head -c 2000003 /dev/urandom > /tmp/www/data\n'
                       '  httpd -p 8080 -h /tmp/www\n}')
            sent = server.out('md5sum < /tmp/www/data')
            self.assertEqual(client.out(
                'set -o pipefail; '
                f'wget -q -O - http://{host}:8080/data | md5sum', 60),
                sent, f'{what}: {server.name} sent')

    def serve_again(self):
        """The server may still wait for a client that is gone."""
        self.right.run('killall iperf3')
        self.right.wait_for('! pidof iperf3')
        net.iperf3_serve(self.right)

    def traffic(self):
        """Wait until data flow."""
        counter = f'/sys/class/net/{self.left.dev}/statistics/rx_packets'
        start = int(self.left.out(f'cat {counter}'))
        self.left.wait_for(f'[ $(cat {counter}) -gt {start + 500} ]')

    def fault(self, guest, name, queues):
        guest.qmp.command('qom-set', path='/machine/peripheral/nic',
                          property=name, value=queues)

    def both_ways(self):
        net.reachable(self.left, RIGHT)
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 200'), (200, 200))

    def check_guests(self):
        """The kernels complain of nothing, the emulators neither."""
        for guest in self.guests():
            self.assertEqual(guest.kernel_complaints(), [])
            self.assertEqual([line for line in
                              guest.qemu_output().splitlines()
                              if 'nic' in line.lower()], [])

    # ---- what ethtool shows --------------------------------------------------

    def test_01_self_test(self):
        """the self test passes online and offline, up and down"""
        for script in ('ethtool -t {0} online', 'ethtool -t {0} offline',
                       'ip link set {0} down; ethtool -t {0} offline'):
            out = self.left.out(script.format(self.left.dev), 60)
            self.assertIn('result is PASS', out)
            for line in out.splitlines():
                if 'offline' in line or 'online' in line:
                    self.assertRegex(line, r'\s0$')
        self.address(self.left)
        self.both_ways()

    def test_02_registers(self):
        """the register dump is that of the document"""
        raw = bytes(int(b, 16) for b in self.left.out(
            f'ethtool -d {self.left.dev} raw on | hexdump -v -e '
            '\'1/1 "%02x "\'').split())
        word = [int.from_bytes(raw[i:i + 4], 'little')
                for i in range(0, len(raw), 4)]
        self.assertEqual(word[0], 0xffff)               # FW_ID
        self.assertEqual(word[1], 0xf01)                # IF_FEATURE
        self.assertEqual(word[4:6], [32, 0x2000])       # TX queues, window
        self.assertEqual(word[8:10], [32, 0x1000])      # RX queues, window
        self.assertEqual(word[13:15], [JUMBO, JUMBO])   # TX MTU, RX MTU
        rx0 = word[15:]
        self.assertEqual(rx0[2], 0x80000009)            # active, 512 entries
        self.assertEqual(rx0[10], 0x8000000a)           # completions: 1024

    def test_03_hash(self):
        """the hash key is the hardware's, and the table follows the queues"""
        out = self.left.out(f'ethtool -x {self.left.dev}')
        self.assertIn('6d:5a:56:da:25:5b:0e:c2:41:67', out)
        self.assertRegex(out, r'with 2 RX ring')
        self.assertRegex(out, r'toeplitz: on')
        for flow, ports in ('tcp4', True), ('ah4', False), ('tcp6', False):
            fields = self.left.run(f'ethtool -n {self.left.dev} rx-flow-hash '
                                   f'{flow}').out
            self.assertEqual('IP SA' in fields, flow[-1] == '4', fields)
            self.assertEqual('L4 bytes 0 & 1' in fields, ports, fields)

    def test_04_link(self):
        """the carrier follows the link"""
        carrier = f'grep -q {{}} /sys/class/net/{self.left.dev}/carrier'
        self.left.qmp.command('set_link', name='nic', up=False)
        self.left.wait_for(carrier.format(0))
        self.left.qmp.command('set_link', name='nic', up=True)
        self.left.wait_for(carrier.format(1))
        self.both_ways()

    # ---- traffic -------------------------------------------------------------

    def test_10_multi_queue(self):
        """many connections spread over both queue pairs, both ways"""
        before = [self.stats(g) for g in self.guests()]
        for way in ('', '-R'):
            self.transfer(f'-P 8 -n 16M {way}')
        for guest, old in zip(self.guests(), before):
            self.assertEqual(self.grown(guest, old, r'rx\d_packets'),
                             {'rx0_packets', 'rx1_packets'})
            self.assertEqual(self.grown(guest, old, r'tx\d_packets'),
                             {'tx0_packets', 'tx1_packets'})
        self.check_guests()

    def test_11_jumbo(self):
        """frames up to the MTU registers, and not beyond"""
        for guest in self.guests():
            guest.run(f'ip link set {guest.dev} mtu {JUMBO}')
            self.assertNotEqual(guest.run(
                f'ip link set {guest.dev} mtu {JUMBO + 1}',
                check=False).status, 0)
        net.reachable(self.left, RIGHT)
        for size in (1473, 4096, 8191, JUMBO - 28):
            self.assertEqual(net.ping(self.left, RIGHT,
                                      f'-c 3 -i 0.01 -M do -s {size} -p 5a'),
                             (3, 3), f'{size} bytes')
        for way in ('', '-R'):
            self.transfer(f'-n 16M {way}')
        for guest in self.guests():
            guest.run(f'ip link set {guest.dev} mtu 1500')
        self.both_ways()
        self.check_guests()

    def test_12_offloads(self):
        """data arrive with each offload on and off"""
        for feature in ('tso', 'sg', 'tx', 'rx', 'gro', 'rxhash'):
            for state in ('off', 'on'):
                for guest in self.guests():
                    guest.run(f'ethtool -K {guest.dev} {feature} {state}')
                self.compare(what=f'{feature} {state}')
        self.transfer('-u -b 20M -l 600 -t 1')
        # Without SG the kernel has switched these off as well.
        for guest in self.guests():
            guest.run(f'ethtool -K {guest.dev} sg on tx on tso on gso on')
        before = self.stats(self.left)
        self.compare()
        self.assertTrue(self.grown(self.left, before, r'tx\d_tso'))

    def test_13_vlan(self):
        """tagged traffic: inserted by the stack, stripped by the device"""
        for guest, host in zip(self.guests(), ('10.3.0.1', '10.3.0.2')):
            guest.run(f'ip link add link {guest.dev} name tagged type vlan '
                      f'id 77; ip addr add {host}/24 dev tagged; '
                      'ip link set tagged up')
        net.reachable(self.left, '10.3.0.2')
        self.compare('10.3.0.1', '10.3.0.2')
        for guest in self.guests():
            guest.run('ip link del tagged')
        self.check_guests()

    def test_14_tunnel(self):
        """checksums beyond the hardware's reach: a VXLAN, also over IPv6"""
        for guest, end in zip(self.guests(), (1, 2)):
            peer = 'fd02::%d' % (3 - end)
            guest.run(f'ip addr add fd02::{end}/64 dev {guest.dev} nodad; '
                      f'ip link add tunnel type vxlan id 9 dstport 4789 '
                      f'local fd02::{end} remote {peer} '
                      'udp6zerocsumtx udp6zerocsumrx; '
                      f'ip addr add 10.4.0.{end}/24 dev tunnel; '
                      'ip link set tunnel mtu 1400 up')
        net.reachable(self.left, '10.4.0.2')
        self.compare('10.4.0.1', '10.4.0.2')
        self.compare('fd02::1', 'fd02::2')
        for guest in self.guests():
            guest.run('ip link del tunnel')
        self.check_guests()

    # ---- change and trouble under load ----------------------------------------

    def test_20_channels_and_rings(self):
        """queues and rings change while data flow"""
        job = self.left.spawn(f'iperf3 -c {RIGHT} -P 4 -t 600 --bidir', 600)
        for change in ('-L {} combined 1', '-G {} rx 128 tx 128',
                       '-L {} combined 2', '-G {} rx 2048 tx 1024'):
            for guest in self.guests():
                guest.run('ethtool ' + change.format(guest.dev))
            self.wait_grown(self.left, r'rx\d_packets', change)
        self.assertNotEqual(self.left.run(
            f'ethtool -L {self.left.dev} combined 3', check=False).status, 0)
        self.left.run('killall iperf3')
        job.wait(check=False)
        self.serve_again()
        for guest in self.guests():
            guest.run(f'ethtool -G {guest.dev} rx 512 tx 512')
        self.both_ways()
        self.check_guests()

    def test_20a_restart_under_load(self):
        """rings that start again at once, with messages still on their way"""
        jobs = [self.left.spawn(f'ping -f -s 1400 {RIGHT}', 300)
                for _ in range(2)]
        before = [self.stats(guest) for guest in self.guests()]
        for n in range(20):
            for guest in self.guests():
                guest.run(f'ethtool -G {guest.dev} rx {4096 >> n % 2}')
            self.wait_grown(self.left, r'rx\d_packets', f'change {n}')
        self.left.run('killall ping')
        for job in jobs:
            job.wait(check=False)
        for guest, old in zip(self.guests(), before):
            guest.run(f'ethtool -G {guest.dev} rx 512')
            # A ring that two processors fill is overrun.
            self.assertEqual(self.grown(guest, old, 'hw_driver_errors'),
                             set())
        self.both_ways()
        self.check_guests()

    def test_21_reload_under_load(self):
        """the module is removed and loaded again while data flow"""
        for _ in range(3):
            jobs = [self.left.spawn(f'iperf3 -c {RIGHT} -t 30 --bidir', 60),
                    self.left.spawn(f'ping -f {RIGHT}', 60)]
            self.traffic()
            self.left.run('rmmod ncic_eth', 30)
            self.left.run('killall iperf3 ping; modprobe ncic_eth')
            for job in jobs:
                job.wait(check=False)
            self.left.dev = net.interface(self.left, MODEL)
            self.address(self.left)
            self.both_ways()
            self.serve_again()
        self.check_guests()

    def test_22_unbind_under_load(self):
        """the device is unbound and bound again while data flow"""
        job = self.left.spawn(f'ping -f {RIGHT}', 60)
        self.traffic()
        bus = self.left.out(f'basename $(readlink -f '
                            f'/sys/class/net/{self.left.dev}/device)')
        driver = '/sys/bus/pci/drivers/ncic_eth'
        self.left.run(f'echo {bus} > {driver}/unbind')
        self.left.run(f'[ ! -e {driver}/{bus} ] && '
                      f'[ ! -e /sys/class/net/{self.left.dev} ]')
        self.assertFalse(job.finished)
        self.left.run(f'echo {bus} > {driver}/bind')
        self.left.run(f'[ -e {driver}/{bus} ]')
        self.left.run('killall ping')
        job.wait(check=False)
        self.left.dev = net.interface(self.left, MODEL)
        self.address(self.left)
        self.both_ways()
        self.check_guests()

    def test_23_suspend(self):
        """suspend to idle and to memory, then traffic goes on"""
        for state in ('freeze', 'mem'):
            # The kernel's own trial: devices are suspended, and resumed after
            # five seconds.
            self.left.run('echo devices > /sys/power/pm_test; '
                          f'echo {state} > /sys/power/state', 60)
            self.both_ways()
            self.transfer()
        self.check_guests()

    def test_24_bus_errors(self):
        """errors on the bus, corrected and not: the driver recovers"""
        for error, words in (
                ('RCVR', r'Correct\(ed\|able\) error'),  # later kernels' word
                ('COMP_TIME', 'device recovery successful')):
            seen = self.left.out(f'dmesg | grep -c "{words}"; true')
            self.left.qmp.command('human-monitor-command', command_line=
                                  f'pcie_aer_inject_error nic {error}')
            self.left.wait_for(f'[ $(dmesg | grep -c "{words}") -gt {seen} ]',
                               60)
            self.both_ways()
            self.transfer()
        self.check_guests()

    def test_25_suspend_to_memory(self):
        """S3 with the interface up and data flowing: traffic goes on"""
        job = self.left.spawn(f'iperf3 -c {RIGHT} -t 4 --bidir', 30)
        self.traffic()
        # More frames come in while nobody is at home.
        self.left.sleep_and_wake(lambda: net.ping(
            self.right, LEFT, '-c 20 -i 0.01 -w 2'))
        job.wait(check=False)
        self.both_ways()
        self.serve_again()
        self.transfer()
        # Interrupts of both queues and of the link came back as well.
        self.test_10_multi_queue()
        self.test_04_link()

    def test_26_suspend_while_down(self):
        """S3 with the interface down, which comes up later"""
        self.right.run(f'ip link set {self.right.dev} down')
        self.right.sleep_and_wake()
        self.address(self.right)
        self.both_ways()
        self.transfer()
        self.check_guests()

    # ---- hangs: last, because the kernel warns of them ------------------------

    def test_90_transmit_timeout(self):
        """a queue that hangs: the watchdog resets the device, traffic goes on"""
        name = self.left.dev
        for fault in ('fault-tx-stall', 'fault-tx-mute'):
            before = self.stats(self.left)
            self.fault(self.left, fault, 3)
            # Short frames, which the driver copies: the ring fills up, not the
            # socket.
            job = self.left.spawn(f'ping -q -i 0.002 -s 100 {RIGHT}', 120)
            for counter in ('tx_timeouts', 'device_resets'):
                self.left.wait_for(
                    f"[ $(ethtool -S {name} | sed -n 's/.*{counter}: //p')"
                    f' -gt {before[counter]} ]', 60)
            self.left.run('killall ping')
            job.wait(check=False)
            self.both_ways()
            self.transfer()
        self.assertEqual([
            line for line in self.left.kernel_complaints() if not re.search(
                'NETDEV WATCHDOG|dev_watchdog|Call Trace', line)], [])


if __name__ == '__main__':
    tap.main()
