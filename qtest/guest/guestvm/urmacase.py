# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with URMA between them, which tests share."""

import time
import unittest

from . import hostnet, kernel, net
from .clock import deadline
from .guest import Guest, NotAvailable, driver_modules, has_device
from .paths import BUILD
from .ubswitch import Switch

MODEL = 'ubc'
NATIVE = BUILD / 'qtest' / 'guest' / 'native'
ARCH_SUFFIX = {'x86_64': '', 'aarch64': '-aarch64'}
HOSTS = {'left': '10.3.0.1', 'right': '10.3.0.2', 'third': '10.3.0.3'}
DRIVE = '/root/urma-drive'
LANES = 4

class TwoGuests(unittest.TestCase):
    """Two guests on a wire of their own, or with a ub-switch between them; the left
    one serves.  What traffic() starts goes on until finish()."""
    arch = {'left': 'x86_64', 'right': 'x86_64'}
    hotplug = 1
    switched = False
    props = ''          # further ones of the devices
    names = ('left', 'right')
    # Of the controllers, with the number of the guest; they end in the CNA.
    eid = 'fd{:030x}'

    @classmethod
    def setUpClass(cls):
        for arch in set(cls.arch.values()):
            if not has_device(arch, MODEL):
                raise NotAvailable(f'qemu-system-{arch} has no device {MODEL}')
            if not any(p.name == 'ub_urma.ko' for p in driver_modules(arch)):
                raise NotAvailable(f'ub_urma.ko is not built for {arch}')
            if not cls.program(arch).exists():
                raise NotAvailable(f'{cls.program(arch)} is not built')
        if cls.switched:
            cls.switch = Switch(len(cls.names))
            cls.addClassCleanup(cls.switch.close)
            cls.switch_start()
        for number, name in enumerate(cls.names, 1):
            setattr(cls, name, cls.make(name, number))
        for guest in cls.guests():
            guest.start()
        for guest in cls.guests():
            guest.wait_ready()
            cls.address(guest)
        for guest in cls.guests():
            cls.ready(guest)
        cls.serve()

    @classmethod
    def guests(cls):
        return [getattr(cls, name) for name in cls.names]

    @classmethod
    def switch_start(cls):
        cls.switch.start()
        for port in range(len(cls.names)):
            cls.switch.command('route-set', cna=port + 1, ports=[port])

    @staticmethod
    def address(guest):
        guest.dev = net.interface(guest, MODEL)
        guest.run(f'ip addr add {HOSTS[guest.name]}/24 dev {guest.dev}\n'
                  f'ip link set {guest.dev} up')

    @staticmethod
    def ready(guest):
        guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier')
        guest.wait_for('test -c /dev/uburma/ubc0')

    @staticmethod
    def program(arch):
        return NATIVE / ('urma-drive' + ARCH_SUFFIX[arch])

    @classmethod
    def make(cls, name, number):
        arch = cls.arch['left' if number == 1 else 'right']
        guest = Guest(name, arch, smp=2, files={DRIVE: cls.program(arch)},
                      kern=kernel.other(arch) if number == 2 else None)
        cls.addClassCleanup(guest.close)
        cls.wired(guest, number)
        return guest

    @classmethod
    def wired(cls, guest, number):
        if cls.switched:
            wire = cls.switch.chardev(number - 1)
        elif number == 1:
            cls.wire = f'{guest.dir}/ub'
            wire = f'socket,id=ubwire,path={cls.wire},server=on,wait=off'
        else:
            wire = f'socket,id=ubwire,path={cls.wire},reconnect-ms=100'
        guest.args = ['-chardev', wire, '-object', 'iothread,id=io']
        guest.hotplug = cls.hotplug
        place = ',bus=port0' if cls.hotplug else ''
        guest.devices = [f'{MODEL},id=ub{place},chardev0=ubwire,iothread=io,'
                         f'cna={number},upi=1,eid={cls.eid.format(number)},'
                         f'lanes={LANES}{cls.props}']

    @classmethod
    def serve(cls):
        cls.server = cls.left.spawn(f'exec {DRIVE} serve', 3600)

    @classmethod
    def server_end(cls):
        cls.left.run('kill -9 $(pidof urma-drive) || true')
        cls.server.wait(check=False)

    def drive(self, *names, guest=None, host=HOSTS['left'], timeout=600):
        """Run cases; each says so when it has gone well."""
        out = (guest or self.right).run(
            f'{DRIVE} test {host} {" ".join(names)}', timeout).out
        self.assertEqual(out.split('\n')[:-1], [f'ok {n}' for n in names])

    def check_kernels(self):
        for guest in self.guests():
            self.assertEqual(guest.kernel_complaints(), [])

    def flood(self, timeout):
        """The right guest writes to the left one, until one of them ends."""
        self.right.run('rm -f /tmp/flood')      # an earlier one's
        job = self.right.spawn(f'{DRIVE} flood {HOSTS["left"]} > /tmp/flood',
                               timeout)
        self.right.wait_for('grep -q flooding /tmp/flood')
        return job

    def awaited(self, *names):
        """A program that tells of asynchronous events until these were there."""
        self.right.run('rm -f /tmp/events')
        job = self.right.spawn(
            f'{DRIVE} await {" ".join(names)} > /tmp/events', 120)
        self.right.wait_for('grep -q waiting /tmp/events')
        return job

    def told(self, job):
        self.assertEqual(job.wait().status, 0)
        return self.right.out('cat /tmp/events').split('\n')[1:]

    # ---- what goes on while something happens ----------------------------------------

    def traffic(self, *names, host=HOSTS['left']):
        """The right guest runs cases again and again, which compare each byte."""
        guest = self.right
        guest.run('rm -f /tmp/stop /tmp/rounds')
        self.job = guest.spawn(
            f'{DRIVE} until /tmp/stop {host} {" ".join(names)} > /tmp/rounds',
            900)
        self.progress()

    def rounds(self):
        out = self.right.out('grep -c round /tmp/rounds || true')
        return int(out or 0)

    def progress(self, more=1, timeout=180):
        """Some more rounds come to their end."""
        want = self.rounds() + more
        until = deadline(timeout)
        while self.rounds() < want:
            if self.job.finished:
                self.job.wait()
            self.assertLess(time.monotonic(), until, 'traffic stands still')
            time.sleep(0.1)

    def finish(self):
        self.progress()
        self.right.run('touch /tmp/stop')
        self.job.wait()
        self.assertEqual(self.right.out('tail -n 1 /tmp/rounds'), 'good')
        print(f'# {self.rounds()} rounds')
        self.check_kernels()


class OverIpv4(TwoGuests):
    """EIDs that are addresses of IPv4, on one wire."""
    eid = '00000000000000000000ffff0a0900{:02x}'
    hotplug = 0


class OverGateway(TwoGuests):
    """EIDs that are addresses of IPv6: the left guest behind a gateway, ub-switch with
    an Ethernet port, the right one with a netdev of its controller.  Programs find each
    other by a network of their own."""
    eid = '20010db80000000000000000{:08x}'
    hotplug = 0

    @classmethod
    def setUpClass(cls):
        cls.switch = Switch(1, ethernet=1)
        cls.addClassCleanup(cls.switch.close)
        cls.switch.start()
        for port in range(2):
            cls.switch.command('ip-route-set', prefix=f'2001:db8::1:{port + 1}',
                               ports=[port])
        super().setUpClass()

    @classmethod
    def wired(cls, guest, number):
        port = number - 1
        if port:
            guest.args = ['-netdev', cls.switch.netdev(port, 'ubwire')]
            wire = 'netdev=ubwire,mac=52:54:00:00:00:02'
        else:
            guest.args = ['-chardev', cls.switch.chardev(port)]
            wire = 'chardev0=ubwire'
            cls.own_net = f'{guest.dir}/net'
        guest.nics = [(hostnet.stream(cls.own_net, not port, 100 * port),
                       f'virtio-net-pci,mac=52:54:00:00:01:0{number}')]
        guest.devices = [f'{MODEL},id=ub,{wire},upi=1,'
                         f'eid={cls.eid.format(0x10000 + number)}']

    @staticmethod
    def address(guest):
        guest.dev = net.interface(guest, MODEL)
        guest.run(f'ip link set {guest.dev} up')
        net.static(guest, net.interface(guest, 'virtio-net-pci'),
                   HOSTS[guest.name] + '/24')

    @staticmethod
    def ready(guest):
        guest.wait_for('test -c /dev/uburma/ubc0')


class ThreeGuests(TwoGuests):
    """Three of them around a ub-switch."""
    names = ('left', 'right', 'third')
    switched = True
    hotplug = 0
