#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Train a link between two emulators that capture it, and read the files.

UB_LUA names the dissector.  There is no guest: the ports are enabled by qtest
commands.
"""
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from guestvm import tap
from guestvm.clock import SCALE, deadline
from guestvm.guest import NotAvailable
from guestvm.paths import BUILD

UB_LUA = os.environ['UB_LUA']
QEMU = os.path.join(os.environ.get('FABRIC_QEMU_DIR', BUILD / 'qemu'),
                    'qemu-system-x86_64')
BAR = 0xe0000000
PORT_STATUS, PORT_CTRL = BAR + 0x1000, BAR + 0x1004
UP = 3  # PHY_UP and DLL_UP
DEADLINE = 120
PACKET, BLOCK, TRAINING = range(3)
SENT = 1


class End:
    """An emulator with one ubc, driven by qtest on its standard input."""

    def __init__(self, tmp, name, chardev, *options):
        self.log = open(os.path.join(tmp, name + '.err'), 'w+',
                        encoding='utf-8')
        device = ','.join(('ubc,id=ub0,addr=2,chardev0=c,clock=realtime',) +
                          options)
        self.process = subprocess.Popen(
            [QEMU, '-M', 'q35', '-accel', 'qtest', '-nodefaults', '-display',
             'none', '-m', '64', '-qtest', 'stdio', '-qtest-log', 'none',
             '-chardev', f'socket,id=c,path={tmp}/wire,{chardev}',
             '-device', device],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True, env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'))
        # What hangs is ended, and then the pipe with it.
        self.watchdog = threading.Timer((DEADLINE + 30) * SCALE,
                                        self.process.kill)
        self.watchdog.start()

    def command(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if answer[:1] != ['OK']:
            raise RuntimeError(f'{text}: {answer}')
        return int(answer[1], 16) if len(answer) > 1 else None

    def enable(self):
        for register, value in (0x10, BAR), (0x14, 0), (0x04, 6):
            self.command(f'outl 0xcf8 {0x80001000 | register:#x}')
            self.command(f'outl 0xcfc {value:#x}')
        self.command(f'writel {PORT_CTRL:#x} 1')

    def status(self):
        return self.command(f'readl {PORT_STATUS:#x}')

    def stop(self):
        """End it; its exit status, and what it said on standard error."""
        self.process.stdin.close()
        self.process.terminate()
        status = self.process.wait(120 * SCALE)
        self.watchdog.cancel()
        self.process.stdout.close()
        self.log.seek(0)
        said = self.log.read()
        self.log.close()
        return status, said


def records(path):
    """(time, interface, record) of a little-endian pcapng file."""
    with open(path, 'rb') as file:
        data = file.read()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from('<II', data, at)
        assert struct.unpack_from('<I', data, at + length - 4) == (length,)
        if kind == 6:
            interface, high, low, size = struct.unpack_from('<4I', data,
                                                            at + 8)
            yield high << 32 | low, interface, data[at + 28:at + 28 + size]
        at += length


class Capture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.access(QEMU, os.X_OK):
            raise NotAvailable('the emulator is not built, see scripts/setup')

    def link(self, tmp, first, second):
        """Train a link with options of both ends; what the ends said."""
        ends = []
        try:
            ends.append(End(tmp, 'a', 'server=on,wait=off', *first))
            ends[0].enable()
            ends.append(End(tmp, 'b', 'reconnect-ms=100', *second))
            ends[1].enable()
            until = deadline(DEADLINE)
            while any(end.status() != UP for end in ends):
                self.assertLess(time.monotonic(), until, 'no link')
                time.sleep(0.05)
        finally:
            ended = [end.stop() for end in ends]
        self.assertEqual([status for status, _ in ended], [0, 0], ended)
        return [said for _, said in ended]

    def test_blocks(self):
        """what a link says to train is in the capture, and nothing else"""
        started = time.time_ns()
        with tempfile.TemporaryDirectory() as tmp:
            files = [os.path.join(tmp, n) for n in ('a.pcapng', 'b.pcapng')]
            said = self.link(tmp, (f'pcap={files[0]}', 'pcap-blocks=on'),
                             (f'pcap={files[1]}',))
            self.assertNotIn('ub', ''.join(said))
            seen = list(records(files[0]))
            # Nothing but packets without the option, and nobody sent one.
            self.assertEqual(list(records(files[1])), [])
        ended = time.time_ns()
        times = [when for when, *_ in seen]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], started - 10**9)
        self.assertLess(times[-1], ended + 10**9)
        for sent in 0, SENT:
            sets = [r for _, _, r in seen
                    if r[1] == TRAINING and r[2] & SENT == sent]
            blocks = [r for _, _, r in seen
                      if r[1] == BLOCK and r[2] & SENT == sent]
            self.assertEqual({r[4] for r in sets}, set(range(8)))
            # Discovery and Config.
            self.assertLessEqual({0xa, 0xb}, {r[8] >> 4 for r in sets})
            # Init and Crd_Ack, whole and with their BCRC.
            self.assertLessEqual({0xc8, 0x24}, {r[10] for r in blocks})
            for r in blocks:
                self.assertEqual(len(r), 8 + 20 * (r[6] << 8 | r[7]))
                self.assertTrue(r[2] & 2)

    def test_dissector(self):
        """the dissector finds nothing wrong in it"""
        tshark = shutil.which('tshark')
        if not tshark:
            raise NotAvailable('tshark is not installed')
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, 'a.pcapng')
            self.link(tmp, (f'pcap={path}', 'pcap-blocks=on'), ())
            # One record gets another version, which shows that it does look.
            seen = [r for _, _, r in records(path)]
            number = max(n for n, r in enumerate(seen, 1) if r[1] == TRAINING)
            with open(path, 'r+b') as file:
                at = file.read().rindex(seen[number - 1])
                file.seek(at)
                file.write(bytes([seen[number - 1][0] ^ 0x80]))
            said = subprocess.run(
                [tshark, '-n', '-X', f'lua_script:{UB_LUA}', '-r', path, '-Y',
                 '_ws.malformed || ub.short || ub.ltb.crc_bad || '
                 'ub.version_bad || !ub', '-T', 'fields',
                 '-e', 'frame.number'],
                capture_output=True, text=True, timeout=240 * SCALE,
                check=True)
            self.assertEqual(said.stdout.split(), [str(number)])
            self.assertNotIn('Lua', said.stderr)

    def test_full_disk(self):
        """a capture that cannot be written ends with a word, the link not"""
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        with tempfile.TemporaryDirectory() as tmp:
            said = self.link(tmp, ('pcap=/dev/full', 'pcap-blocks=on'), ())
        self.assertEqual(said[0].count("the capture in '/dev/full' ends"), 1)

    def test_no_file(self):
        """a capture that cannot be opened is refused"""
        done = subprocess.run(
            [QEMU, '-M', 'q35', '-accel', 'qtest', '-nodefaults', '-display',
             'none', '-device', 'ubc,pcap=/nonexistent/x.pcapng'],
            capture_output=True, text=True, timeout=120 * SCALE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/x.pcapng", done.stderr)


if __name__ == '__main__':
    tap.main()
