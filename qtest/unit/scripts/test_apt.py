# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/lib/apt-private.sh on machines that are not like the author's: apt
and its friends are scripts here that print what those machines' print."""

import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from guestvm import tap
from guestvm.paths import ROOT

LIB = ROOT / 'scripts' / 'lib' / 'apt-private.sh'
DEBIAN = 'http://deb.debian.org/debian'

# (what the machine is, lines of `apt-get indextargets`, of `--print-uris`,
#  the mirror)
MACHINES = [
    ('plain', ['Debian|Debian|main|http://ftp.example/debian/'], [],
     'http://ftp.example/debian'),
    ('security first',
     ['Debian|Debian-Security|main|http://s.example/debian-security/',
      'Debian|Debian Backports|main|http://b.example/debian/',
      'Debian|Debian|main|http://ftp.example/debian/'], [],
     'http://ftp.example/debian'),
    ('cloud image', ['Debian|Debian|main|mirror+file:/etc/apt/m/debian.list/'],
     [], 'mirror+file:/etc/apt/m/debian.list'),
    ('proxy with a name of its own',
     ['Node|nodistro|main|https://n.example/node/',
      'Debian|Debian|contrib|https://a.example/artifactory/deb-remote/',
      'Debian|Debian|main|https://a.example/artifactory/deb-remote/'], [],
     'https://a.example/artifactory/deb-remote'),
    ('snapshot', ['Debian|Debian|main|http://s.example/archive/2026/T0/'], [],
     'http://s.example/archive/2026/T0'),
    ('no lists', [],
     ["'https://n.example/node/dists/nodistro/InRelease' n 0",
      "'http://s.example/debian-security/dists/bookworm-security/InRelease' s",
      "'http://ftp.example/deb/dists/bookworm/InRelease' ftp 0",
      "'http://ftp.example/deb/dists/bookworm/main/Packages.xz' ftp 0"],
     'http://ftp.example/deb'),
    ('no lists, mirrors in a file', [],
     ["'mirror+file:/etc/apt/m/debian.list/dists/trixie/InRelease' m 0"],
     'mirror+file:/etc/apt/m/debian.list'),
    ('Ubuntu', ['Ubuntu|Ubuntu|main|http://archive.ubuntu.com/ubuntu/'],
     ["'http://archive.ubuntu.com/ubuntu/dists/noble/InRelease' a 0"], DEBIAN),
    ('nothing', [], [], DEBIAN),
]

# How apt-cache writes "Depends:".
DEPENDS = {'C.UTF-8': 'Depends', 'de_DE.UTF-8': 'Hängt ab von',
           'zh_CN.UTF-8': '依赖', 'ja_JP.UTF-8': '依存', 'fr_FR.UTF-8': 'Dépend'}


class Apt(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix='apt-test-'))
        self.addCleanup(shutil.rmtree, self.dir)
        self.bin = self.dir / 'bin'
        self.bin.mkdir()
        self.log = self.dir / 'log'
        self.log.touch()
        self.keys = self.dir / 'keys'
        self.keys.mkdir()
        (self.keys / 'debian-archive-keyring.gpg').touch()
        self.env = {'PATH': f'{self.bin}:/usr/bin:/bin', 'HOME': '/',
                    'KEYRINGS': str(self.keys)}
        self.fake('dpkg', 'echo amd64')

    def fake(self, name, script):
        """A program of the machine; what it is called with is logged."""
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >> {self.log}\n'
                        f'{script}\n')
        path.chmod(0o755)

    def sh(self, script, check=True, **env):
        done = subprocess.run(
            ['bash', '-c', f'. {shlex.quote(str(LIB))}; {script}'], text=True,
            env={**self.env, **env}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        if check and done.returncode:
            self.fail(f'{script}: {done.returncode}: {done.stderr}')
        return done

    def calls(self, words):
        return sum(words in line
                   for line in self.log.read_text().splitlines())

    def machine(self, targets=(), uris=()):
        def printed(lines):
            return f'printf "%s\\n" {shlex.join(lines)}' if lines else ':'
        self.fake('apt-get', f'case $* in\n'
                  f'indextargets*) {printed(targets)} ;;\n'
                  f'"update --print-uris") {printed(uris)} ;;\n'
                  f'*update*) [ ! -e {self.dir}/broken ] ;;\n'
                  f'*download*) [ ! -e {self.dir}/gone ] ;;\n'
                  'esac')

    def init(self, **kwargs):
        return self.sh(f'apt_private_init {self.dir}/apt trixie', **kwargs)

    def test_mirror(self):
        """the mirror is the machine's own, whatever its form"""
        for what, targets, uris, mirror in MACHINES:
            with self.subTest(what):
                self.machine(targets, uris)
                done = self.sh('apt_mirror')
                self.assertEqual(done.stdout.strip(), mirror)
                self.assertEqual('DEBIAN_MIRROR' in done.stderr,
                                 mirror == DEBIAN, done.stderr)

    def test_mirror_override(self):
        """DEBIAN_MIRROR comes first"""
        self.machine(['Debian|Debian|main|http://ftp.example/debian/'])
        done = self.sh('apt_mirror',
                       DEBIAN_MIRROR='mirror+file:/tmp/list')
        self.assertEqual(done.stdout, 'mirror+file:/tmp/list\n')
        self.init(DEBIAN_MIRROR='file:/srv/debian')
        self.assertIn('] file:/srv/debian trixie main',
                      (self.dir / 'apt/sources.list').read_text())

    def test_locales(self):
        """dependencies are read whatever the user's language"""
        words = '\n'.join(f'{loc}) word="{word}" ;;'
                          for loc, word in DEPENDS.items())
        self.fake('apt-cache',
                  f'case ${{LANGUAGE:-${{LC_ALL:-$LANG}}}} in\n{words}\nesac\n'
                  'echo pkg; echo "  $word: first-1.0-amd64"\n'
                  'echo " |$word: second"; echo "  Pre$word: third"\n'
                  'echo "  Conflicts: fourth"')
        for loc in DEPENDS:
            with self.subTest(loc):
                done = self.sh(f'apt_private_depends {self.dir} pkg',
                               LANG=loc, LC_ALL=loc, LANGUAGE=loc)
                self.assertEqual(done.stdout.split(),
                                 ['first-1.0-amd64', 'second', 'third'])

    def test_system_programs(self):
        """programs of /usr/sbin are found without it on the user's PATH"""
        self.assertIn(':/usr/sbin:', self.sh('echo $PATH').stdout)
        self.assertEqual(self.sh('echo $PATH', PATH='/usr/sbin:/bin').stdout,
                         '/usr/sbin:/bin\n')

    def test_lists_age(self):
        """lists are fetched once a day, and old ones do without a network"""
        self.machine(['Debian|Debian|main|http://ftp.example/debian/'])
        self.init()
        self.init()
        self.assertEqual(self.calls('any update'), 1)
        old = (self.dir / 'apt/updated').stat().st_mtime - 90000
        os.utime(self.dir / 'apt/updated', (old, old))
        self.init()
        self.assertEqual(self.calls('any update'), 2)
        os.utime(self.dir / 'apt/updated', (old, old))
        (self.dir / 'broken').touch()
        self.assertIn('old ones', self.init().stderr)
        self.assertEqual(self.calls('any update'), 3)

    def test_lists_missing(self):
        """without lists and without an archive it fails"""
        self.machine(['Debian|Debian|main|http://ftp.example/debian/'])
        (self.dir / 'broken').touch()
        self.assertNotEqual(self.init(check=False).returncode, 0)
        (self.dir / 'broken').unlink()
        self.init()
        # Another mirror has lists of its own.
        self.init(DEBIAN_MIRROR='http://other.example/debian')
        self.assertEqual(self.calls('any update'), 3)

    def test_download_again(self):
        """what left the archive is looked for once more, in new lists"""
        self.machine(['Debian|Debian|main|http://ftp.example/debian/'])
        self.init()
        self.fake('apt-get', f'case $* in *update*) rm -f {self.dir}/gone ;;\n'
                  f'*) [ ! -e {self.dir}/gone ] ;; esac')
        (self.dir / 'gone').touch()
        self.sh(f'apt_private_download {self.dir}/apt pkg')
        self.assertEqual(self.calls('any update'), 2)
        self.fake('apt-get', 'case $* in *update*) ;; *) echo 404; false ;; '
                  'esac')
        done = self.sh(f'apt_private_download {self.dir}/apt pkg', check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('404', done.stderr)

    def test_keyring(self):
        """Debian's keys are installed where they are missing"""
        self.machine()
        (self.keys / 'debian-archive-keyring.gpg').unlink()
        self.fake('dpkg-query', 'false')
        self.fake('id', 'echo 0')
        self.fake('apt-get', f'touch {self.keys}/debian-archive-keyring.pgp')
        done = self.sh('apt_keyring')
        self.assertEqual(done.stdout.splitlines()[-1],
                         f'{self.keys}/debian-archive-keyring.pgp')
        self.assertEqual(self.calls('debian-archive-keyring'), 2)

    def test_no_sudo(self):
        """without root and sudo it says what root has to install"""
        for name in ('bash', 'rm', 'cat'):
            (self.bin / name).symlink_to(shutil.which(name))
        self.fake('dpkg-query', '[ "${@: -1}" = there ] && printf installed')
        self.fake('id', 'echo 1000')
        # The library adds the system's folders; sudo must not be in them.
        done = self.sh(f'PATH={self.bin}; apt_install there a b', check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('apt-get install a b\n', done.stderr)
        self.fake('sudo', 'shift 2; "$@"')
        self.fake('apt-get', ':')
        self.sh(f'PATH={self.bin}; apt_install there a b')
        self.assertEqual(
            self.calls('apt-get -q install -y --no-install-recommends a b'), 2)


if __name__ == '__main__':
    tap.main()
