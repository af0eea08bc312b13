# SPDX-License-Identifier: GPL-2.0-or-later
"""How a program of guest tests ends that is told to."""
import signal
import subprocess
import sys
import unittest

from guestvm import tap

PROGRAM = """
import atexit, time, unittest
from guestvm import tap

class Two(unittest.TestCase):
    def test_a(self):
        atexit.register(print, 'cleaned up', flush=True)
        print('begun', flush=True)
        time.sleep(60)

    def test_b(self):
        print('went on', flush=True)

tap.main()
"""


class Told(unittest.TestCase):
    def test_sigterm(self):
        """SIGTERM ends it at once, guests and all: no further test."""
        with subprocess.Popen([sys.executable, '-c', PROGRAM], text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as proc:
            while proc.stdout.readline() not in ('begun\n', ''):
                pass
            proc.send_signal(signal.SIGTERM)
            out, err = proc.communicate(timeout=30)
        self.assertEqual(proc.returncode, 1, err)
        self.assertNotIn('went on', out)
        self.assertIn('cleaned up', out)
        self.assertIn('terminated', err)


if __name__ == '__main__':
    tap.main()
