# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages by apt in a directory of its own (scripts/lib/apt-private.sh).

Nothing is installed: packages are resolved against an empty dpkg status by
apt's own solver, downloaded with the archive's signature verified, and read.
"""

import re
import shlex
import subprocess
import tarfile
from pathlib import Path

from .paths import BUILD, ROOT, SUITE

APT_LIB = ROOT / 'scripts' / 'lib' / 'apt-private.sh'


class AptError(RuntimeError):
    """apt could not resolve or fetch packages."""


class Apt:
    """The private apt of one release and architecture."""

    def __init__(self, debian_arch, suite=SUITE):
        self.arch = debian_arch
        self.suite = suite
        self.dir = BUILD / 'apt' / f'{suite}-{debian_arch}'

    def _shell(self, function, *args):
        """Call a function of the shell library on this apt's directory."""
        words = shlex.join([function, str(self.dir), *args])
        done = subprocess.run(
            ['bash', '-c', f'. {shlex.quote(str(APT_LIB))}; {words}'],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise AptError(f'{words}\n{done.stdout[-2000:]}'
                           f'{done.stderr[-4000:]}')
        return done.stdout

    def init(self):
        self._shell('apt_private_init', self.suite, self.arch)

    def refresh(self):
        """Fetch the archive's lists again."""
        self._shell('apt_private_update')

    def solve(self, packages):
        """{name: (file name, uri)} of packages and all that they depend on."""
        out = self._shell('apt_private', 'apt-get', '-q', 'install',
                          '--print-uris', '-y', *packages)
        found = {}
        for uri, name in re.findall(r"^'([^']+)' (\S+\.deb) ", out, re.M):
            found[name.split('_')[0]] = (name.replace('%3a', ':'), uri)
        return found

    def fetch(self, names):
        """Download packages by name (no dependencies); {name: path}."""
        self._shell('apt_private_download', *names)
        result = {}
        for name in names:
            debs = sorted((self.dir / 'debs').glob(f'{name.split("=")[0]}_*.deb'),
                          key=lambda p: p.stat().st_mtime)
            if not debs:
                raise AptError(f'{name} was not downloaded')
            result[name] = debs[-1]
        return result

    def depends(self, package):
        """The direct dependencies of a package, by name."""
        return self._shell('apt_private_depends', package).split()


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
