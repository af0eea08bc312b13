# SPDX-License-Identifier: GPL-2.0-or-later
"""A UB link between two guests, as their software sees and steers it."""

import time

from .clock import deadline

# PORT0, capability 1 (UB 2.0 appendix D): byte offsets in the config file.
PORT_LINK = 4 * (0x20000 + 0x100)
CONTROL_1 = PORT_LINK + 4 * 0x90
TARGETS = 0x003f3f0f      # of CONTROL_1: RX and TX width, data rate
RETRAIN = 1 << 31
LANES = range(8)


def state(guest):
    """What QEMU says of the guest's link."""
    return guest.qmp.command('query-ub-links')[0]


def counters(guest):
    return {c['name']: c['value'] for c in state(guest)['counters']}


def inject(guest, lane, **fault):
    """Set a fault on what the guest's end sends on a lane, or none."""
    guest.qmp.command('ub-inject', device='ub', lane=lane, **fault)


def disturb(guest, **fault):
    """Set a fault on all that the guest's end sends, or none; from the same
    seed each time."""
    for lane in LANES:
        seed = {'seed': lane + 1} if fault else {}
        inject(guest, lane, **fault, **seed)


def config_file(guest):
    return f'/sys/class/net/{guest.dev}/device/../ub/config'


def config(guest, offset):
    """A dword of the configuration space, through sysfs."""
    return int(guest.out(
        f'dd if={config_file(guest)} bs=4 skip={offset // 4} count=1 '
        "2>/dev/null | od -An -tx4 | tr -d ' '"), 16)


def set_config(guest, offset, value):
    text = ''.join(f'\\x{b:02x}' for b in value.to_bytes(4, 'little'))
    guest.run(f"printf '{text}' | dd of={config_file(guest)} bs=4 "
              f'seek={offset // 4} count=1 conv=notrunc 2>/dev/null')


def retarget(active, passive, rate, width, timeout=60):
    """Have the software of both ends ask for a data rate and a width, the
    active one by Retrain Link; wait until both ends have them."""
    for guest, trigger in ((passive, 0), (active, RETRAIN)):
        value = config(guest, CONTROL_1) & ~TARGETS
        set_config(guest, CONTROL_1, value | rate | width << 8 | width << 16 |
                   trigger)
    want = (rate, width, width)
    until = deadline(timeout)
    while True:
        now = [(link['rate'], link['tx-width'], link['rx-width'])
               for link in map(state, (active, passive))]
        if now == [want, want]:
            return
        if time.monotonic() > until:
            raise AssertionError(f'{now} and not {want}')
        time.sleep(0.1)
