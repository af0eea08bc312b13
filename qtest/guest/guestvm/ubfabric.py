# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of a fabric that a program in one of them, or in two, manages."""

from . import net
from .guest import Guest, NotAvailable, driver_modules, has_device
from .paths import BUILD
from .ubswitch import PROGRAM

MODEL = 'ubc'
TOOLS = BUILD / 'tools' / 'ub'
PROGRAMS = ('ubfm', 'ubscan')


def guid(serial, kind=2):
    """As a property and as programs print it."""
    bits = f'cc08b0010{kind}000000{serial:016x}'
    return bits, (f'{bits[:4]}-{bits[4:8]}-{bits[8]}-{bits[9]}-{bits[10:16]}-'
                  f'{bits[16:]}')


def needed(*modules):
    """Raise NotAvailable if something that these guests need is not built."""
    for program in (PROGRAM, *(TOOLS / name for name in PROGRAMS)):
        if not program.exists():
            raise NotAvailable(f'{program.name} is not built')
    if not has_device('x86_64', MODEL):
        raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
    there = {p.name for p in driver_modules('x86_64')}
    for module in ('ub_net.ko', *modules):
        if module not in there:
            raise NotAvailable(f'{module} is not built')


def node(name, chardev, props, **options):
    """A guest whose controller has a wire, and the manager's programs."""
    files = {f'/bin/{tool}': TOOLS / tool for tool in PROGRAMS}
    files.update(options.pop('files', {}))
    args = ['-chardev', chardev, *options.pop('args', ())]
    return Guest(name, args=args, files=files,
                 devices=[f'{MODEL},id=ub,chardev0=ubwire,mgmt-timeout=2500,'
                          + props], **options)


def ready(guests):
    """They are booted, and their links are up."""
    for guest in guests:
        guest.wait_ready(300)
        guest.dev = net.interface(guest, MODEL)
        guest.run(f'ip link set {guest.dev} up')
    for guest in guests:
        guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier', 60)


def config(guest, number, dword):
    """A register of an Entity by its file in sysfs, once it answers; a read of two
    times the bytes brings them and what says of each whether it could be read."""
    return int(guest.wait_for(
        f'dd if=/sys/bus/ub/devices/{number}/config bs=8 count=1 '
        f'iflag=skip_bytes skip={4 * dword} 2>/dev/null | '
        "od -An -tx4 | tr -d ' ' | grep '00000000$'", 60)[:8], 16)


def config_set(guest, number, dword, value):
    """Write a register of an Entity, once it answers."""
    text = ''.join(f'\\x{b:x}' for b in value.to_bytes(4, 'little'))
    guest.wait_for(f"printf '{text}' | dd of=/sys/bus/ub/devices/{number}/config "
                   f'bs=4 seek={dword} conv=notrunc 2>&1', 60)
