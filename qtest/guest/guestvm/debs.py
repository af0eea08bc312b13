# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages by apt in a directory of its own (scripts/lib/apt-private.sh).

Nothing is installed: packages are resolved against an empty dpkg status by
apt's own solver, downloaded with the archive's signature verified, and read.
"""

import os
import re
import shlex
import subprocess
import tarfile
from pathlib import Path

from .paths import GUEST_BUILD, ROOT

APT_LIB = ROOT / 'scripts' / 'lib' / 'apt-private.sh'
SUITE = os.environ.get('FABRIC_GUEST_SUITE', 'bookworm')


class AptError(RuntimeError):
    """apt could not resolve or fetch packages."""


class Apt:
    """The private apt of one architecture."""

    def __init__(self, debian_arch):
        self.arch = debian_arch
        self.dir = GUEST_BUILD / 'apt' / debian_arch

    def _shell(self, script, cwd=None):
        script = f'. {shlex.quote(str(APT_LIB))}; {script}'
        done = subprocess.run(['bash', '-c', script], text=True, cwd=cwd,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise AptError(f'{script}\n{done.stdout[-2000:]}'
                           f'{done.stderr[-4000:]}')
        return done.stdout

    def init(self):
        self._shell(f'apt_private_init {shlex.quote(str(self.dir))} '
                    f'{SUITE} {self.arch}')

    def _run(self, *args, cwd=None):
        words = ' '.join(shlex.quote(a) for a in args)
        return self._shell(
            f'apt_private {shlex.quote(str(self.dir))} {words}', cwd=cwd)

    def solve(self, packages):
        """{name: (file name, uri)} of packages and all that they depend on."""
        out = self._run('apt-get', '-q', 'install', '--print-uris', '-y',
                        *packages)
        found = {}
        for uri, name in re.findall(r"^'([^']+)' (\S+\.deb) ", out, re.M):
            found[name.split('_')[0]] = (name.replace('%3a', ':'), uri)
        return found

    def fetch(self, names):
        """Download packages by name (no dependencies); {name: path}."""
        pool = self.dir / 'debs'
        pool.mkdir(parents=True, exist_ok=True)
        self._run('apt-get', '-q', 'download', *names, cwd=pool)
        result = {}
        for name in names:
            debs = sorted(pool.glob(f'{name.split("=")[0]}_*.deb'),
                          key=lambda p: p.stat().st_mtime)
            if not debs:
                raise AptError(f'{name} was not downloaded')
            result[name] = debs[-1]
        return result

    def depends(self, package):
        """The direct dependencies of a package, by name."""
        out = self._run('apt-cache', 'depends', '--no-recommends',
                        '--no-suggests', package)
        return re.findall(r'Depends: (\S+)', out)


def members(deb):
    """Yield (path, TarInfo, data or None) of a package's files."""
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', str(deb)],
                          stdout=subprocess.PIPE) as proc:
        with tarfile.open(fileobj=proc.stdout, mode='r|') as tar:
            for info in tar:
                data = tar.extractfile(info).read() if info.isreg() else None
                yield info.name.lstrip('.').rstrip('/'), info, data


def unpack(deb, root):
    """Unpack a package below a directory."""
    Path(root).mkdir(parents=True, exist_ok=True)
    subprocess.run(['dpkg-deb', '-x', str(deb), str(root)], check=True)
