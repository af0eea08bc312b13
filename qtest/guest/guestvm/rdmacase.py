# SPDX-License-Identifier: GPL-2.0-or-later
"""The base of tests of ncic-mthca in two guests."""

import contextlib
import unittest

from . import net
from .guest import CommandFailed, Guest, NotAvailable, has_device
from .hostnet import stream

MODEL = 'ncic-mthca'
PORT = 18515            # of the address exchange of all the programs here


def interface(guest, mac):
    """Wait for the network interface with a MAC address; its name."""
    path = guest.wait_for(f'grep -l {mac} /sys/class/net/*/address')
    return path.split('/')[4]


def need_model():
    """Raise NotAvailable where the emulator has no ncic-mthca."""
    if not has_device('x86_64', MODEL):
        raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')


def counter(guest, name):
    """A counter of the adapter "hca"."""
    return guest.qmp.command('qom-get', path='/machine/peripheral/hca',
                             property=f'counter-{name}')


def start_opensm(guest, guests):
    """A subnet manager in one guest; wait until it has brought up all."""
    for each in guests:
        each.wait_for('ibv_devinfo | grep PORT_INIT')
    guest.run('mkdir -p /var/log /var/cache/opensm\n'
              'opensm -B -f /tmp/opensm.log </dev/null >/dev/null 2>&1', 60)
    for each in guests:
        each.wait_for('ibv_devinfo | grep PORT_ACTIVE', 60)


class RdmaCase(unittest.TestCase):
    """Two guests: an RDMA wire and an Ethernet wire for address exchange."""
    left = right = None
    # Extra properties of the adapters, and their kind of wire.
    props = ''
    wire = staticmethod(stream)
    guests = ()

    @classmethod
    def rdma_nic(cls, netdev, index):
        return (netdev, f'{MODEL},id=hca,mac=52:54:00:00:05:0{index},'
                        f'lid={index}{cls.props}')

    @classmethod
    def make(cls, name, index, wires=None):
        guest = Guest(name, rdma=True, memory=512)
        server = wires is None
        wires = wires or guest.dir
        ends = [make(wires / w, server=server,
                     reconnect_ms=0 if server else 100)
                for make, w in ((cls.wire, 'rdma'), (stream, 'ether'))]
        guest.nics = [cls.rdma_nic(ends[0], index),
                      (ends[1], f'virtio-net-pci,id=eth,'
                                f'mac=52:54:00:00:06:0{index}')]
        cls.addClassCleanup(guest.close)
        cls.guests = (*cls.guests, guest)
        return guest

    @classmethod
    def ready(cls, guest, index):
        guest.wait_ready()
        net.static(guest, interface(guest, f'52:54:00:00:06:0{index}'),
                   f'10.5.0.{index}/24')
        guest.run('ip link set lo up')

    @classmethod
    def setUpClass(cls):
        need_model()
        cls.left = cls.make('left', 1).start()
        cls.right = cls.make('right', 2, cls.left.dir).start()
        cls.ready(cls.left, 1)
        cls.ready(cls.right, 2)
        net.reachable(cls.right, '10.5.0.1')

    # ---- steps ----

    def pair(self, command, timeout=120, server_options='',
             client_options=''):
        """Run a program as server left and as client right; outputs."""
        server = self.server = self.left.spawn(f'{command} {server_options}',
                                               timeout)
        self.left.wait_for(f'ss -Hltn "sport = :{PORT}" | grep -q .')
        client = self.right.run(f'{command} {client_options} 10.5.0.1',
                                timeout)
        return server.wait().out, client.out

    def prop(self, guest, name, value):
        guest.qmp.command('qom-set', path='/machine/peripheral/hca',
                          property=name, value=value)

    def pingpong(self, kind, options='', timeout=120, **more):
        """A ping-pong whose programs compare what they receive."""
        for out in self.pair(f'ibv_{kind}_pingpong -c {options}', timeout,
                             **more):
            self.assertRegex(out, r'\d+ iters in')
            self.assertNotIn('invalid data', out)

    def pingpong_to_the_end(self, options, timeout, attempts=4):
        """RC ping-pong on a wire that loses packets.  Who has its last message
        exits: if its last acknowledgement is lost, nobody is left to repeat it,
        and the other must see its retries exceeded; as a client soft-RoCE may
        wait for ever instead.  That is one run in a hundred at 1 %; any other
        failure counts."""
        for attempt in range(1, attempts + 1):
            try:
                return self.pingpong('rc', options, timeout)
            except CommandFailed as err:
                if attempt == attempts or not self.left_alone(str(err)):
                    raise
                print(f'# attempt {attempt} of {attempts}: the last '
                      'acknowledgement was lost')

    def left_alone(self, failure):
        """Whether who failed in pair() did so after the other had all."""
        if failure.startswith(self.left.name + ':'):
            return 'transport retry counter exceeded' in failure
        if not self.server.finished:
            return False
        done = self.server.wait(check=False)
        return not done.status and 'iters in' in done.out

    @contextlib.contextmanager
    def faulty(self, guests, ways, kinds=('drop', 'duplicate', 'reorder')):
        """The adapters of these guests lose, double and reorder (or what else
        there is) one frame of a hundred, out or in or both; yields a function
        that tells how many they have lost, or had of another kind."""
        faults = {f'fault-{way}-{what}-ppm': 10000 for way in ways
                  for what in kinds}
        seeds = {f'fault-{way}-seed': 7 for way in ways}

        def done(kind):
            return sum(counter(g, f'fault_{kind}') for g in guests)
        before = {kind: done(kind) for kind in kinds}
        for guest in guests:
            for name, value in (faults | seeds).items():
                self.prop(guest, name, value)
        try:
            yield lambda kind='drop': done(kind) - before[kind]
        finally:
            for guest in guests:
                for name in faults:
                    self.prop(guest, name, 0)

    def check_guests(self):
        """No complaint of a kernel, no broken rule in QEMU's log."""
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])
            noise = [line for line in guest.qemu_output().splitlines()
                     if 'hca:' in line]
            self.assertEqual(noise, [])
