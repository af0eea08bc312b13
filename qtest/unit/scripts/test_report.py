# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/test and what it counts: nothing that was not seen to pass."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from guestvm import guest, tap
from guestvm.paths import ROOT

REPORT = ROOT / 'scripts' / 'lib' / 'report.py'
TEST = ROOT / 'scripts' / 'test'


def entry(name, stdout='', result='OK'):
    return {'name': f'models:unit / {name}', 'stdout': stdout,
            'result': result}


class Report(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix='report-'))
        self.addCleanup(shutil.rmtree, self.dir)
        self.suites = []

    def suite(self, name, entries, wanted=None, status=0, text=''):
        base = self.dir / name
        if entries is not None:
            Path(f'{base}.json').write_text(
                ''.join(json.dumps(e) + '\n' for e in entries) + text)
        names = [e['name'] for e in entries or []] + list(wanted or [])
        Path(f'{base}.list').write_text('\n'.join(names) + '\n')
        Path(f'{base}.junit.xml').write_text('<x/>')
        self.suites.append(f'{name}={base}={status}=61')

    def report(self):
        return subprocess.run([sys.executable, REPORT, '--junit',
                               self.dir / 'junit', *self.suites],
                              text=True, stdout=subprocess.PIPE)

    def ends(self, status, line, *parts):
        done = self.report()
        self.assertEqual(done.stdout.splitlines()[-1], line, done.stdout)
        self.assertEqual(done.returncode, status, done.stdout)
        for part in parts:
            self.assertIn(part, done.stdout)

    def test_counts(self):
        """cases of TAP, and tests without; repetitions are told"""
        tests = [entry('a', '1..3\nok 1 /x # SKIP no disk\nOK 2 - y (0.1 s)\n'
                       'ok this is only talk\nok 3 z\n'), entry('b')]
        self.suite('unit', tests)
        self.ends(0, '3 passed, 0 failed, 1 skipped', '1 min  1 s',
                  'skipped: unit: a: /x (no disk)')
        self.assertNotIn('distinct', self.report().stdout)
        self.suite('san-unit', [entry('a', 'ok 1 - y (9.3 s)\nok 2 z\n')])
        self.ends(0, '5 passed, 0 failed, 1 skipped', '3 distinct cases')
        self.assertEqual(sorted(os.listdir(self.dir / 'junit')),
                         ['san-unit.xml', 'unit.xml'])

    def test_failures(self):
        """a case that fails, a test that dies, times out or breaks its plan"""
        self.suite('unit', [entry('a', 'ok 1 x\nnot ok 2 y\n', 'FAIL')], None,
                   1)
        self.ends(1, '1 passed, 1 failed, 0 skipped', 'failed: unit: a: y')
        self.suite('device', [entry('b', 'ok 1 x\n', 'TIMEOUT')], None, 1)
        self.ends(1, '2 passed, 2 failed, 0 skipped',
                  'failed: device: b (TIMEOUT)')

    def test_reasons(self):
        """where a case failed, and of what"""
        raised = ('not ok 1 - x (0.1 s)\n# Traceback (most recent call last):\n'
                  '#   File "/somewhere/test_x.py", line 12, in test_1\n'
                  '#     self.fabric.ping()\n#     ^^^^\n'
                  '#   File "/somewhere/fabric.py", line 7, in ping\n'
                  '#     raise Deaf(\n# Deaf: nobody\n# said a word\nok 2 - y\n'
                  '# Deaf: he\n')
        self.suite('guest', [entry('x', raised, 'FAIL')], None, 1)
        self.suite('unit', [
            entry('c', 'ok 1 x\nnot ok 2 y\nBail out! ERROR:../c.c:9:f: (1 == 2)\n',
                  'ERROR'),
            entry('d', 'ok 1 x\nBail out! ERROR:../d.c:9:f: no\n', 'ERROR')], None, 1)
        self.ends(1, '3 passed, 3 failed, 0 skipped',
                  'failed: guest: x: x (test_x.py:12: Deaf: nobody / said a word)\n',
                  'failed: unit: c: y (../c.c:9:f: (1 == 2))\n',
                  'failed: unit: d (ERROR: ../d.c:9:f: no)\n')

    def test_nothing(self):
        """a suite that runs nothing, or only skips, has failed"""
        self.suite('unit', [])
        self.ends(1, '0 passed, 1 failed, 0 skipped', 'ran no test')
        self.suite('device', [entry('a', '1..0 # SKIP not built\n', 'SKIP')])
        self.ends(1, '0 passed, 2 failed, 1 skipped', 'skipped all its tests')
        self.suites = []
        self.assertEqual(self.report().returncode, 1)

    def test_meson_dies(self):
        """what meson did not come to has failed, and so has meson itself"""
        self.suite('unit', [entry('a', 'ok 1 x\n')], ['models:unit / b'], -9)
        self.ends(1, '1 passed, 1 failed, 0 skipped',
                  'failed: unit: b (did not run)')
        self.suites = []
        self.suite('device', [entry('a', 'ok 1 x\n')], None, 2)
        self.ends(1, '1 passed, 1 failed, 0 skipped', 'ended with status 2')
        self.suites = []
        self.suite('link', [entry('a')], None, 0, '{"name": "fabr')
        self.ends(1, '1 passed, 1 failed, 0 skipped', 'ends half-way')

    def test_names(self):
        """scripts/test refuses suites and numbers that it does not know"""
        for words, told in ((['--suite', 'guests'], 'no such suite: guests'),
                            (['--suite', 'bench'], 'no such suite: bench'),
                            (['--fuzz-seconds', '1m'], '1m: not a number'),
                            (['--suite'], 'usage:'), (['--soak'], 'usage:')):
            done = subprocess.run([TEST, *words], text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(told, done.stderr)


CASES = '''
import unittest
from guestvm import tap

class Good(unittest.TestCase):
    def test_it(self):
        pass

class Untidy(Good):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.leave)

    @staticmethod
    def leave():
        raise RuntimeError('left a mess')

class Unfinished(Good):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError('gave up')

tap.main()
'''


class Tap(unittest.TestCase):
    def test_cleanups(self):
        """a clean-up that fails is a case that fails"""
        done = subprocess.run([sys.executable, '-c', CASES], text=True,
                              stdout=subprocess.PIPE)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], '1..6')
        self.assertRegex(lines[1], '^# FABRIC_SEED=[0-9]+$')
        self.assertEqual(done.returncode, 1)
        for name, good in (('Good', True), ('Untidy', False),
                           ('Unfinished', False)):
            self.assertIn(f'{name}: everything ends well',
                          ' '.join(line for line in lines
                                   if line.startswith('ok') == good))
        self.assertIn('# RuntimeError: left a mess', lines)
        self.assertIn('# RuntimeError: gave up', lines)


class Emulator(unittest.TestCase):
    """A guest whose emulator is a script."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix='emu-'))
        self.addCleanup(shutil.rmtree, self.dir)
        self.program = self.dir / 'qemu-system-x86_64'
        self.guest = guest.Guest('g')
        # No kernel is fetched for it.
        self.guest._arguments = lambda: [str(self.guest.dir / 'qmp')]
        os.environ['QEMU_SYSTEM_X86_64'] = str(self.program)
        self.addCleanup(os.environ.pop, 'QEMU_SYSTEM_X86_64')

    def emulator(self, script):
        self.program.write_text(f'#!{sys.executable}\nimport sys, socket\n'
                                f'{script}\n')
        self.program.chmod(0o755)

    def test_early_end(self):
        """an emulator that ends before it connects is noticed at once"""
        self.emulator("sys.exit('no such option')")
        with self.assertRaisesRegex(RuntimeError, '(?s)status 1.*no such opt'):
            self.guest.start()

    def test_status(self):
        """an emulator that ends with another status than 0 has failed"""
        for status in (0, 3):
            self.emulator(f'''
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile('rw')
print('{{"QMP": {{}}}}', file=f, flush=True)
for line in f:
    print('{{"return": {{}}}}', file=f, flush=True)
    if 'quit' in line:
        sys.exit({status})''')
            self.guest.start()
            if status:
                with self.assertRaisesRegex(guest.QemuFailed, 'status 3'):
                    self.guest.close()
            else:
                self.guest.close()
                self.guest.dir.mkdir()


if __name__ == '__main__':
    tap.main()
