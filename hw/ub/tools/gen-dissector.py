#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generate the Wireshark dissector of captures of a UB controller.

usage: gen-dissector.py FIELDS.csv FILE... TEMPLATE OUT

Fields of the data link layer and of the headers of network, transport and
transaction layer come from FIELDS.csv (bit 0 is bit 7 of byte 0; "X[a..b]" is one
field for each number, one behind the other; what stands behind a "/" in the name
of a structure tells its forms apart), those of training sets from the list
UB_LTB_FIELDS of hw/ub/phy/lmb.h, those of management from UB_MGMT_FIELDS, those of
remote calls from URPC_FIELDS, and names of types and which header follows which from the tables of the cores, which
are the FILEs.  TEMPLATE has the code.
"""
import csv
import re
import sys

SERIES = re.compile(r'^(.*)\[(\d+)\.\.(\d+)\]$')
# X(name, "Name", symbol, lsb, bits, kinds)
LTB_FIELD = re.compile(r'X\((\w+), "([^"]+)", (\d+), (\d+), (\d+), '
                       r'((?:UB_K\(\w+\)(?: \| )?)+)\)')
ENUM = re.compile(r'\b(UB_\w+)\s*=\s*(0x[0-9a-f]{2})\b')
LTB_TYPE = re.compile(r'\{ (UB_LTB_\w+), UB_LTB_(\w+), "([^"]+)" \}')
DLLCB = re.compile(r'\{ (UB_CB_\w+), \w+, \w+, \w+, "([^"]+)" \}')
ENUM_OF = re.compile(r'typedef enum (\w+) \{(.*?)\} \w+;', re.S)
ENUM_ROW = re.compile(r'\b(UB_\w+)\s*=\s*(0x[0-9a-f]+|\d+)')
TP_OP = re.compile(r'\[(UB_C?TPOP_\w+)\] = \{ "([^"]+)",?([^}]*)\}', re.S)
TA_OP = re.compile(r'\[(UB_TA_\w+)\] = \{\s*\.name = "([^"]+)"(.*?)\n    \}', re.S)
TA_ATOMIC = re.compile(r'ATOMIC\((UB_TA_\w+), "([^"]+)"\)')
TA_EXT = re.compile(r'\[UB_EXT_(\w+)\] = \{ "(\w+)", (\d+), (\d+) \}')
DEFINE = re.compile(r'#define (UB_LTB_CRC_\w+)\s+(0x[0-9a-f]+)')


def slug(text):
    """Part of a filter name."""
    text = text.replace(' - 1', '_less_one')
    return re.sub(r'[^a-z0-9]+', '_', text.lower()).strip('_')


class Field:
    """One field: covering bytes, mask, and how it is shown."""

    def __init__(self, structure, name, bit, bits, show, key=None):
        first, last = bit // 8, (bit + bits - 1) // 8
        self.offset, self.length = first, last - first + 1
        structure = structure.split('/')[0]
        self.filter = f'ub.{slug(structure)}.{key or slug(name)}'
        self.name, self.show = name, show
        low = (last + 1) * 8 - (bit + bits)
        self.mask = ((1 << bits) - 1) << low
        if show not in ('bytes', 'id') and (self.length > 4 and
                                            (bit % 8, bits) != (0, 64)):
            sys.exit(f'{structure} {name}: wider than 32 bits')

    def proto(self):
        """The ProtoField."""
        head = f'"{self.filter}", "{self.name}"'
        if self.show == 'bytes':
            return f'ProtoField.bytes({head})'
        if self.show == 'id':
            return f'ProtoField.string({head})'
        if self.length == 8:
            return f'ProtoField.uint64({head}, base.HEX)'
        if self.show == 'flag':
            return f'ProtoField.bool({head}, {self.length * 8}, nil, ' \
                   f'{self.mask:#x})'
        base = {'dec': 'base.DEC, nil', 'hex': 'base.HEX, nil'}.get(
            self.show, f'base.HEX, names.{self.show}')
        return f'ProtoField.uint{self.length * 8}({head}, {base}, ' \
               f'{self.mask:#x})'

    def lua(self):
        """A row of the dissector's table."""
        how = ', "id"' if self.show == 'id' else ''
        return f'{{ {self.offset}, {self.length}, {self.proto()}{how} }}'


class UrpcField(Field):
    """A field of a number of whole bytes, the least significant one first."""

    # pylint: disable=super-init-not-called,too-many-arguments
    def __init__(self, structure, name, byte, length, shift, bits, show):
        self.offset, self.length, self.show = byte, length, show
        self.filter = f'ub.urpc_{slug(structure)}.' + slug(
            name.replace("'s", ''))
        self.name = name
        self.mask = ((1 << bits) - 1) << shift

    def proto(self):
        """The ProtoField; one of 48 bits is shown as one of 64."""
        head = f'"{self.filter}", "{self.name}"'
        if self.length > 4:
            return f'ProtoField.uint64({head}, base.HEX)'
        return super().proto()

    def lua(self):
        return f'{{ {self.offset}, {self.length}, {self.proto()}, "le" }}'


def read_csv(path):
    """Structure -> fields, in the order of the file."""
    table = {}
    with open(path, newline='', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            name, bit, bits = row['field'], int(row['bit']), int(row['bits'])
            fields = table.setdefault(row['structure'], [])
            series = SERIES.match(name)
            if not series:
                fields.append(Field(row['structure'], name, bit, bits,
                                    row['show']))
                continue
            first, last = int(series[2]), int(series[3])
            step = 1 if last > first else -1
            for i, number in enumerate(range(first, last + step, step)):
                fields.append(Field(row['structure'], f'{series[1]}{number}',
                                    bit + i * bits, bits, row['show']))
    return table


def read_ltb(text):
    """Kind -> fields of the X list of training sets."""
    joined = text.replace('\\\n', ' ')
    start = joined.index('#define UB_LTB_FIELDS')
    joined = re.sub(r'\s+', ' ', joined[start:].split('\n', 1)[0])
    table = {}
    for key, name, symbol, lsb, bits, kinds in LTB_FIELD.findall(joined):
        bit = int(symbol) * 8 + 8 - int(lsb) - int(bits)
        show = 'ltb' if key == 'type' else 'flag' if bits == '1' else 'hex'
        for kind in re.findall(r'UB_K\((\w+)\)', kinds):
            table.setdefault(kind, []).append(
                Field('ltb', name, bit, int(bits), show, key))
    if len(re.findall(r'X\(', joined)) != len(LTB_FIELD.findall(joined)):
        sys.exit('a row of UB_LTB_FIELDS was not understood')
    return table


def x_rows(text, name):
    """The rows of the list @name of a header, each a list of its arguments."""
    joined = text.replace('\\\n', ' ')
    start = joined.index(f'#define {name}(X)')
    body = re.sub(r'/\*.*?\*/', '', joined[start:].split('\n', 1)[0])
    rows = []
    for row in re.findall(r'\bX\(((?:[^()"]|"[^"]*")+)\)', body):
        cells = re.findall(r'"[^"]*"|[^,]+', row)
        rows.append([c.strip().strip('"') for c in cells if c.strip()])
    return rows


def enum_names(text, enum, prefix):
    """Value -> name of the constants of an enumeration."""
    for name, body in ENUM_OF.findall(text):
        if name == enum:
            body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
            return {int(v, 0): n.removeprefix(prefix).replace('_', ' ').lower()
                    for n, v in ENUM_ROW.findall(body)}
    sys.exit(f'no enumeration {enum}')


def names_table(name, rows):
    """names.NAME for value -> text."""
    return lua_table(f'names.{name}', [f'[{value}] = "{text}"'
                                       for value, text in rows.items()])


def read_mgmt(text, out):
    """Management: fields, names, and which structure is whose."""
    fields = {}
    for _, structure, name, bit, bits, show in x_rows(text, 'UB_MGMT_FIELDS'):
        prefix = '' if structure == 'MGMTETAH' else 'mgmt '
        fields.setdefault(structure, []).append(
            Field(prefix + structure, name, int(bit), int(bits), show))
    messages = x_rows(text, 'UB_MGMT_MESSAGES')
    out += [
        names_table('mgmt_status', {
            row[1]: row[2] for row in x_rows(text, 'UB_MGMT_STATUSES')}),
        names_table('mgmt_code', {
            0: 'Error', 1: 'Link change', 2: 'Configuration', 3: 'VDM',
            4: 'Information exchange', 5: 'Security', 6: 'Pooled resource'}),
        names_table('scan_cmd', {
            row[1]: row[2] for row in x_rows(text, 'UB_SCAN_CMDS')}),
        names_table('scan_tlv', {
            row[1]: row[2] for row in x_rows(text, 'UB_SCAN_TLVS')}),
        lua_table('local mgmt_messages', [
            f'[{int(m[1]) << 4 | int(m[2])}] = {{ "{m[3]}", "{m[8]}", '
            f'"{m[9]}" }}' for m in messages]),
        lua_table('local tlv_structure', [
            f'[{row[1]}] = "{row[0]}"'
            for row in x_rows(text, 'UB_SCAN_TLVS')]),
    ]
    return fields


def enum_in_order(text, enum):
    """Value -> name of the constants of an enumeration that counts from 0."""
    for name, body in ENUM_OF.findall(text):
        if name == enum:
            body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
            rows = [r.strip().removeprefix('URPC_') for r in body.split(',')]
            return {i: r.replace('_', ' ').lower()
                    for i, r in enumerate(r for r in rows if r)}
    sys.exit(f'no enumeration {enum}')


def read_urpc(text, out):
    """Remote calls: fields, sizes and names."""
    fields = {}
    for structure, _, name, *where, show in x_rows(text, 'URPC_FIELDS'):
        fields.setdefault(f'URPC_{structure}', []).append(
            UrpcField(structure, name, *map(int, where), show))
    out += [lua_table('local urpc_size', [
                f'{name} = {size}'
                for name, size in x_rows(text, 'URPC_STRUCTURES')]),
            names_table('urpc_defined', {0: 'none', 1: 'general computing',
                                         2: 'storage PLOG'})]
    for lua, enum in (('urpc_type', 'UrpcType'), ('urpc_mode', 'UrpcMode'),
                      ('urpc_status', 'UrpcStatus')):
        out.append(names_table(lua, {
            v: n for v, n in enum_in_order(text, enum).items()
            if n not in ('modes', 'statuses')}))
    return fields


def read_upper(tp_h, tph_c, tah_h, tah_c, opcode_c, out):
    """Transport and transaction layer: operation codes and what they have."""
    tp = {name: int(v, 0) for name, v in ENUM_ROW.findall(tp_h)}
    size = {'UB_CETPH_LEN': '8', 'UB_CETPH_CNP_LEN': '16'}
    ops = {'UB_TPOP': {}, 'UB_CTPOP': {}}
    for name, text, rest in TP_OP.findall(tph_c):
        cetph = re.search(r'\.cetph = (\w+)', rest)
        ops[name.rsplit('_', name.count('_') - 1)[0]][tp[name]] = (
            text, size[cetph[1]] if cetph else '0',
            'true' if '.saetph = true' in rest else 'false',
            'true' if '.payload = true' in rest else 'false')
    for lua, prefix in (('tp_op', 'UB_TPOP'), ('ctp_op', 'UB_CTPOP')):
        out.append(names_table(lua, {v: r[0] for v, r in ops[prefix].items()}))
        out.append(lua_table(f'local {lua}_has', [
            f'[{v}] = {{ {r[1]}, {r[2]}, {r[3]} }}'
            for v, r in ops[prefix].items()]))
    ta = {name: int(v, 0) for name, v in ENUM_ROW.findall(tah_h)}
    atomic = re.search(r'#define ATOMIC.*?\n\n', opcode_c, re.S)[0]
    rows = {ta[n]: (t, rest) for n, t, rest in TA_OP.findall(opcode_c)}
    rows |= {ta[n]: (t, atomic.replace('\\\n', ''))
             for n, t in TA_ATOMIC.findall(opcode_c)}
    exts = TA_EXT.findall(tah_c)

    def exts_of(rest, key):
        found = re.search(r'\.%s = ([A-Z| \n]+)' % key, rest)
        return set(re.findall(r'[A-Z]+', found[1])) if found else set()

    out.append(names_table('ta_op', {v: r[0] for v, r in rows.items()}))
    lines = []
    for value, (_, rest) in sorted(rows.items()):
        has, may = exts_of(rest, 'ext'), exts_of(rest, 'may')
        kinds = ', '.join(f'{e[1]} = "{"has" if e[0] in has else "may"}"'
                          for e in exts if e[0] in has | may)
        response = 'true' if 'UB_TA_RESPONSE' in rest else 'false'
        lines.append(f'[{value}] = {{ response = {response}, {kinds} }}')
    out.append(lua_table('local ta_has', lines))
    out.append(lua_table('local ta_exts', [
        f'{{ "{name}", {full}, {compact} }}'
        for _, name, full, compact in exts]))
    out += [
        names_table('tph_nlp', {0: 'TAH', 1: 'UPIH 32, EIDH 256',
                                2: 'UPIH 16, EIDH 40', 3: 'CIPH'}),
        names_table('ciph_nlp', {0: 'UPIH 32, EIDH 256', 1: 'UPIH 16, EIDH 40',
                                 2: 'TAH'}),
        names_table('rtph_rspst', enum_names(tp_h, 'UbRtphRspst', 'UB_RTPH_')),
        names_table('tah_rspst', enum_names(tah_h, 'UbTahRspst', 'UB_TAH_')),
    ]


def lua_table(name, rows):
    """name = { rows }"""
    return f'{name} = {{\n' + ''.join(f'    {r},\n' for r in rows) + '}\n'


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    if len(sys.argv) != 15:
        sys.exit(__doc__)
    fields = read_csv(sys.argv[1])
    (lmb_h, lmb_c, format_h, format_c, mgmt_h, tp_h, tph_c, tah_h, tah_c,
     opcode_c, urpc_h, template) = map(read, sys.argv[2:14])
    ltb = read_ltb(lmb_h)
    enum = dict(ENUM.findall(lmb_h) + ENUM.findall(format_h))
    types = LTB_TYPE.findall(lmb_c)
    blocks = DLLCB.findall(format_c)
    for prefix, rows in (('UB_CB_', blocks), ('UB_LTB_', types)):
        missing = {e for e in enum if e.startswith(prefix)} - \
                  {row[0] for row in rows}
        if missing:
            sys.exit(f'no name found for {", ".join(sorted(missing))}')

    out = ['local names = {}\n',
           lua_table('names.ltb', [f'[{enum[t]}] = "{n}"'
                                   for t, _, n in types]),
           lua_table('names.dllcb', [f'[{enum[t]}] = "{n}"'
                                     for t, n in blocks]),
           lua_table('names.cfg', [
               '[0] = "DLLCB"', '[3] = "IPv4"', '[4] = "IPv6"',
               '[5] = "network management"', '[6] = "16-bit CNA"',
               '[7] = "24-bit CNA"', '[9] = "16-bit CNA, no transport"']),
           lua_table('names.bmc', ['[0] = "REQ"', '[1] = "ACK"']),
           lua_table('local kind_of_ltb', [f'[{enum[t]}] = "{k}"'
                                           for t, k, _ in types]),
           'local structure, fields_of_ltb = {}, {}\n']
    read_upper(tp_h, tph_c, tah_h, tah_c, opcode_c, out)
    fields |= read_mgmt(mgmt_h, out) | read_urpc(urpc_h, out)
    for name, rows in fields.items():
        out.append(lua_table(f'structure["{name}"]', [f.lua() for f in rows]))
    seen = {}
    for kind, rows in ltb.items():
        lines = []
        for field in rows:
            # A field of several kinds is registered once.
            at = seen.setdefault(field.filter, (kind, len(lines) + 1))
            if at == (kind, len(lines) + 1):
                lines.append(field.lua())
            else:
                lines.append(f'fields_of_ltb.{at[0]}[{at[1]}]')
        out.append(lua_table(f'fields_of_ltb.{kind}', lines))
    out += [f'local {name} = {value}\n'
            for name, value in DEFINE.findall(lmb_h)]
    head = '-- Generated by gen-dissector.py: do not edit.\n'
    with open(sys.argv[14], 'w', encoding='utf-8') as file:
        file.write(head + template.replace('--@TABLES@\n', ''.join(out)))


if __name__ == '__main__':
    main()
