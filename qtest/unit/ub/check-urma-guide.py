#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The guide to the engine's queues says what their header says.

usage: check-urma-guide.py HEADER GUIDE

Every constant UBQ_… of HEADER must stand in GUIDE, and no other.  A row of a table
that begins with a value and then names a constant must have the value of HEADER:
a number, [bit] or [high:low] for a mask of bits.
"""
import re
import sys

NAME = r'UBQ_[A-Z0-9_]+'
GUARD = 'UB_URMA_HW_H'
ROW = re.compile(r'^ +"?(0x[0-9a-f]+|\d+|\[\d+(?::\d+)?\])"?, +``(%s)' % NAME)


def number(text, known):
    """Value of an expression of numbers and constants before it."""
    text = re.sub(r'\b(0x[0-9a-fA-F]+|\d+)(?:[uU]?[lL]*)\b', r'\1', text)
    text = re.sub(r'\b%s\b' % NAME, lambda m: str(known[m.group()]), text)
    if not re.fullmatch(r'[0-9a-fA-Fx\s()<|+*-]+', text):
        raise ValueError(text)
    return eval(text)  # digits and operators only


def constants(header):
    """Names of a header and their values; None: it takes an argument."""
    text = re.sub(r'/\*.*?\*/', '', header, flags=re.S)
    known = {}
    for line in re.findall(r'^#define (.*)$', text, flags=re.M):
        name, _, value = line.partition(' ')
        if '(' in name:
            known[name.partition('(')[0]] = None
        elif name != GUARD:
            known[name] = number(value, known)
    for body in re.findall(r'enum[^{]*\{(.*?)\}', text, flags=re.S):
        value = -1
        for item in filter(None, (i.strip() for i in body.split(','))):
            name, eq, given = (i.strip() for i in item.partition('='))
            value = number(given, known) if eq else value + 1
            known[name] = value
    return known


def said(cell):
    """Value of the first cell of a row."""
    if not cell.startswith('['):
        return int(cell, 0)
    high, _, low = cell[1:-1].partition(':')
    low = low or high
    return (1 << (int(high) + 1)) - (1 << int(low))


def check(header, guide):
    """Yield what is wrong."""
    known = constants(header)
    named = set(re.findall(NAME, guide))
    rows = 0
    for name in sorted(set(known) - named):
        yield f'{name} is not in the guide'
    for name in sorted(named - set(known)):
        if not name.endswith('_'):      # of a family: UBQ_RESULT_*
            yield f'{name} is not in the header'
    for n, line in enumerate(guide.splitlines(), 1):
        row = ROW.match(line)
        if row and known.get(row[2]) is not None:
            rows += 1
            if said(row[1]) != known[row[2]]:
                yield f'line {n}: {row[2]} is {known[row[2]]:#x}, not {row[1]}'
    if rows < len(known) * 3 // 4:
        yield f'only {rows} of {len(known)} constants have a row with a value'


def main():
    header, guide = (open(f, encoding='utf-8').read() for f in sys.argv[1:3])
    wrong = list(check(header, guide))
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
