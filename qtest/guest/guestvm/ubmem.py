# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with ub_mem, and ubmem-perf in them."""

from . import net
from .guest import Guest, NotAvailable, driver_modules, has_device
from .paths import BUILD
from .ubswitch import PROGRAM

PERF = BUILD / 'tools' / 'ubmem' / 'ubmem-perf'
MODEL = 'ubc'
NODE = '/dev/ubmem0'
SYSFS = '/sys/class/misc/ubmem0'
PAGE = 4096


def needed():
    """Raise NotAvailable if something that these guests need is not built."""
    for program in (PERF, PROGRAM):
        if not program.exists():
            raise NotAvailable(f'{program.name} is not built')
    if not has_device('x86_64', MODEL):
        raise NotAvailable(f'qemu-system-x86_64 has no device {MODEL}')
    if not any(p.name == 'ub_mem.ko' for p in driver_modules('x86_64')):
        raise NotAvailable('ub_mem.ko is not built')


def node(n, chardev, kern=None, props='', hotplug=1):
    """Node @n, from 0 on, whose controller, with CNA n + 1, has a wire; its EID ends
    in the CNA.  Without hotplug it can be migrated."""
    guest = Guest(f'mem{n}', smp=2, hotplug=hotplug, kern=kern,
                  files={'/usr/bin/ubmem-perf': PERF})
    guest.args = ['-chardev', chardev]
    bus = 'bus=port0,' if hotplug else ''
    guest.devices = [f'{MODEL},id=ub,{bus}chardev0=ubwire,'
                     f'cna={n + 1},upi=1,eid=fd{n + 1:030x},window=64M,'
                     f'{props or "window-timeout=15000"}']
    return guest


def ready(guest):
    """Its link is up and its driver there."""
    guest.dev = net.interface(guest, MODEL)
    guest.run(f'ip link set {guest.dev} up')
    guest.wait_for(f'grep -q 1 /sys/class/net/{guest.dev}/carrier', 60)
    guest.wait_for(f'test -c {NODE}', 60)


def attr(guest, name):
    return int(guest.out(f'cat {SYSFS}/{name}'))


class Serve:
    """ubmem-perf serve (or receive), or another program, in a guest, which takes
    commands and answers each by a line."""

    def __init__(self, guest, words, program='ubmem-perf'):
        self.guest = guest
        self.lines = 0
        guest.run('rm -f /tmp/in /tmp/out; mkfifo /tmp/in; : > /tmp/out')
        guest.run(f'(exec {program} {words} <> /tmp/in > /tmp/out 2>&1 & '
                  'echo $! > /tmp/pid)')
        self.desc = self.line()

    def line(self, timeout=60):
        """The next line that it says."""
        self.lines += 1
        return self.guest.wait_for(f'sed -n {self.lines}p /tmp/out | grep .',
                                   timeout)

    def tell(self, command, timeout=60):
        self.guest.run(f'echo {command} > /tmp/in')
        return self.line(timeout)

    def kill(self):
        self.guest.run('kill -9 $(cat /tmp/pid)')
        self.guest.wait_for('! kill -0 $(cat /tmp/pid) 2> /dev/null')
