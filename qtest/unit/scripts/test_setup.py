# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/setup in somebody's QEMU tree, and drivers that do not fit."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from guestvm import guest, kernel, tap
from guestvm.paths import ROOT

SETUP = ROOT / 'scripts' / 'setup'
HOOKS = ROOT / 'scripts' / 'qemu' / 'hooks.patch'


def originals(patch):
    """The files that a patch applies to, as far as it shows them."""
    files, lines = {}, None
    for line in patch.splitlines():
        hunk = re.match(r'@@ -(\d+)', line)
        if line.startswith('--- '):
            lines = files.setdefault(line[4:].split('\t')[0].split('/', 1)[1],
                                     [])
        elif hunk:
            lines += [f'line {n}' for n in range(len(lines),
                                                 int(hunk.group(1)) - 1)]
        elif lines is not None and line[:1] in (' ', '-') and line[:2] != '--':
            lines.append(line[1:])
    return {name: '\n'.join(lines) + '\n' for name, lines in files.items()}


class Tree(unittest.TestCase):
    def setUp(self):
        self.tree = Path(tempfile.mkdtemp(prefix='qemu-tree-'))
        self.addCleanup(shutil.rmtree, self.tree)
        self.files = {**originals(HOOKS.read_text()), 'VERSION': '10.0.0\n'}
        for name, text in self.files.items():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(text)

    def contents(self):
        return {str(p.relative_to(self.tree)): p.read_text()
                for p in self.tree.rglob('*') if p.is_file()}

    def unlink(self):
        return subprocess.run([SETUP, '--unlink', self.tree.name],
                              cwd=self.tree.parent, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_unlink(self):
        """links and patch leave a tree as it was, also half of them"""
        for hooked in (True, False):
            with self.subTest(hooked=hooked):
                (self.tree / 'hw').mkdir(exist_ok=True)
                (self.tree / 'hw/fabric').symlink_to(ROOT / 'hw')
                if hooked:
                    subprocess.run(['patch', '-s', '-p1', '-i', HOOKS],
                                   cwd=self.tree, check=True)
                    shutil.copy(HOOKS, self.tree / '.hooks.patch')
                    self.assertNotEqual(self.contents(), self.files)
                done = self.unlink()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertFalse((self.tree / 'hw/fabric').is_symlink())
                self.assertEqual(self.contents(), self.files)

    def test_unlink_elsewhere(self):
        """what is no QEMU tree is not touched"""
        (self.tree / 'VERSION').unlink()
        done = self.unlink()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('no QEMU tree', done.stderr)

    def test_relative(self):
        """a tree may be named from where one stands"""
        (self.tree / 'VERSION').write_text('9.0.0\n')
        done = subprocess.run([SETUP, '--no-install'], cwd=self.tree.parent,
                              env={**os.environ, 'QEMU_SRC': self.tree.name},
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f'{self.tree.resolve()} is not QEMU', done.stderr)


class Packages(unittest.TestCase):
    # What every build of a Debian package has.
    ESSENTIAL = {'gcc', 'libc6-dev', 'make', 'dpkg-dev', 'xz-utils', 'patch'}

    def packages(self, *options):
        return set(subprocess.run(
            [ROOT / 'scripts/setup', '--print-packages', *options], check=True,
            stdout=subprocess.PIPE, text=True).stdout.split())

    def test_build_only(self):
        """who installs for himself needs less, and debian/control names it"""
        needed = self.packages('--no-install')
        self.assertLess(needed, self.packages())
        self.assertNotIn('tshark', needed)
        control = (ROOT / 'debian/control').read_text(encoding='utf-8')
        depends = control.partition('Build-Depends:')[2].partition('\nStandards')[0]
        named = {d.split()[0] for d in depends.split(',')}
        self.assertEqual(needed - self.ESSENTIAL - named, set())


class Drivers(unittest.TestCase):
    def setUp(self):
        self.build = Path(tempfile.mkdtemp(prefix='build-'))
        self.addCleanup(shutil.rmtree, self.build)
        for patch in (mock.patch.object(guest, 'BUILD', self.build),
                      mock.patch.object(kernel, 'built_for',
                                        lambda path: path.read_text())):
            patch.start()
            self.addCleanup(patch.stop)
        self.kern = kernel.Kernel('x86_64', '6.1.0-50-amd64', '/k', '/m',
                                  'bookworm')

    def built(self, suite, release):
        place = self.build / 'drivers/x86_64' / suite
        place.mkdir(parents=True)
        (place / 'ubc.ko').write_text(release)
        return place / 'ubc.ko'

    def test_fit(self):
        """a guest gets the drivers of its kernel only"""
        self.built('trixie', '6.12.1')
        self.assertEqual(guest.driver_modules('x86_64', self.kern), [])
        mine = self.built('bookworm', self.kern.release)
        self.assertEqual(guest.driver_modules('x86_64', self.kern), [mine])

    def test_stale(self):
        """drivers of another version of the kernel are an error"""
        self.built('bookworm', '6.1.0-49-amd64')
        with self.assertRaisesRegex(guest.WrongKernel, '6.1.0-49.*6.1.0-50'):
            guest.driver_modules('x86_64', self.kern)


if __name__ == '__main__':
    tap.main()
