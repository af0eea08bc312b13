# SPDX-License-Identifier: GPL-2.0-or-later
"""A stock kernel on the emulated NIC: address, transfers, peers, migration.

FABRIC_NIC=MODEL runs the same cases on another model that the kernel has a
driver for (e1000e, igb, virtio-net-pci): what fails there is not the NIC's.
"""

import os
import threading
import unittest

from guestvm import kernel, net, tap
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import Gateway, HttpServer, payload, stream

MODEL = os.environ.get('FABRIC_NIC', 'ncic-nic')
MIB = 1 << 20


def need_nic(arch='x86_64'):
    """Skip, with the reason, what cannot run."""
    if not has_device(arch, MODEL):
        raise NotAvailable(f'qemu-system-{arch} has no device {MODEL}')
    if MODEL == 'ncic-nic' and not driver_modules(arch):
        raise NotAvailable(f'ncic_eth.ko is not built for {arch}')


class NicCase(unittest.TestCase):
    """A class of cases over guests that are booted once."""
    guests = []

    @classmethod
    def add(cls, guest):
        cls.guests = cls.guests + [guest]
        cls.addClassCleanup(guest.close)
        return guest

    def check_guests(self):
        """No complaint of the kernel, no guest error in QEMU's log."""
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])
            noise = [line for line in guest.qemu_output().splitlines()
                     if MODEL.split('-')[0] in line.lower()]
            self.assertEqual(noise, [])


class OneGuestCases:
    """Cases over one guest on slirp; the classes below give .arch."""
    arch = 'x86_64'
    download = 64 * MIB

    @classmethod
    def setUpClass(cls):
        need_nic(cls.arch)
        cls.web = HttpServer({'large': payload(cls.download),
                              'small': payload(MIB)})
        cls.addClassCleanup(cls.web.close)
        cls.guest = cls.add(Guest(
            'one', cls.arch, hotplug=1,
            nics=[('user', f'{MODEL},id=nic,bus=port0')])).start()
        cls.guest.wait_ready()

    def fetch(self, name):
        digest = net.fetch_sha256(self.guest, self.web.url(name))
        self.assertEqual(digest, self.web.sha256(name))

    def test_1_dhcp(self):
        """the driver binds and DHCP yields an address"""
        dev = net.interface(self.guest, MODEL)
        self.assertEqual(net.dhcp(self.guest, dev), '10.0.2.15/24')

    def test_2_download(self):
        """a download from the host arrives intact"""
        self.fetch('large')
        self.check_guests()

    def test_3_self_test(self):
        """ethtool's self test passes and the interface works after it"""
        if MODEL != 'ncic-nic':
            self.skipTest(f'the emulated {MODEL} does not support it')
        dev = net.interface(self.guest, MODEL)
        result = self.guest.run(f'ethtool -t {dev} offline', 120, check=False)
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertIn('PASS', result.out)
        net.dhcp(self.guest, dev)
        self.fetch('small')

    def test_4_replug(self):
        """hot unplug and replug"""
        self.guest.hotplug_remove('nic')
        self.guest.wait_for('! ls -d /sys/class/net/*/device')
        self.guest.hotplug_add(MODEL, id='nic', bus='port0', netdev='net0')
        dev = net.interface(self.guest, MODEL, 60)
        net.dhcp(self.guest, dev)
        self.fetch('small')
        self.check_guests()

    def test_5_unplug_under_load(self):
        """hot unplug while a download runs, then replug"""
        job = self.guest.spawn(
            f'wget -q -O /dev/null {self.web.url("large")}', 120)
        dev = net.interface(self.guest, MODEL)
        self.guest.wait_for(f'[ $(cat /sys/class/net/{dev}/statistics/rx_bytes)'
                            f' -gt {2 * MIB} ]')
        self.guest.hotplug_remove('nic')
        self.assertFalse(job.finished, 'the download was over too early')
        self.guest.run('killall wget')
        job.wait(check=False)
        self.guest.hotplug_add(MODEL, id='nic', bus='port0', netdev='net0')
        dev = net.interface(self.guest, MODEL, 60)
        net.dhcp(self.guest, dev)
        self.fetch('small')
        self.check_guests()

    def test_6_reboot(self):
        """the guest reboots and the NIC works again"""
        self.guest.reboot()
        dev = net.interface(self.guest, MODEL)
        net.dhcp(self.guest, dev)
        self.fetch('small')
        self.check_guests()


class X86(OneGuestCases, NicCase):
    pass


class Arm64(OneGuestCases, NicCase):
    """The smoke test on an arm64 virt machine."""
    arch = 'aarch64'
    download = 16 * MIB
    test_3_self_test = None
    test_4_replug = None
    test_5_unplug_under_load = None


class TwoGuests(NicCase):
    """Two guests on a wire (-netdev stream)."""

    @classmethod
    def setUpClass(cls):
        need_nic()
        wire = None
        cls.listener = cls.make('left', None)
        wire = cls.wire(cls.listener)
        cls.listener.start()
        cls.caller = cls.make('right', wire).start()
        cls.prepare(cls.listener)
        cls.prepare(cls.caller)

    @staticmethod
    def wire(listener):
        return listener.dir / 'wire'

    @classmethod
    def make(cls, name, wire):
        mac = {'left': '52:54:00:00:01:01', 'right': '52:54:00:00:01:02'}
        guest = cls.add(Guest(name, kern=kernel.other('x86_64')
                              if name == 'right' else None))
        if wire is None:
            netdev = stream(cls.wire(guest), server=True)
        else:
            netdev = stream(wire, reconnect_ms=100)
        guest.nics = [(netdev, f'{MODEL},mac={mac[name]}')]
        return guest

    @classmethod
    def prepare(cls, guest):
        guest.wait_ready()
        host = {'left': '10.1.0.1', 'right': '10.1.0.2'}[guest.name]
        guest.nic = net.interface(guest, MODEL)
        net.static(guest, guest.nic, f'{host}/24')

    def test_1_flood(self):
        """ping flood loses nothing, either way"""
        net.reachable(self.caller, '10.1.0.1')
        for guest, peer in ((self.caller, '10.1.0.1'),
                            (self.listener, '10.1.0.2')):
            sent, got = net.ping(guest, peer, '-f -c 2000')
            self.assertEqual((sent, got), (2000, 2000))

    def test_2_sizes(self):
        """every size of packet to the MTU goes through"""
        for size in (0, 1, 17, 18, 19, 63, 64, 65, 511, 512, 1000, 1471, 1472):
            sent, got = net.ping(self.caller, '10.1.0.1',
                                 f'-c 3 -i 0.002 -M do -s {size} -p a5')
            self.assertEqual((sent, got), (3, 3), f'{size} bytes')

    def test_3_iperf3(self):
        """iperf3 both ways"""
        net.iperf3_serve(self.listener)
        for way in ('', '-R'):
            report = net.iperf3(self.caller, '10.1.0.1', f'-n 32M {way}')
            end = report['end']
            # The receiver's count lacks what was in flight at the end.
            self.assertGreaterEqual(end['sum_sent']['bytes'], 32 * MIB)
            self.assertGreater(end['sum_received']['bytes'], 30 * MIB)
            rate = end['sum_received']['bits_per_second'] / 1e6
            print(f'# iperf3 {way or "forward"}: {rate:.0f} Mbit/s')
        self.check_guests()

    def test_4_udp(self):
        """UDP both ways at a rate that fits loses nothing"""
        # All of it waits in the socket, if its reader has no turn.
        for guest in (self.caller, self.listener):
            guest.run('echo 8388608 > /proc/sys/net/core/rmem_default')
        for way in ('', '-R'):
            report = net.iperf3(self.caller, '10.1.0.1',
                                f'-u -b 1M -l 1000 -t 2 {way}')
            self.assertEqual(report['end']['sum']['lost_packets'], 0)
            self.assertGreater(report['end']['sum']['packets'], 50)

    def test_5_caller_restarts(self):
        """the calling QEMU is killed and started again: traffic resumes"""
        self.caller.kill()
        cls = type(self)
        cls.caller = cls.make('right', self.wire(self.listener)).start()
        self.prepare(cls.caller)
        net.reachable(self.listener, '10.1.0.2')
        self.assertEqual(net.ping(self.listener, '10.1.0.2', '-f -c 500'),
                         (500, 500))

    def test_6_listener_restarts(self):
        """the listening QEMU is killed and started again: traffic resumes"""
        cls = type(self)
        old = self.listener
        old.kill()
        cls.listener = cls.make('left', None)
        self.wire(old).unlink(missing_ok=True)
        cls.listener.nics = old.nics
        cls.listener.start()
        self.prepare(cls.listener)
        net.reachable(self.caller, '10.1.0.1')
        self.assertEqual(net.ping(self.caller, '10.1.0.1', '-f -c 500'),
                         (500, 500))
        self.check_guests()


class Migration(NicCase):
    """Live migration to a second QEMU."""

    def test_download(self):
        """live migration while a download runs: the file is intact"""
        need_nic()
        arrived = threading.Event()
        size = 64 * MIB
        # The last quarter is sent only after the guest has moved, so that the
        # transfer spans the migration however fast it is.
        with HttpServer({'file': payload(size)},
                        gates={'file': (size * 3 // 4, arrived)}) as web, \
                Gateway() as gateway:
            gateway.open(0)
            nic = f'{MODEL},id=nic,mac=52:54:00:00:02:01'
            source = self.add(Guest('moving',
                                    nics=[(gateway.netdev(0), nic)])).boot()
            dev = net.interface(source, MODEL)
            net.dhcp(source, dev)
            target = Guest('moved', nics=[(gateway.netdev(1), nic)])
            target.incoming = f'unix:{target.dir}/incoming'
            target = self.add(target).start()
            job = source.spawn(
                'set -o pipefail; wget -q -O - '
                f'{web.url("file")} | tee /tmp/file | sha256sum', 300)
            source.wait_for('[ $(stat -c %s /tmp/file) -gt 1000000 ]')
            job.moved(target)
            source.migrate_to(target, target.incoming)
            self.assertEqual(target.qmp.command('query-status')['status'],
                             'running')
            source.kill()
            gateway.open(1)
            self.assertFalse(job.finished)
            arrived.set()
            self.assertEqual(job.wait().out.split()[0], web.sha256('file'))
            self.assertEqual(net.ping(target, '10.0.2.2', '-c 3 -i 0.01'),
                             (3, 3))
            self.assertEqual(
                target.out(f'cat /sys/class/net/{dev}/carrier'), '1')
            self.check_guests()


if __name__ == '__main__':
    tap.main()
