# SPDX-License-Identifier: GPL-2.0-or-later
"""Which accelerator can be trusted.

/dev/kvm may exist and guests hang on it all the same (nested virtualisation
half set up), so KVM is used only after it has run instructions.
"""

import subprocess
import tempfile

from .paths import emulator, host_arch

# At the reset vector: mov cx,10000; loop $; mov al,16; out 0xf4,al; hlt.
_CODE = bytes.fromhex('b91027' 'e2fe' 'b010' 'e6f4' 'f4')
_EXIT_STATUS = 16 << 1 | 1  # what isa-debug-exit makes of the byte


def runs(accel, arch='x86_64', timeout=10):
    """Whether an accelerator runs ten thousand instructions and a port
    write to their end."""
    qemu = emulator(arch)
    if arch != 'x86_64' or not qemu:
        return False
    if accel == 'kvm' and host_arch() != arch:
        return False
    with tempfile.NamedTemporaryFile(suffix='.bin') as rom:
        rom.write(bytes(65536 - 16) + _CODE.ljust(16, b'\xf4'))
        rom.flush()
        try:
            done = subprocess.run(
                [qemu, '-nodefaults', '-no-user-config', '-display', 'none',
                 '-machine', 'q35', '-accel', accel,
                 '-cpu', 'host' if accel == 'kvm' else 'qemu64', '-bios', rom.name,
                 '-device', 'isa-debug-exit,iobase=0xf4,iosize=4'],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=timeout)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == _EXIT_STATUS
