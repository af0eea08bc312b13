#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generate the Wireshark dissector of captures of a UB controller.

usage: gen-dissector.py FIELDS.csv LMB_H LMB_C FORMAT_H FORMAT_C TEMPLATE OUT

Fields of the data link layer and of network headers come from FIELDS.csv
(bit 0 is bit 7 of byte 0; "X[a..b]" is one field for each number, one behind
the other), those of training sets from the list UB_LTB_FIELDS of hw/ub/phy/lmb.h, and
names of types from the tables of the cores.  TEMPLATE has the code.
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
        self.filter = f'ub.{slug(structure)}.{key or slug(name)}'
        self.name, self.show = name, show
        low = (last + 1) * 8 - (bit + bits)
        self.mask = ((1 << bits) - 1) << low
        if show != 'bytes' and self.length > 4:
            sys.exit(f'{structure} {name}: wider than 32 bits')

    def proto(self):
        """The ProtoField."""
        head = f'"{self.filter}", "{self.name}"'
        if self.show == 'bytes':
            return f'ProtoField.bytes({head})'
        if self.show == 'flag':
            return f'ProtoField.bool({head}, {self.length * 8}, nil, ' \
                   f'{self.mask:#x})'
        base = {'dec': 'base.DEC, nil', 'hex': 'base.HEX, nil'}.get(
            self.show, f'base.HEX, names.{self.show}')
        return f'ProtoField.uint{self.length * 8}({head}, {base}, ' \
               f'{self.mask:#x})'

    def lua(self):
        """A row of the dissector's table."""
        return f'{{ {self.offset}, {self.length}, {self.proto()} }}'


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


def lua_table(name, rows):
    """name = { rows }"""
    return f'{name} = {{\n' + ''.join(f'    {r},\n' for r in rows) + '}\n'


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    fields = read_csv(sys.argv[1])
    lmb_h, lmb_c, format_h, format_c, template = map(read, sys.argv[2:7])
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
    with open(sys.argv[7], 'w', encoding='utf-8') as file:
        file.write(head + template.replace('--@TABLES@\n', ''.join(out)))


if __name__ == '__main__':
    main()
