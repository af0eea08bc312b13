# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux driver rclink: Ethernet over TYPE3 between two guests."""

import unittest

from guestvm import kernel, net, tap
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device
from guestvm.hostnet import stream_chardev

MODEL = 'rclink'
LEFT, RIGHT = '10.3.0.1', '10.3.0.2'


class Ethernet(unittest.TestCase):
    """Two guests on a wire (a chardev)."""

    @classmethod
    def setUpClass(cls):
        if not has_device('x86_64', MODEL):
            raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
        if not any('rclink' in str(m) for m in driver_modules('x86_64')):
            raise NotAvailable('rclink.ko is not built for x86_64')
        cls.left = cls.boot('left')
        cls.right = cls.boot('right')
        for guest in (cls.left, cls.right):
            guest.wait_ready()
            guest.dev = net.interface(guest, MODEL)
            net.static(guest, guest.dev, (LEFT if guest is cls.left
                                          else RIGHT) + '/24')
        net.iperf3_serve(cls.right)

    @classmethod
    def boot(cls, name):
        guest = Guest(name, smp=2, kern=kernel.other('x86_64')
                      if name == 'right' else None)
        cls.addClassCleanup(guest.close)
        if name == 'left':
            cls.wire = guest.dir / 'wire'
        mac = '02:00:00:00:00:0a' if name == 'left' else '02:00:00:00:00:0b'
        guest.nics = [(stream_chardev(cls.wire, server=name == 'left',
                                      reconnect_ms=0 if name == 'left'
                                      else 100),
                       f'{MODEL},id=nic,mac={mac}')]
        return guest.start()

    def set(self, guest, name, value):
        guest.qmp.command('qom-set', path='/machine/peripheral/nic',
                          property=name, value=value)

    def compare(self):
        """Send a file both ways and compare what arrived."""
        net.same_file(self.right, self.left, RIGHT)
        net.same_file(self.left, self.right, LEFT)

    def test_1_ping(self):
        """echo requests are answered, short and long"""
        net.reachable(self.left, RIGHT)
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 200'), (200, 200))
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 50 -s 1400'),
                         (50, 50))

    def test_2_data(self):
        """files arrive as they were sent"""
        self.compare()

    def test_3_jumbo(self):
        """the largest MTU"""
        for guest in (self.left, self.right):
            guest.run(f'ip link set {guest.dev} mtu 4078')
        self.assertEqual(net.ping(self.left, RIGHT, '-f -c 50 -s 4050'),
                         (50, 50))
        self.compare()

    def test_4_loss(self):
        """TCP lives with a lossy wire"""
        self.set(self.left, 'fault-out-drop-ppm', 10000)
        self.set(self.right, 'fault-out-drop-ppm', 10000)
        try:
            self.compare()
        finally:
            self.set(self.left, 'fault-out-drop-ppm', 0)
            self.set(self.right, 'fault-out-drop-ppm', 0)

    def test_5_throughput(self):
        """a stream for some seconds, and the counters of ethtool"""
        net.iperf3(self.left, RIGHT, '-t 2')
        out = self.left.out(f'ethtool -S {self.left.dev}')
        self.assertRegex(out, r'tx_type3: [1-9]')

    def test_6_link(self):
        """the carrier follows the wire"""
        carrier = f'/sys/class/net/{self.left.dev}/carrier'
        self.set(self.left, 'link-up', False)
        self.left.wait_for(f'[ $(cat {carrier}) = 0 ]')
        self.set(self.left, 'link-up', True)
        self.left.wait_for(f'[ $(cat {carrier}) = 1 ]')
        net.reachable(self.left, RIGHT)

    def test_7_again(self):
        """down and up, unbound and bound"""
        dev = self.left.dev
        self.left.run(f'ip link set {dev} down; ip link set {dev} up')
        net.reachable(self.left, RIGHT)
        pci = self.left.out(f'basename $(readlink /sys/class/net/{dev}/device)')
        self.left.run(f'cd /sys/bus/pci/drivers/rclink; echo {pci} > unbind; '
                      f'echo {pci} > bind')
        self.left.dev = net.interface(self.left, MODEL)
        net.static(self.left, self.left.dev, LEFT + '/24')
        net.reachable(self.left, RIGHT)

    def test_8_reset(self):
        """somebody resets the function, also while it goes down and up"""
        dev = self.left.dev
        reset = f'echo 1 > /sys/class/net/{dev}/device/reset'
        self.left.run(reset)
        net.reachable(self.left, RIGHT)
        job = self.left.spawn(f'for i in $(seq 3); do {reset}; done', 300)
        self.left.run(f'for i in $(seq 15); do ip link set {dev} down\n'
                      f'ip link set {dev} up || :\ndone', 300)
        job.wait()
        net.static(self.left, dev, LEFT + '/24')
        net.reachable(self.left, RIGHT)
        self.compare()

    def test_9_kernels(self):
        """the kernels complain of nothing, the emulators neither"""
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
