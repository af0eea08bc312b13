# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock verbs software on ncic-mthca: Debian's ib_mthca and rdma-core,
unmodified, between two guests and against the kernel's soft-RoCE."""

import re
import unittest

from guestvm import net, rocecap, tap
from guestvm.guest import Guest
from guestvm.hostnet import stream_chardev
from guestvm.rdma import PATIENT
from guestvm.rdmacase import (MODEL, PORT, RdmaCase, counter, interface,
                              need_model, start_opensm)


class Verbs(RdmaCase):
    """Two guests without a subnet manager."""

    def test_01_devinfo(self):
        """the stock driver binds and the port is active"""
        for guest, lid in ((self.left, 1), (self.right, 2)):
            guest.wait_for('ibv_devinfo | grep PORT_ACTIVE')
            info = guest.out('ibv_devinfo')
            self.assertRegex(info, r'hca_id:\s+mthca0')
            self.assertRegex(info, rf'port_lid:\s+{lid}\b')
            self.assertRegex(info, r'fw_ver:\s+1\.2\.940')
            # COMP, ASYNC and CMD vectors: MSI-X was accepted.
            self.assertEqual(
                guest.out('grep -c mthca /proc/interrupts'), '3')

    def test_02_rc(self):
        """ibv_rc_pingpong, polled and by events"""
        self.pingpong('rc')
        self.pingpong('rc', '-e')

    def test_03_uc(self):
        """ibv_uc_pingpong"""
        self.pingpong('uc')

    def test_04_ud(self):
        """ibv_ud_pingpong"""
        self.pingpong('ud')

    def test_05_srq(self):
        """ibv_srq_pingpong"""
        self.pingpong('srq')

    def test_06_sizes(self):
        """messages of odd sizes and a large one, at each path MTU"""
        for mtu, size in ((256, 4097), (512, 1), (1024, 100003),
                          (2048, 1 << 20)):
            self.pingpong('rc', f'-m {mtu} -s {size} -n 20')

    def test_07_perftest(self):
        """ib_{send,write,read,atomic}_{bw,lat}"""
        for verb in ('send', 'write', 'read', 'atomic'):
            for what in ('bw', 'lat'):
                with self.subTest(verb=verb, what=what):
                    outs = self.pair(f'ib_{verb}_{what} -F {PATIENT} '
                                     '-n 200')
                    self.assertRegex(outs[1], r'\n\s*\d+\s+200\s+\d+\.\d')
        self.check_guests()

    def test_08_faults(self):
        """loss, duplication and reordering: the data is right"""
        with self.faulty((self.left, self.right), ('out',)) as lost:
            self.pingpong_to_the_end('-n 300', 300)
            self.pair('ib_read_bw -F -n 100 -u 12', 300)
            self.assertGreater(lost(), 0)
            self.assertGreater(sum(counter(g, 'retransmits')
                                   for g in (self.left, self.right)), 0)

    def test_09_link_flap(self):
        """the link goes down and up: the port follows"""
        self.prop(self.right, 'link-up', False)
        self.right.wait_for('ibv_devinfo | grep PORT_DOWN')
        self.prop(self.right, 'link-up', True)
        self.right.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        self.pingpong('rc')

    def test_10_reload(self):
        """the driver is removed and loaded again"""
        self.right.run('modprobe -r ib_mthca', 60)
        self.right.run('modprobe ib_mthca', 60)
        self.right.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        self.pingpong('rc')
        self.check_guests()

    def test_11_peer_killed(self):
        """the peer dies: retry exceeded; a new peer can connect"""
        # Given up after 4 s without an answer, not 34 as PATIENT would.
        server = self.right.spawn('ib_write_bw -F -u 17 -D 60', 120)
        self.right.wait_for(f'ss -Hltn "sport = :{PORT}" | grep -q .')
        client = self.left.spawn('ib_write_bw -F -u 17 -D 60 10.5.0.2', 120)
        before = counter(self.left, 'completions')
        for _ in range(200):
            if counter(self.left, 'completions') > before + 100:
                break
            self.left.run('true')
        self.assertFalse(server.finished or client.finished)
        self.right.kill()
        result = client.wait(check=False)
        self.assertNotEqual(result.status, 0)
        # IBV_WC_RETRY_EXC_ERR
        self.assertRegex(result.out + result.err, r'(?i)status 12\b')
        self.assertGreater(counter(self.left, 'retry_exceeded'), 0)
        cls = type(self)
        cls.guests = (self.left,)
        cls.right = cls.make('again', 2, self.left.dir).start()
        self.ready(self.right, 2)
        net.reachable(self.right, '10.5.0.1')
        self.right.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        self.pingpong('rc')
        self.check_guests()


class VerbsOnChardev(Verbs):
    """The same where the wire is a chardev, whose link comes and goes."""
    wire = staticmethod(stream_chardev)
    # Nothing in these depends on the wire.
    test_03_uc = test_05_srq = test_10_reload = None


class Capture(RdmaCase):
    """Two guests whose wire is recorded."""

    # What programs of Debian's can be made to send; all of them together
    # are in the unit test rdma-capture.
    WANT = ['Acknowledge', 'ATOMIC Acknowledge', 'CmpSwap', 'FetchAdd',
            'RDMA READ Request', 'NAK sequence error'] + [
        f'{what} {part}' for what in ('SEND', 'RDMA WRITE',
                                      'RDMA READ response')
        for part in ('First', 'Middle', 'Last', 'Only')]

    @classmethod
    def make(cls, name, index, wires=None):
        guest = super().make(name, index, wires)
        if not wires:
            cls.file = guest.dir / 'rdma.pcap'
            guest.args += ['-object', 'filter-dump,id=dump,netdev=net0,'
                                      f'file={cls.file}']
        return guest

    def judge(self):
        """The capture up to now."""
        self.left.qmp.command('object-del', id='dump')
        try:
            return rocecap.judge(self.file)
        except FileNotFoundError as err:
            self.skipTest(f'{err} is not installed')

    def test_dissection(self):
        """tshark reads each opcode on the wire; each ICRC is right"""
        for guest in self.guests:
            guest.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        for kind in ('rc', 'uc'):
            self.pingpong(kind, '-m 256 -s 700 -n 20')
            self.pingpong(kind, '-m 256 -s 13 -n 5')
        self.pingpong('ud', '-n 20')
        for size in (13, 1000):
            for verb in ('write', 'read'):
                self.pair(f'ib_{verb}_bw -F -n 5 -m 256 -s {size}')
            self.pair(f'ib_write_bw -F -n 5 -c UC -m 256 -s {size}')
        for kind in ('CMP_AND_SWAP', 'FETCH_AND_ADD'):
            self.pair(f'ib_atomic_bw -F -n 5 -A {kind}')
        # One frame of a long message is lost.
        self.prop(self.right, 'fault-out-action', 1)
        self.prop(self.right, 'fault-out-nth', 5)
        self.pair(f'ib_write_bw -F {PATIENT} -n 5 -m 256 -s 5000')
        self.assertEqual(counter(self.right, 'fault_drop'), 1)
        seen = self.judge()
        print('# ' + ', '.join(f'{name} {count}' for name, count
                               in sorted(seen.items())))
        want = {w if w.startswith('NAK') else f'RC {w}' for w in self.WANT}
        want |= {f'UC {w}' for w in self.WANT if w.startswith(
            ('SEND', 'RDMA WRITE'))} | {'UD SEND only'}
        self.assertLessEqual(want, set(seen))
        self.check_guests()


class Subnet(RdmaCase):
    """Two guests, one of them with a subnet manager."""
    props = ',sm=auto'

    def test_1_opensm(self):
        """opensm finds both adapters and brings the ports up"""
        start_opensm(self.left, self.guests)
        topology = self.right.out('ibnetdiscover')
        self.assertEqual(len(re.findall(r'^Ca\b', topology, re.M)), 2)
        self.assertRegex(self.right.out('sminfo'), 'SMINFO_MASTER')

    def test_2_pingpong(self):
        """verbs between ports that the subnet manager configured"""
        self.pingpong('rc')
        self.pingpong('ud')

    def test_3_ipoib(self):
        """IPoIB: multicast ARP, ping, TCP"""
        for index, guest in enumerate(self.guests, 1):
            net.static(guest, 'ib0', f'10.6.0.{index}/24')
        net.reachable(self.right, '10.6.0.1')
        self.assertEqual(net.ping(self.right, '10.6.0.1',
                                  '-c 20 -i 0.01 -s 1900'), (20, 20))
        server = self.left.spawn('iperf3 -s -1', 60)
        self.left.wait_for('ss -Hltn "sport = :5201" | grep -q .')
        self.right.run('iperf3 -t 3 -c 10.6.0.1', 60)
        server.wait()

    def test_4_rdma_cm(self):
        """rping: connections made through IPoIB addresses"""
        server = self.left.spawn('rping -s -V -C 20 -a 10.6.0.1', 60)
        self.right.wait_for('rping -c -V -C 20 -a 10.6.0.1', 60)
        self.assertEqual(server.wait(check=False).status, 0)
        self.check_guests()


class SoftRoce(RdmaCase):
    """Against the kernel's soft-RoCE: its packets, not ours, at one end."""
    props = ',roce-gid=on'

    @classmethod
    def make(cls, name, index, wires=None):
        """The right guest has virtio-net at its end of the RDMA wire."""
        guest = super().make(name, index, wires)
        if wires:
            guest.nics[0] = (guest.nics[0][0],
                             'virtio-net-pci,id=rxe,mac=52:54:00:00:07:02')
        return guest

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        dev = interface(cls.right, '52:54:00:00:07:02')
        net.static(cls.right, dev, '10.76.0.2/16')
        cls.right.run(f'modprobe rdma_rxe\n'
                      f'rdma link add rxe0 type rxe netdev {dev}')
        cls.right.wait_for('ibv_devinfo -d rxe0 | grep PORT_ACTIVE')
        cls.left.wait_for('ibv_devinfo | grep PORT_ACTIVE')

    def interop(self, kind):
        self.pingpong(kind, '-n 200 -m 1024 -g 1')

    def test_1_rc(self):
        """RC both ways"""
        self.interop('rc')

    def test_2_uc(self):
        """UC both ways"""
        self.interop('uc')

    def test_3_ud(self):
        """UD both ways"""
        self.pingpong('ud', '-n 200 -s 1000 -g 1')

    def test_4_perftest(self):
        """Write, Read, Send and atomics of perftest"""
        for verb in ('write', 'read', 'send', 'atomic'):
            with self.subTest(verb=verb):
                self.pair(f'ib_{verb}_bw -F {PATIENT} -n 100 -m 1024 '
                          '-x 1')
        self.check_guests()

    def test_5_faults(self):
        """loss, duplication and reordering by our adapter, both ways"""
        with self.faulty([self.left], ('out', 'in')) as lost:
            self.pingpong_to_the_end('-n 300 -m 1024 -g 1', 300)
            for verb in ('write', 'read', 'atomic'):
                with self.subTest(verb=verb):
                    self.pair(f'ib_{verb}_bw -F -n 100 -m 1024 -u 14 -x 1', 300)
            self.assertGreater(lost(), 0)
        self.check_guests()


class Interrupts(unittest.TestCase):
    """One guest without MSI: the interrupt pin; the adapter fails."""

    def test_pin_and_failure(self):
        """events by INTx; the driver restarts an adapter that failed"""
        need_model()
        guest = Guest('pin', rdma=True, memory=512, append='pci=nomsi', nics=[
            ('hubport,hubid=0', f'{MODEL},id=hca,mac=52:54:00:00:05:01')])
        self.addCleanup(guest.close)
        guest.boot()
        guest.run('ip link set lo up')
        guest.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        self.assertEqual(guest.out('grep -c mthca /proc/interrupts'), '1')
        for out in guest.out(
                'ibv_rc_pingpong -e -c -n 200 &\n'
                f'until ss -Hltn "sport = :{PORT}" | grep -q .; do :; done\n'
                'ibv_rc_pingpong -e -c -n 200 127.0.0.1; wait %1',
                120).split('remote address')[1:]:
            self.assertIn('200 iters in', out)
        guest.qmp.command('qom-set', path='/machine/peripheral/hca',
                          property='catas', value=1)
        guest.wait_for('[ $(dmesg | grep -c "ib_mthca: Initializing") = 2 ]',
                       60)
        guest.wait_for('ibv_devinfo | grep PORT_ACTIVE', 60)
        self.assertEqual(guest.kernel_complaints(), [])


class Migration(unittest.TestCase):
    """One guest, both ends of a connection in it, moves to another QEMU."""

    def guest(self, name):
        guest = Guest(name, rdma=True, memory=512, nics=[
            ('hubport,hubid=0', f'{MODEL},id=hca,mac=52:54:00:00:05:01')])
        self.addCleanup(guest.close)
        return guest

    def test_loopback(self):
        """live migration while RC messages are in flight: data is right"""
        need_model()
        source = self.guest('moving').boot()
        source.run('ip link set lo up')
        source.wait_for('ibv_devinfo | grep PORT_ACTIVE')
        target = self.guest('moved')
        target.incoming = f'unix:{target.dir}/incoming'
        target.start()
        # Enough rounds to be under way before and after.
        job = source.spawn(
            'p="ibv_rc_pingpong -e -c -n 15000"\n'
            '$p > /tmp/server &\n'
            f'until ss -Hltn "sport = :{PORT}" | grep -q .; do :; done\n'
            '$p 127.0.0.1 > /tmp/client && wait %1', 300)

        def completions(guest):
            return counter(guest, 'completions')
        for _ in range(200):
            if completions(source) > 200:
                break
            source.run('true')
        job.moved(target)
        source.migrate_to(target, target.incoming)
        self.assertFalse(job.finished)
        moved = completions(target)
        source.kill()
        job.wait()
        for name in ('server', 'client'):
            out = target.out(f'cat /tmp/{name}')
            self.assertIn('15000 iters in', out)
            self.assertNotIn('invalid data', out)
        self.assertGreater(completions(target), moved)
        self.assertEqual(target.kernel_complaints(), [])
        target.run('ibv_devinfo | grep PORT_ACTIVE')


if __name__ == '__main__':
    tap.main()
