#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generate the configuration-space tables from registers.csv.

usage: gen.py CSV HEADER SOURCE [--check]

HEADER gets the guest-visible offsets and field masks (shared with drivers),
SOURCE the access table of every slice (UB 2.0 appendix D).  With --check
nothing is written; the exit status says whether both files are up to date.
"""
import csv
import re
import sys

# Slices whose printed size is one dword short of their last register
# (a 64-bit register at the end), or is given by a formula.
USED_SIZE = {
    'CFG0_CAP4_DEVICE_ERR_INFO': 0x32,
    'CFG0_CAP5_EMQ': 0x1c,
    'PORT_CAP14_EYE_MONITOR': 0x4 + 8,
    'PORT_CAP240_VD': 0x2,
}
# Vendor slices of our own: (register, dword, bits that act when 1 is written).
VENDOR = {'PORT_CAP240_VD': [('Error Injection', 1, 0xffffffff)]}
# Slices that exist per slot or route entry; a device that has them sizes them
# itself.
SIZED_BY_DEVICE = ('CFG0_CAP2_SHP', 'ROUTE_TABLE')
# "Write 1 to act, reads 0" although the attribute column says RW.
SELF_CLEARING = {
    ('PORT_CAP1_LINK', 'PHY Link Control 1', 22),
    ('PORT_CAP1_LINK', 'PHY Link Control 1', 31),
    ('PORT_CAP1_LINK', 'PHY Link Control 2', 7),
    ('CFG0_BASIC', 'DEV_RST', 0),
    ('CFG1_BASIC', 'ELR', 0),
    ('PORT_BASIC', 'Port Rst', 0),
}
# A mask that could only be cleared would be of no use: RW, as that of the ports.
MASKS = {('CFG0_CAP3_DEVICE_ERR_RECORD', 'Device Correctable Error Mask')}
# Attribute RO, but the text says that writing 1 clears it (D.6.3).
WRITE_CLEARS = {('PORT_CAP2_LINK_LOG', 'Flit Error Log 1', 0)}


def number(text):
    """The value of a reset column, 0 where the document gives none."""
    text = text.strip().lower().replace('_', '')
    literal = re.fullmatch(r"\d+'([bhd])([0-9a-f]+)", text)
    if literal:
        return int(literal[2], {'b': 2, 'h': 16, 'd': 10}[literal[1]])
    if re.fullmatch(r'0x[0-9a-f]+|\d+', text):
        return int(text, 0)
    return 0


# Names of appendix D shortened, so that a line of C holds one: slices whole,
# then runs of words wherever they stand.
SLICES = {
    'CFG0_BASIC': 'CFG0', 'CFG0_SHP': 'SHP', 'CFG0_EMQ': 'EMQ',
    'CFG0_DEVICE_ERR_RECORD': 'DEV_ERR', 'CFG0_DEVICE_ERR_INFO': 'ERR_INFO',
    'CFG1_BASIC': 'CFG1', 'CFG1_DECODER': 'DECODER', 'CFG1_JETTY': 'JETTY',
    'CFG1_INT_TYPE1': 'INT_TYPE1', 'CFG1_INT_TYPE2': 'INT_TYPE2',
    'CFG1_UB_MEM': 'UB_MEM',
    'PORT_BASIC': 'PORT', 'PORT_LINK': 'LINK', 'PORT_LINK_LOG': 'LINK_LOG',
    'PORT_DATA_RATE': 'RATE', 'PORT_EYE_MONITOR': 'EYE', 'PORT_QDLWS': 'QDLWS',
    'PORT_LMSM_ST': 'LMSM_ST', 'PORT_PORT_ERR_RECORD': 'PORT_ERR',
    'PORT_VD': 'PORT_VD', 'ROUTE_TABLE': 'ROUTE',
}
WORDS = [
    ('PERFORMANCE_OPTIMIZATION_CFG', 'PERF'), ('REMOTE_INIT_CREDIT_CFG', 'CREDIT'),
    ('NON_FATAL_UNCORRECTABLE_ERROR', 'NFUE'),
    ('FATAL_UNCORRECTABLE_ERROR', 'FUE'), ('UNCORRECTABLE_FATAL_ERROR', 'FUE'),
    ('UNCORRECTABLE_ERROR', 'UCE'), ('CORRECTABLE_ERROR', 'CE'),
    ('ERROR_MESSAGE_QUEUE', 'EMQ'),
    ('CHANGE_LINK_WIDTH_NOT_RETRAIN_LINK', 'CHANGE_WIDTH'),
    ('ELASTICITY_BUFFER_OVERFLOW_UNDERFLOW', 'ELASTIC_BUF'),
    ('LOSS_OF_LANE_TO_LANE_DESKEW', 'LANE_DESKEW'),
    ('PRODUCER_POINTER', 'PI'), ('CONSUMER_POINTER', 'CI'),
    ('SLICE_HEADER', 'HEADER'), ('SLICE_USED_SIZE', 'USED'),
    ('SLICE_VERSION', 'VERSION'), ('DATA_LINK', 'DL'), ('PHY_LINK', 'PHY'),
    ('CONFIGURATION', 'CFG'), ('CAPABILITY', 'CAP'), ('CONTROL', 'CTL'),
    ('EQUALIZATION', 'EQ'), ('INFORMATION', 'INFO'), ('NEGOTIATION', 'NEGO'),
    ('CURRENT', 'CUR'), ('MEASUREMENT', 'MEAS'), ('COUNTER', 'COUNT'),
]


def macro(text):
    name = re.sub(r'[^A-Z0-9]+', '_', text.upper()).strip('_')
    for long, short in WORDS:
        name = re.sub(rf'(?<![A-Z0-9]){long}(?![A-Z])', short, name)
    return name


def register_macro(short, register):
    """UB_SLICE_REGISTER, the slice's name said once."""
    name = macro(register)
    for again in (short, *short.split('_')):
        name = re.sub(rf'^{again}_', '', name)
    return f'UB_{short}_{name}'


def field_macro(register, field):
    """REGISTER__FIELD; a field that is all of its register: REGISTER__ALL."""
    name = macro(field)
    return f'{register}__' + ('ALL' if register.endswith(f'_{name}') else name)


class Dword:
    def __init__(self, name):
        self.name = name
        self.reset = self.rw = self.w1c = self.trigger = self.sticky = 0
        self.first = self.first_rw = 0


class Slice:
    def __init__(self, name):
        self.name = name
        self.used = 0
        self.dwords = {}
        self.registers = {}  # register -> dw
        self.fields = {}     # (register, field) -> (msb, lsb)

    def add(self, row):
        offset = row['byte_offset']
        if offset.startswith('0x10 + Lane'):
            places = [0x10 + 4 * lane for lane in range(8)]
        elif '+' in offset:
            return
        else:
            places = [int(offset, 0)]
        register, field = row['register'], row['field']
        self.registers.setdefault(register, places[0] // 4)
        if field == 'Slice Used Size':
            self.used = USED_SIZE.get(self.name, number(row['reset']))
        if not row['msb'].isdigit():
            return
        msb, lsb = int(row['msb']), int(row['lsb'])
        access = row['access'].upper()
        if (self.name, register) in MASKS:
            access = access.replace('RW1CS', 'RWS')
        reserved = field in ('RSVD', 'Reserved')
        if not reserved:
            self.fields.setdefault((register, field), (msb, lsb))
        reset = number(row['reset'])
        if field == 'Slice Used Size':
            reset = self.used
        for place in places:
            for bit in range(lsb, msb + 1):
                self.add_bit(place // 4 + bit // 32, register, bit % 32,
                             (reset >> (bit - lsb)) & 1, access, reserved,
                             (self.name, register, bit))

    def add_bit(self, dw, register, bit, reset, access, reserved, key):
        word = self.dwords.setdefault(dw, Dword(register))
        mask = 1 << bit
        word.reset |= mask if reset else 0
        if reserved:
            return
        if key in SELF_CLEARING:
            word.trigger |= mask
        elif access.startswith('RW1C') or key in WRITE_CLEARS:
            word.w1c |= mask
        elif access.startswith('RW'):
            word.rw |= mask
        if access.startswith(('ROS', 'RWS', 'RW1CS', 'HWINIT')):
            word.sticky |= mask
        if access.endswith('DE0_EO'):
            word.first |= mask
        elif access.endswith('DEN_RO'):
            word.first_rw |= mask


def load(path):
    slices = {}
    with open(path, newline='', encoding='utf-8') as table:
        for row in csv.DictReader(table):
            name = row['space']
            slices.setdefault(name, Slice(name)).add(row)
    for name, registers in VENDOR.items():
        for register, dw, trigger in registers:
            slices[name].registers[register] = dw
            slices[name].dwords.setdefault(dw, Dword(register)).trigger = trigger
    return slices


def placement(name):
    """(space, capability number) of a slice: Table 10-6."""
    space = name.split('_')[0]
    if name == 'ROUTE_TABLE':
        return 'ROUTE', 0
    cap = re.match(r'(?:CFG[01]|PORT)_CAP(\d+)_', name)
    return space, int(cap[1]) if cap else 0


BANNER = '''/*
 * {what}
 *
 * Generated from hw/ub/space/registers.csv by hw/ub/space/gen.py: change
 * the table, not this file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
'''

BASES = '''\
/* Table 10-6: bases in dwords, of port @p and of slice @cap of a base. */
#define UB_CFG_SLICE 0x100u
#define UB_CFG0_BASE 0x00000000u
#define UB_CFG1_BASE 0x00010000u
#define UB_CFG_PORT_BASE(p) (0x00020000u + (p) * 0x10000u)
#define UB_CFG_CAP(base, cap) ((base) + (cap) * UB_CFG_SLICE)
#define UB_CFG_PORT_CAP(p, cap) UB_CFG_CAP(UB_CFG_PORT_BASE(p), cap)
#define UB_CFG_ROUTE_BASE 0xf0000000u
'''


def header(slices):
    out = [BANNER.format(what='UB 2.0 appendix D: offsets and fields of the '
                              'configuration space.\n *\n * Offsets are in '
                              'dwords from the base of the slice; the mask of '
                              'a\n * field is that within its dword '
                              '(FIELD_GET in the kernel, UB_SPACE_GET here).')]
    out.append('#ifndef UB_CFG_REGS_H\n#define UB_CFG_REGS_H\n')
    out.append(BASES)
    # The nine DATA_RATE slices are alike; name their registers once.
    done = set()
    for name, piece in slices.items():
        short = re.sub(r'_CAP\d+_', '_', name)
        short = SLICES[re.sub(r'DATA_RATE\d', 'DATA_RATE', short)]
        if short in done:
            continue
        done.add(short)
        cap = placement(name)[1]
        out.append(f'/* {name} */')
        if cap:
            out.append(f'#define UB_CAP_{short} {cap}')
        seen = set()
        for register, dw in piece.registers.items():
            reg = register_macro(short, register)
            if reg in seen or re.search('RESERVE|RSVD', reg):
                continue
            seen.add(reg)
            out.append(f'#define {reg} 0x{dw:x}')
            for (owner, field), (msb, lsb) in piece.fields.items():
                if owner != register or msb // 32 != lsb // 32:
                    continue
                fld = field_macro(reg, field)
                if fld in seen:
                    continue
                seen.add(fld)
                if lsb // 32:
                    out.append(f'#define {fld}_DW 0x{dw + lsb // 32:x}')
                mask = ((1 << (msb - lsb + 1)) - 1) << (lsb % 32)
                out.append(f'#define {fld} 0x{mask:08x}u')
        out.append('')
    out.append('#endif')
    return '\n'.join(out) + '\n'


def source(slices):
    out = [BANNER.format(what='UB 2.0 appendix D: access table of the '
                              'configuration space.')]
    out.append('#include "ub/space.h"\n')
    entries = []
    tables = {}  # (name less its numbers, rows) -> table: nine DATA_RATEs
    for name, piece in slices.items():
        if name in SIZED_BY_DEVICE:
            continue
        table = f'{name.lower()}_dwords'
        rows = []
        for dw in sorted(piece.dwords):
            word = piece.dwords[dw]
            if dw >= piece.used:
                raise SystemExit(f'{name}: dword {dw:#x} beyond the slice')
            if not (word.reset or word.rw or word.w1c or word.trigger):
                continue
            rows.append(f'    {{ 0x{dw:02x}, 0x{word.reset:08x}, '
                        f'0x{word.rw:08x}, 0x{word.w1c:08x},\n'
                        f'      0x{word.trigger:08x}, 0x{word.sticky:08x}, '
                        f'0x{word.first:08x}, 0x{word.first_rw:08x},\n'
                        f'      "{word.name}" }},')
        table = tables.setdefault((re.sub(r'\d+', '', name), *rows), table)
        if table == f'{name.lower()}_dwords':
            out.append(f'static const UbSpaceDword {table}[] = {{')
            out += rows
            out.append('};\n')
        space, cap = placement(name)
        entries.append(f'    {{ "{name}", UB_SPACE_{space}, {cap}, '
                       f'0x{piece.used:x},\n      {table}, '
                       f'sizeof({table}) / sizeof({table}[0]) }},')
    out.append('const UbSpaceSlice ub_space_slices[] = {')
    out += entries
    out.append('};\n')
    out.append('const unsigned ub_space_slice_count =\n'
               '    sizeof(ub_space_slices) / sizeof(ub_space_slices[0]);')
    return '\n'.join(out) + '\n'


def main(args):
    check = '--check' in args
    table, head, src = [a for a in args if a != '--check']
    slices = load(table)
    stale = False
    for path, text in ((head, header(slices)), (src, source(slices))):
        if check:
            with open(path, encoding='utf-8') as old:
                if old.read() != text:
                    print(f'{path} is not what gen.py makes of {table}')
                    stale = True
        else:
            with open(path, 'w', encoding='utf-8') as new:
                new.write(text)
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
