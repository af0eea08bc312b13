# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver of docs/howto/driver-tutorial.rst does what the page says."""

import unittest

from guestvm import tap
from guestvm.guest import Guest, NotAvailable, driver_modules, has_device

# Its broadcast, as the page shows it.
FRAME = (b'\xff' * 6 + b'\x02' * 6 + b'\x88\xb5' + b'the first packet'
         ).ljust(60, b'\0')


class Tutorial(unittest.TestCase):
    def test_first_packet(self):
        """from the first register to the first packet"""
        if not has_device('x86_64', 'ncic-nic'):
            raise NotAvailable('qemu-system-x86_64 has no device ncic-nic')
        if not any(p.stem == 'first_packet' for p in driver_modules('x86_64')):
            raise NotAvailable('first_packet.ko is not built')
        guest = Guest('tutorial', nics=[('user', 'ncic-nic')])
        self.addCleanup(guest.close)
        pcap = guest.dir / 'first.pcap'
        guest.args += ['-object', 'filter-dump,id=dump,netdev=net0,'
                                  f'file={pcap}']
        guest.boot()
        guest.run('rmmod ncic_eth; modprobe first_packet')
        told = guest.out('dmesg | grep first_packet')
        self.assertIn('firmware id 0xffff, 32 transmit queues', told)
        self.assertIn('sent 31 bytes, status 0x0', told)
        guest.run('rmmod first_packet')
        guest.qmp.command('object-del', id='dump')
        self.assertEqual(pcap.read_bytes().count(FRAME), 1)
        self.assertEqual(guest.kernel_complaints(), [])
        self.assertEqual([line for line in guest.qemu_output().splitlines()
                          if 'nic' in line.lower()], [])


if __name__ == '__main__':
    tap.main()
