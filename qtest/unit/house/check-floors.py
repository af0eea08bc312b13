#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that the includes of hw/ obey the floors of docs/architecture.rst.

usage: check-floors.py ROOT

Every folder below hw/ with C files is a room and has a row: the rooms whose
public headers it may include besides its own.  Rooms of floors to come have
their rows already, so that they are born obedient.  A core includes libc, GLib
and these; only shells, which begin with "qemu/osdep.h" and are listed by name
pattern, include QEMU's headers.  Exit status 1, a line for each breach.
"""
import fnmatch
import os
import pathlib
import re
import sys

# What may be below a room: of UB from the base up, then the NICs.
BASE = {'core', 'ub/lanes'}
LINK = BASE | {'ub/phy', 'ub/dll', 'ub/wire', 'ub/space', 'ub/port'}
MAY = {
    'core': set(),
    'ub/phy': BASE,
    'ub/dll': BASE,
    'ub/wire': BASE,
    'ub/space': BASE,
    'ub/port': LINK,
    'ub/net': LINK,
    'ub/uboe': BASE | {'ub/net', 'ub/port'},
    'ub/tp': BASE | {'ub/net', 'ub/space'},
    'ub/sec': BASE,
    'ub/ta': BASE | {'ub/tp', 'ub/sec'},
    'ub/border': BASE | {'ub/tp', 'ub/sec', 'ub/ta'},
    'ub/node': BASE | {'ub/net', 'ub/tp', 'ub/sec', 'ub/ta', 'ub/urma'},
    'ub/ummu': BASE,
    'ub/lds': BASE | {'ub/ta', 'ub/space'},
    'ub/urma': BASE | {'ub/sec', 'ub/ta', 'ub/ummu'},
    'ub/mgmt': BASE | {'ub/ta', 'ub/space', 'ub/net'},
    'ub/fm': {'core', 'ub/mgmt', 'ub/space'},
    'ub/switch': LINK | {'ub/net', 'ub/uboe', 'ub/mgmt', 'ub/border', 'ub/switch',
                         'wire'},
    'ub/ubc': LINK | {'ub/net', 'ub/uboe', 'ub/tp', 'ub/sec', 'ub/ta',
                      'ub/ummu', 'ub/lds', 'ub/urma', 'ub/node', 'ub/mgmt',
                      'ub/border', 'wire'},
    'ub/tools': LINK | {'ub/net', 'ub/tp', 'ub/sec', 'ub/ta', 'ub/border', 'ub/node',
                        'wire'},
    'rdma': {'core', 'wire', 'rdma/roce', 'rdma/transport', 'rdma/native',
             'rdma/mthca'},
    'rdma/roce': {'core'},
    'rdma/transport': {'core', 'rdma/roce'},
    'rdma/native': {'core', 'rdma/transport'},
    'rdma/mthca': {'core', 'rdma/roce', 'rdma/transport'},
    'net/ncic': {'core', 'wire', 'rdma', 'rdma/roce', 'rdma/transport',
                 'rdma/native'},
    'rclink': {'core', 'wire'},
    'wire': {'core'},
}

# Whose header a public one is, where its folder does not say it.
OWNER = {
    'core/*': 'core', 'wire/*': 'wire', 'ncic/*': 'net/ncic',
    'rclink/*': 'rclink',
    'ub/lanes.h': 'ub/lanes', 'ub/lane_manage.h': 'ub/lanes',
    'ub/phy*.h': 'ub/phy', 'ub/scrambler.h': 'ub/phy',
    'ub/dll*.h': 'ub/dll', 'ub/crc30.h': 'ub/dll',
    'ub/wire.h': 'ub/wire', 'ub/inject.h': 'ub/wire',
    'ub/space.h': 'ub/space', 'ub/cfg_regs.h': 'ub/space',
    'ub/net_hw.h': 'ub/space',  # registers, as cfg_regs.h
    'ub/lds_hw.h': 'ub/space', 'ub/tp_hw.h': 'ub/space',  # the same
    'ub/errors.h': 'ub/space',
    'ub/mgmt*.h': 'ub/mgmt', 'ub/msgq.h': 'ub/mgmt',
    'ub/responder.h': 'ub/mgmt',
    'ub/shp*.h': 'ub/mgmt',
    'ub/port.h': 'ub/port', 'ub/capture.h': 'ub/port',
    'ub/net*.h': 'ub/net', 'ub/uboe.h': 'ub/uboe', 'ub/switch*.h': 'ub/switch',
    'ub/tp*.h': 'ub/tp',
    'ub/border.h': 'ub/border',
    'ub/sec.h': 'ub/sec', 'ub/cip*.h': 'ub/sec',
    'ub/ta.h': 'ub/ta', 'ub/tah.h': 'ub/ta',
    'ub/fm*.h': 'ub/fm',
    'ub/node*.h': 'ub/node', 'ub/urma*.h': 'ub/urma',
    'ub/host_segment.h': 'ub/ta', 'ub/ummu*.h': 'ub/ummu',
    'ub/lds*.h': 'ub/lds',
    'ub/ubc.h': 'ub/ubc', 'ub/ubc_hw.h': 'ub/ubc', 'ub/resource_hw.h': 'ub/ubc',
    'rdma/roce.h': 'rdma/roce', 'rdma/types.h': 'rdma/roce',
    'rdma/native*.h': 'rdma/native', 'rdma/mthca*.h': 'rdma/mthca',
    'rdma/fault_props.h': 'rdma', 'rdma/shell.h': 'rdma',
    'rdma/*': 'rdma/transport',
}

SHELLS = ('hw/*-pci.c', 'hw/*-qmp.c', 'hw/*-stub.c', 'hw/core/pci-master.c', 'hw/core/props.c',
          'hw/net/ncic/ncic-*.c', 'hw/rdma/*props.c', 'hw/rdma/shell.c',
          'hw/rdma/mthca-*.c', 'hw/ub/ubc/ubc-*.c', 'hw/wire/fault-props.c',
          'hw/wire/pipe-chr.c', 'hw/wire/backlog.c', 'hw/wire/end.c',
          'hw/wire/stream.c')
# Whose private headers a tool may look at.
INSIDE = {'ub/tools': ('hw/ub/phy',)}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def owner(header):
    """The room of a public header, or None."""
    for pattern, room in OWNER.items():
        if fnmatch.fnmatch(header, pattern):
            return room
    return None


def room_of(path):
    """The room that a file of hw/ is in."""
    return path.parent.as_posix().removeprefix('hw/')


def breaches(root):
    """Sentences that name what is wrong."""
    root = pathlib.Path(root)
    for path in sorted(root.glob('hw/**/*.[ch]')):
        name = path.relative_to(root)
        room = room_of(name)
        if room not in MAY:
            yield f'{name}: no row says what {room} may include'
            continue
        includes = INCLUDE.findall(path.read_text(encoding='utf-8'))
        shell = 'qemu/osdep.h' in includes
        if shell and not any(fnmatch.fnmatch(name.as_posix(), p)
                             for p in SHELLS):
            yield f'{name}: a core that includes QEMU'
        for header in includes:
            if (root / 'include' / header).exists():
                of = owner(header)
                if of is None:
                    yield f'{name}: no row says whose {header} is'
                elif of != room and of not in MAY[room] and not (
                        shell and room.startswith(os.path.dirname(of))):
                    yield f'{name}: {room} includes {header} of {of}'
            elif header.startswith('../'):
                yield f'{name}: reaches into another room by {header}'
            elif not shell and path.suffix == '.c' and not any(
                    (folder / header).exists() for folder in
                    (path.parent, *(root / i for i in INSIDE.get(room, ())))):
                yield f'{name}: {header} is nowhere in the project'


def main():
    found = list(breaches(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
