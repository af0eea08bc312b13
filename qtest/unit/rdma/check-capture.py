#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every packet that the transport sends, before tshark and a second ICRC.

usage: check-capture.py GUESTVM_PARENT WRITE_CAPTURE
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PARENT, WRITER = sys.argv[1:3]
sys.path.insert(0, PARENT)
from guestvm import rocecap  # noqa: E402

EVERYTHING = {*rocecap.OPCODES.values(), *rocecap.NAKS.values(), rocecap.RNR}


class Capture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tmp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(tmp.cleanup)
        cls.path = Path(tmp.name) / 'every.pcap'
        subprocess.run([WRITER, cls.path], check=True, timeout=60)

    def test_every_packet(self):
        seen = rocecap.judge(self.path)
        self.assertEqual(set(seen), EVERYTHING)

    def damaged(self, at, bit):
        """The capture with one bit of its first frame flipped."""
        data = bytearray(self.path.read_bytes())
        data[24 + 16 + at] ^= bit
        path = self.path.with_name('damaged.pcap')
        path.write_bytes(data)
        return path

    def test_icrc_is_checked(self):
        first = next(rocecap.frames(self.path))
        for at in (len(first) - 1, rocecap.ETH + 12, 54):
            with self.assertRaisesRegex(rocecap.BadCapture, 'ICRC is wrong'):
                rocecap.judge(self.damaged(at, 0x40))
        # What routers change does not count.
        rocecap.judge(self.damaged(rocecap.ETH + 8, 0x40))

    def test_lengths_are_checked(self):
        # Send Only becomes a Read request, whose header is longer.
        with self.assertRaisesRegex(rocecap.BadCapture, 'malformed'):
            rocecap.judge(self.damaged(rocecap.ETH + 28, 0x04 ^ 0x0c))


if __name__ == '__main__':
    if not any(os.access(os.path.join(d, 'tshark'), os.X_OK)
               for d in os.get_exec_path()):
        print('skipped: tshark is not installed')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
