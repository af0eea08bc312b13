# SPDX-License-Identifier: GPL-2.0-or-later
"""An RC connection whose ends compare every byte: over a wire that loses,
doubles, reorders and changes frames, and while one of the two guests moves: the
wires follow to the new QEMU, and what was under way arrives once."""

import time
import unittest
from pathlib import Path

from guestvm import tap
from guestvm.guest import SCALE
from guestvm.rdmacase import RdmaCase, counter

STREAM = Path(__file__).resolve().parent / 'pyverbs' / 'stream.py'
SERVE, DRIVE = (f'python3 /root/stream.py {role}'
                for role in ('serve', 'drive 10.5.0.{}'))


class Migrate(RdmaCase):
    """The left guest stays; its ends of the wires listen, and accept the new
    QEMU when the old one is gone."""

    moves = 0

    @classmethod
    def make(cls, name, index, wires=None):
        guest = super().make(name, index, wires)
        guest.sets += ['python', 'pyverbs']
        guest.files['/root/stream.py'] = STREAM
        return guest

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for guest in cls.guests:
            guest.wait_for('ibv_devinfo | grep PORT_ACTIVE')

    def connect(self, server, client, index, hold):
        """A stream between two guests; (guest, job) of server and client."""
        for guest in (server, client):
            guest.run('rm -f /tmp/stop /tmp/connected; ' +
                      ('touch' if hold else 'rm -f') + ' /tmp/hold')
        serving = server.spawn(SERVE, 300)
        server.wait_for('ss -Hltn "sport = :18520" | grep -q .')
        driving = client.spawn(DRIVE.format(index), 300)
        for guest in (server, client):
            guest.wait_for('[ -e /tmp/connected ]')
        if not hold:
            self.progress(client, 300)
        return serving, driving

    def progress(self, guest, more):
        """Wait until an adapter has completed so many requests more."""
        start = counter(guest, 'completions')
        deadline = time.monotonic() + 120 * SCALE
        while counter(guest, 'completions') < start + more:
            self.assertLess(time.monotonic(), deadline, 'no progress')
            time.sleep(0.02)

    def move(self, *jobs):
        """Migrate the right guest to a QEMU of its own."""
        cls = type(self)
        cls.moves += 1
        source = cls.right
        target = cls.make(f'right{cls.moves}', 2, cls.left.dir)
        # The guest's name is in the kernel's command line.
        target.name = source.name
        target.incoming = f'unix:{target.dir}/incoming'
        target.start()
        for job in jobs:
            job.moved(target)
        source.migrate_to(target, target.incoming)
        source.kill()
        cls.right = target
        return target

    def finish(self, serving, driving):
        """Stop a stream; both ends must have compared the same rounds."""
        driving.guest.run('touch /tmp/stop; rm -f /tmp/hold')
        outs = [job.wait().out for job in (driving, serving)]
        self.assertIn('rounds good', outs[0])
        self.assertEqual(*outs)
        print('# ' + outs[0].strip())
        for guest in (self.left, self.right):
            self.assertEqual(guest.kernel_complaints(), [])
            noise = [line for line in guest.qemu_output().splitlines()
                     if 'hca:' in line]
            self.assertEqual(noise, [])

    def test_0_faults(self):
        """lost, doubled, reordered and changed frames, both ways: each byte
        written, read and sent is right, and each atomic is done once"""
        kinds = ('drop', 'duplicate', 'reorder', 'corrupt')
        serving, driving = self.connect(self.left, self.right, 1, hold=True)
        before = sum(counter(g, 'retransmits') for g in self.guests)
        with self.faulty(self.guests, ('out', 'in'), kinds) as done:
            self.right.run('rm /tmp/hold')
            # Five completions a round.
            self.progress(self.right, 200)
            counts = {kind: done(kind) for kind in kinds}
        print('# ' + ', '.join(f'{n} {kind}' for kind, n in counts.items()))
        for kind, n in counts.items():
            self.assertGreater(n, 0, kind)
        self.assertGreater(sum(counter(g, 'retransmits')
                               for g in self.guests), before)
        self.finish(serving, driving)

    def test_1_idle(self):
        """open QPs without traffic: they work in the new QEMU"""
        serving, driving = self.connect(self.left, self.right, 1, hold=True)
        self.move(driving)
        self.right.run('rm /tmp/hold')
        self.progress(self.right, 300)
        self.finish(serving, driving)

    def test_2_requester(self):
        """the side that writes, reads and sends moves in the midst of it"""
        serving, driving = self.connect(self.left, self.right, 1, hold=False)
        self.move(driving)
        self.assertFalse(serving.finished or driving.finished)
        self.progress(self.right, 300)
        self.finish(serving, driving)

    def test_3_responder(self):
        """the side that is written to and read from moves in the midst"""
        serving, driving = self.connect(self.right, self.left, 2, hold=False)
        self.move(serving)
        self.assertFalse(serving.finished or driving.finished)
        self.progress(self.right, 100)
        self.finish(serving, driving)


if __name__ == '__main__':
    tap.main()
