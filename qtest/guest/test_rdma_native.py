# SPDX-License-Identifier: GPL-2.0-or-later
"""The RDMA engine of ncic-nic driven by programs in two booted guests, through
VFIO behind an emulated IOMMU: commands, doorbells, completions, interrupts."""

import unittest

from guestvm import rocecap, tap
from guestvm.guest import Guest, NotAvailable, has_device
from guestvm.hostnet import stream
from guestvm.paths import BUILD

PROGRAM = BUILD / 'qtest' / 'guest' / 'native' / 'ncic-verbs'
NODE = '/sys/bus/pci/devices'

# Of a peer that a busy host does not let run for a second.
PATIENT = 'rdma-loss-us=4000000'


class Native(unittest.TestCase):
    WANT = {f'RC {what} {part} with Immediate'
            for what in ('SEND', 'RDMA WRITE') for part in ('Only', 'Last')}

    def guest(self, name, index, wires=None):
        guest = Guest(
            name, drivers=[], modules=['vfio_pci', 'vfio_iommu_type1'],
            append='intel_iommu=on', args=['-device', 'intel-iommu'],
            files={'/root/ncic-verbs': PROGRAM})
        guest.nics = [(stream((wires or guest.dir) / 'wire',
                              server=wires is None,
                              reconnect_ms=100 if wires else 0),
                       f'ncic-nic,id=nic,mac=52:54:00:00:08:0{index},'
                       f'rdma-ip=10.0.0.{index},{PATIENT}')]
        if not wires:
            self.file = guest.dir / 'rdma.pcap'
            guest.args += ['-object', 'filter-dump,id=dump,netdev=net0,'
                                      f'file={self.file}']
        self.addCleanup(guest.close)
        return guest.start()

    def judge(self, guest):
        """The capture: each packet whole, its ICRC right, and those that
        Debian's programs do not send among them."""
        guest.qmp.command('object-del', id='dump')
        try:
            seen = rocecap.judge(self.file)
        except FileNotFoundError as err:
            raise NotAvailable(f'{err} is not installed: all went well, but '
                               'the capture is not judged') from None
        print('# ' + ', '.join(f'{name} {count}' for name, count
                               in sorted(seen.items())))
        self.assertLessEqual(self.WANT, set(seen))

    def bind(self, guest):
        """Give the NIC to vfio-pci; its address on the bus."""
        guest.wait_ready()
        return guest.out(
            'modprobe vfio_iommu_type1 && modprobe vfio-pci || exit\n'
            f'cd {NODE}; for d in *; do\n'
            '  [ $(cat $d/vendor)$(cat $d/device) = 0x10ee0x7028 ] &&\n'
            '    echo vfio-pci > $d/driver_override &&\n'
            '    echo $d > /sys/bus/pci/drivers_probe && echo $d\n'
            'done; true')

    def counter(self, guest, name):
        return guest.qmp.command('qom-get', path='/machine/peripheral/nic',
                                 property=f'rdma-counter-{name}')

    def test_two_guests(self):
        """Send, Write, Read and atomics between programs in two guests"""
        if not has_device('x86_64', 'ncic-nic'):
            raise NotAvailable('qemu-system-x86_64 has no device ncic-nic')
        if not PROGRAM.exists():
            raise NotAvailable(f'{PROGRAM.name} is not built for x86_64')
        left = self.guest('left', 1)
        right = self.guest('right', 2, left.dir)
        places = [self.bind(g) for g in (left, right)]
        server = left.spawn(f'/root/ncic-verbs {places[0]} serve '
                            '> /tmp/out', 300)
        left.wait_for('grep ready /tmp/out')
        driver = right.run(f'/root/ncic-verbs {places[1]} drive', 300,
                           check=False)
        if driver.status:
            # Whose fault it was stands in one of these.
            told = server.wait(check=False).err if server.finished else ''
            self.fail(driver.err + told + left.qemu_output() +
                      right.qemu_output())
        server.wait()
        for out in (driver.out, left.out('cat /tmp/out')):
            print('# ' + out.splitlines()[-1])
            self.assertIn('good', out)
        for guest in (left, right):
            self.assertGreater(self.counter(guest, 'rx_frames'), 200)
            self.assertEqual(guest.kernel_complaints(), [])
            noise = [line for line in guest.qemu_output().splitlines()
                     if 'nic' in line or 'vtd' in line]
            self.assertEqual(noise, [])
        self.judge(left)


if __name__ == '__main__':
    tap.main()
