# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's stock kernel, its modules and its headers, unpacked in build/."""

import lzma
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

from . import debs, elf
from .paths import (ARCHES, BUILD, DRIVERS, GUEST_BUILD, KERNEL_SUITE,
                    SUITE, SUITES, WATCHING, locked)


class Kernel:
    """A kernel: .release, .boot_image for QEMU, .modules (a directory), and
    .suite, the Debian release whose stock kernel it is, or None."""

    def __init__(self, arch, release, boot_image, modules, suite=None):
        self.arch = arch
        self.release = release
        self.suite = suite
        self.boot_image = Path(boot_image)
        self.modules = Path(modules)

    def closure(self, names):
        """Modules with all that they depend on, in loading order.

        Names that the kernel has built in, or lacks, are left out.
        """
        deps, byname = self._modules_dep()
        order = []

        def visit(path):
            if path in order:
                return
            for dep in reversed(deps[path]):
                visit(dep)
            order.append(path)

        for name in names:
            path = byname.get(name.replace('-', '_'))
            if path:
                visit(path)
        return order

    def _modules_dep(self):
        deps, byname = {}, {}
        for line in (self.modules / 'modules.dep').read_text().splitlines():
            path, _, rest = line.partition(':')
            deps[path] = rest.split()
            byname[module_name(path)] = path
        return deps, byname


def _image(tree, release):
    """The kernel itself, which later releases of Debian have among its modules."""
    boot = tree / 'boot' / f'vmlinuz-{release}'
    return boot if boot.exists() else (
        tree / 'lib' / 'modules' / release / 'vmlinuz')


def _stock(arch, suite, packed):
    tree = GUEST_BUILD / arch / f'kernel-{suite}'
    release = (tree / 'release').read_text().strip()
    image = _image(tree, release)
    # The same kernel without its decompressor: under TCG unpacking xz takes
    # longer than the whole rest of the boot.
    vmlinux = tree / 'vmlinux'
    if vmlinux.exists() and not packed:
        image = vmlinux
    return Kernel(arch, release, image, tree / 'lib' / 'modules' / release,
                  suite)


def own(arch, image, modules=None):
    """A kernel that a developer built.

    image: bzImage, vmlinux or Image; modules: the directory that
    `make modules_install` filled (…/lib/modules/RELEASE), or None when all
    that a guest needs is built in.
    """
    if modules is None:
        return Kernel(arch, None, image, '/nonexistent')
    modules = Path(modules).resolve()
    if not (modules / 'modules.dep').exists():
        raise FileNotFoundError(f'{modules} has no modules.dep')
    return Kernel(arch, modules.name, image, modules)


def module_name(path):
    """A module's name from its file's."""
    return re.sub(r'\.ko(\.[a-z0-9]+)?$', '',
                  os.path.basename(path)).replace('-', '_')


def built_for(driver):
    """The kernel release that a module was built for (its vermagic)."""
    for key, value in elf.modinfo(Path(driver).read_bytes()):
        if key == 'vermagic':
            return value.split()[0]
    return None


def depmod(base, release):
    """Write modules.dep and its kin for base/lib/modules/release."""
    tool = _tool('depmod', 'kmod', 'libkmod2')
    subprocess.run([tool, '-b', str(base), release], check=True)


def _tool(name, *packages):
    """A program of the host, or for a bare machine one from packages that are
    not installed: a script that runs it with their libraries."""
    found = shutil.which(name, path=os.environ.get('PATH', '') +
                         ':/usr/sbin:/sbin')
    if found:
        return found
    root = GUEST_BUILD / 'host-tools'
    script = root / name
    if not script.exists():
        arch = subprocess.run(['dpkg', '--print-architecture'], text=True,
                              stdout=subprocess.PIPE, check=True)
        apt = debs.Apt(arch.stdout.strip())
        apt.init()
        for deb in apt.fetch(packages).values():
            debs.unpack(deb, root)
        program = next(root.glob(f'**/*bin/{name}'))
        if program.is_symlink():        # perhaps to a place below /
            target = os.path.basename(os.readlink(program))
            program = next(root.glob(f'**/*bin/{target}'))
        libs = ':'.join(str(p)
                        for p in sorted(root.glob('**/lib/*-linux-gnu')))
        script.write_text(f'#!/bin/bash\nLD_LIBRARY_PATH={libs} '
                          f'exec -a {name} {program} "$@"\n')
        script.chmod(0o755)
    return str(script)


def _extract_vmlinux(bzimage):
    """The ELF kernel inside a bzImage, or None (no PVH entry, unknown)."""
    data = Path(bzimage).read_bytes()
    for magic, unpack in ((b'\xfd7zXZ\0', _unxz), (b'\x1f\x8b\x08', _gunzip),
                          (b'\x28\xb5\x2f\xfd', _unzstd)):
        at = data.find(magic)
        while at >= 0:
            try:
                out = unpack(data[at:])
            except (lzma.LZMAError, zlib.error, OSError, EOFError,
                    subprocess.CalledProcessError):
                out = b''
            # The PVH entry is an ELF note by the name of "Xen".
            if elf.is_elf(out) and b'Xen\0' in out:
                return out
            at = data.find(magic, at + 1)
    return None


def _unxz(data):
    return lzma.LZMADecompressor().decompress(data)


def _gunzip(data):
    return zlib.decompressobj(31).decompress(data)


def _unzstd(data):
    # Trailing bytes make zstd fail after the kernel.
    return subprocess.run([_tool('zstd', 'zstd'), '-dcq'], input=data,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def _package(apt, meta):
    """The versioned package that a meta package stands for today."""
    for name in apt.depends(meta):
        if re.match(r'linux-(image|headers)-\d', name):
            return name
    raise debs.AptError(f'{meta} depends on no versioned package')


def get(arch, say=print, packed=False, suite=KERNEL_SUITE):
    """Fetch and unpack the stock kernel of an architecture, once.

    packed: boot it as Debian packs it.  A machine that is to sleep (S3) needs
    that: an uncompressed kernel is a ROM to QEMU, which writes it to memory
    again at each reset, also at the one by which the machine wakes up.
    suite: the Debian release whose kernel it is, or one of
    scripts/build-debug-kernel; another architecture has none of those and
    takes Debian's.
    """
    if suite in WATCHING and arch != 'x86_64':
        suite = SUITE
    where = GUEST_BUILD / arch / f'kernel-{suite}'
    stamp = where / 'release'
    if stamp.exists():
        return _stock(arch, suite, packed)
    if suite in WATCHING:
        raise FileNotFoundError(
            f'no kernel "{suite}": run scripts/build-debug-kernel {suite}')
    info = ARCHES[arch]
    apt = debs.Apt(info.debian, suite)
    apt.init()
    try:
        release, parts = _fetch(apt, info, say)
    except debs.AptError:
        # The archive has moved on, and this one is no longer in it.
        apt.refresh()
        release, parts = _fetch(apt, info, say)
    if where.exists():
        shutil.rmtree(where)
    for deb in parts:
        say(f'unpacking {deb.name}')
        debs.unpack(deb, where)
        deb.unlink()
    if not (where / 'lib').exists():
        (where / 'lib').symlink_to('usr/lib')
    depmod(where, release)
    if arch == 'x86_64':
        vmlinux = _extract_vmlinux(_image(where, release))
        if vmlinux:
            (where / 'vmlinux').write_bytes(vmlinux)
    stamp.write_text(release + '\n')
    return _stock(arch, suite, packed)


def other(arch, say=print, packed=False):
    """The stock kernel of the other Debian release, where drivers are built for
    it; otherwise None, which is the kernel that all guests boot.

    One of two guests that talk with each other boots it, so that each driver
    meets both.  Where a kernel that watches is asked for, both boot that.
    """
    if KERNEL_SUITE in WATCHING:
        return None
    for suite in SUITES:
        built = BUILD / 'drivers' / DRIVERS.get(arch, arch) / suite
        if suite != KERNEL_SUITE and any(built.glob('*.ko')):
            with locked():
                kern = get(arch, say, packed, suite)
            say(f'# one guest boots Linux {kern.release}')
            return kern
    return None


def _fetch(apt, info, say):
    """The release of a stock kernel, and its packages: one, or what later releases
    of Debian have cut it into."""
    package = _package(apt, f'linux-image-{info.kernel_suffix}')
    release = package[len('linux-image-'):]
    parts = [name for name in apt.depends(package)
             if name.startswith('linux-') and name.endswith(f'-{release}')]
    say(f'fetching {package} ({info.debian})')
    return release, list(apt.fetch([package, *parts]).values())
