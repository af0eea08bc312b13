# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the tree, the build, the emulators, the architectures."""

import contextlib
import fcntl
import os
import platform
import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get('FABRIC_BUILD', ROOT / 'build'))
GUEST_BUILD = BUILD / 'guest'
GUEST_ROOT = ROOT / 'qtest' / 'guest' / 'root'


# The Debian release of the guests' programs, and that of their stock kernel.
SUITE = os.environ.get('FABRIC_GUEST_SUITE', 'bookworm')
KERNEL_SUITE = os.environ.get('FABRIC_GUEST_KERNEL', SUITE)
SUITES = ('bookworm', 'trixie', 'sid')
# Kernels of x86_64 that scripts/build-debug-kernel makes, by the same variable.
WATCHING = ('debug', 'kasan')


class Arch(NamedTuple):
    """What differs between guest architectures."""
    qemu: str           # QEMU's target name
    debian: str         # dpkg's architecture
    machine: str        # -machine
    cpu: str            # -cpu under TCG
    console: str        # serial console's tty in the guest
    kernel_suffix: str  # flavour in linux-image-*-FLAVOUR


ARCHES = {
    'x86_64': Arch('x86_64', 'amd64', 'q35', 'qemu64', 'ttyS0', 'amd64'),
    'aarch64': Arch('aarch64', 'arm64', 'virt', 'cortex-a57', 'ttyAMA0',
                    'arm64'),
}


# What scripts/build-drivers calls an architecture that QEMU calls otherwise.
DRIVERS = {'aarch64': 'arm64'}


def arch_name(text):
    """QEMU's name of an architecture, given that or Debian's."""
    return next((name for name, arch in ARCHES.items()
                 if text in (name, arch.debian)), text)


def emulator(arch):
    """The path of QEMU for a guest architecture, or None.

    QEMU_SYSTEM_X86_64 and QEMU_SYSTEM_AARCH64 override the one in build/.
    """
    override = os.environ.get(f'QEMU_SYSTEM_{arch.upper()}')
    if override:
        return shutil.which(override)
    built = BUILD / 'qemu' / f'qemu-system-{arch}'
    return str(built) if built.exists() else None


def firmware_args():
    """-L options for the firmware that scripts/setup fetched into build/.

    An emulator in its build directory looks for firmware below qemu-bundle/
    only, also where it was configured with another path.
    """
    share = BUILD / 'firmware' / 'usr' / 'share'
    return [word for name in ('qemu', 'seabios', 'ipxe/qemu')
            if (share / name).is_dir()
            for word in ('-L', str(share / name))]


@contextlib.contextmanager
def locked():
    """Nobody else fetches or builds parts of guests in this build directory."""
    GUEST_BUILD.mkdir(parents=True, exist_ok=True)
    with open(GUEST_BUILD / '.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def host_arch():
    """The machine's architecture by QEMU's name."""
    return platform.machine()
