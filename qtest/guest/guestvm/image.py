# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's root: an initramfs in layers, each a cpio archive.

A layer per package set (programs and libraries), one for the kernel modules
of the chosen sets, one for the drivers under test, one for a test's own files.
The kernel unpacks concatenated archives one after another, so a guest's
initramfs is the layers end to end; what did not change is not built again.
"""

import fnmatch
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from . import debs, elf, kernel
from .cpio import CpioWriter
from .paths import ARCHES, GUEST_BUILD, GUEST_ROOT
from .sets import SETS

# Packages that no set takes a file from; they are large or many.
UNUSED = ('perl*', 'libperl*', 'passwd', 'adduser', 'dpkg', 'tar', 'udev',
          'usrmerge', 'lib*-perl', 'debconf', 'libpam*', 'init-system*',
          'gcc-*-base', 'libsemanage*', 'libsepol*', 'sysvinit-utils',
          'libdb5*', 'libgdbm*', 'coreutils', 'mawk', 'media-types',
          'libaudit*', 'lsb-base', 'cpio', 'bash', 'linux-*')
MERGED = ('bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32')


def _merged(path):
    """A path in the layout of merged /usr."""
    top = path.lstrip('/').split('/', 1)[0]
    return '/usr' + path if top in MERGED else path


class _Pool:
    """All files of a set of packages, by merged-/usr path."""

    def __init__(self, paths):
        self.files = {}
        self.byname = {}
        for deb in paths:
            for path, info, data in debs.members(deb):
                if info.isreg() or info.issym() or info.islnk():
                    path = _merged(path)
                    self.files[path] = (info, data)
                    self.byname.setdefault(os.path.basename(path), path)

    def target(self, path):
        """Where a symbolic or hard link leads, or None."""
        info, _data = self.files[path]
        if info.issym():
            return os.path.normpath(_merged(os.path.join(
                os.path.dirname(path), info.linkname)))
        if info.islnk():
            return _merged('/' + info.linkname.lstrip('./'))
        return None

    def library(self, name, arch_dir):
        for folder in (f'/usr/lib/{arch_dir}', '/usr/lib', '/usr/lib64'):
            if f'{folder}/{name}' in self.files:
                return f'{folder}/{name}'
        return self.byname.get(name)

    def closure(self, globs):
        """The paths that match, with what they link to and link against."""
        todo = [p for p in self.files
                if any(fnmatch.fnmatch(p, g) for g in globs)]
        done, missing = set(), set()
        while todo:
            path = todo.pop()
            if path in done:
                continue
            done.add(path)
            target = self.target(path)
            if target:
                if target in self.files:
                    todo.append(target)
                continue
            data = self.files[path][1]
            if not data or not elf.is_elf(data):
                continue
            libs, interp = elf.needed(data)
            arch_dir = ('x86_64-linux-gnu' if data[18] == 62 else
                        'aarch64-linux-gnu')
            for lib in libs:
                found = self.library(lib, arch_dir)
                if found:
                    todo.append(found)
                else:
                    missing.add(lib)
            if interp and _merged(interp) in self.files:
                todo.append(_merged(interp))
        return done, missing


def _stamp(*parts):
    """A short digest of what a layer is made from."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _root_files():
    """The project's own files of the guest's root: [(path, data, mode)]."""
    return [('/' + str(p.relative_to(GUEST_ROOT)), p.read_bytes(),
             p.stat().st_mode & 0o777)
            for p in sorted(GUEST_ROOT.rglob('*')) if p.is_file()]


def _write(path, fill):
    """Build a layer in a temporary file and move it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as out:
        writer = CpioWriter(out)
        try:
            fill(writer)
            writer.close()
        except BaseException:
            os.unlink(out.name)
            raise
    os.rename(out.name, path)


def _set_layer(arch, name, say):
    """The programs and libraries of one package set, less those of base."""
    pset = SETS[name]
    where = GUEST_BUILD / arch / 'layers'
    below = set()
    if name != 'base':
        base = _set_layer(arch, 'base', say)
        below = set(base.with_suffix('.list').read_text().split('\n'))
    layer = where / f'{name}-{_stamp(pset, SETS["base"])}.cpio'
    if layer.exists():
        return layer
    apt = debs.Apt(ARCHES[arch].debian)
    apt.init()
    wanted = [n for n in apt.solve(pset.packages)
              if not any(fnmatch.fnmatch(n, u) for u in UNUSED)
              or n in pset.packages]
    say(f'fetching {len(wanted)} packages for "{name}" ({apt.arch})')
    pool = _Pool(apt.fetch(wanted).values())
    paths, missing = pool.closure(pset.files)
    if missing:
        raise debs.AptError(f'set {name}: no package has '
                            + ', '.join(sorted(missing)))

    def fill(writer):
        if name == 'base':
            for top in ('bin', 'sbin', 'lib', 'lib64'):
                writer.mkdir(f'usr/{top}')
                writer.symlink(top, f'usr/{top}')
            for top in ('dev', 'proc', 'sys', 'run', 'root', 'mnt'):
                writer.mkdir(top)
            writer.mkdir('tmp', 0o1777)
            writer.symlink('usr/bin/sh', 'busybox')
            # The kernel opens it before any init has mounted devtmpfs.
            writer.chardev('dev/console', 5, 1)
        for path in sorted(paths - below):
            info, data = pool.files[path]
            target = pool.target(path)
            if target:
                writer.symlink(path, target)
            else:
                writer.file(path, data, info.mode & 0o7777)

    for old in where.glob(f'{name}-*'):
        old.unlink()
    where.mkdir(parents=True, exist_ok=True)
    layer.with_suffix('.list').write_text('\n'.join(sorted(paths)))
    _write(layer, fill)
    return layer


def _modules_layer(kern, sets, drivers, extra):
    """Kernel modules of the sets, and the drivers under test, with the
    metadata that modprobe needs."""
    arch = kern.arch
    names = sorted({m for s in sets for m in SETS[s].modules} | set(extra))
    drivers = [Path(d) for d in drivers]
    contents = [(d.name, d.read_bytes()) for d in drivers]
    # What a driver under test needs from the kernel comes along.
    for _name, data in contents:
        for key, value in elf.modinfo(data):
            if key == 'depends':
                names += [n for n in value.split(',') if n]
    digest = [(n, hashlib.sha256(d).hexdigest()) for n, d in contents]
    where = GUEST_BUILD / arch / 'layers'
    stamp = _stamp(kern.release, str(kern.modules), names, digest)
    layer = where / f'modules-{stamp}.cpio'
    if layer.exists():
        os.utime(layer)
        return layer
    base = f'lib/modules/{kern.release}'
    with tempfile.TemporaryDirectory(dir=GUEST_BUILD / arch) as stage:
        top = Path(stage) / base
        for path in kern.closure(names):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kern.modules / path, top / path)
        for name, data in contents:
            (top / 'extra').mkdir(parents=True, exist_ok=True)
            (top / 'extra' / name).write_bytes(data)
        for meta in ('modules.order', 'modules.builtin',
                     'modules.builtin.modinfo'):
            if (kern.modules / meta).exists():
                shutil.copyfile(kern.modules / meta, top / meta)
        kernel.depmod(stage, kern.release)

        def fill(writer):
            for path in sorted(top.rglob('*')):
                if path.is_file():
                    writer.file(f'usr/{base}/{path.relative_to(top)}',
                                path.read_bytes())
        _write(layer, fill)
    # Drivers change often: keep a few of the latest, not all.
    layers = sorted(where.glob('modules-*.cpio'),
                    key=lambda p: p.stat().st_mtime)
    for old in layers[:-12]:
        old.unlink()
    return layer


def layers(arch, sets=('base',), drivers=(), modules=(), say=print,
           kern=None):
    """The layers that a guest with these sets and drivers is made of.

    kern: a kernel.Kernel instead of the stock one.
    """
    kern = kern or kernel.get(arch, say)
    sets = ['base'] + [s for s in sets if s != 'base']
    return [_set_layer(arch, s, say) for s in sets] + \
        ([_modules_layer(kern, sets, drivers, modules)] if kern.release
         else [])


def compose(out, parts, files=()):
    """Write an initramfs: layers, the project's root, and a test's own files.

    files: iterable of (path in the guest, bytes, mode).
    """
    with open(out, 'wb') as initrd:
        for part in parts:
            with open(part, 'rb') as layer:
                shutil.copyfileobj(layer, initrd, 1 << 20)
        writer = CpioWriter(initrd)
        # Directories of the lower layers are links or exist already.
        writer.dirs |= {'usr', 'usr/bin', 'usr/sbin', 'usr/lib', 'etc'}
        for path, data, mode in list(_root_files()) + list(files):
            writer.file(_merged(path), data, mode)
        writer.close()
