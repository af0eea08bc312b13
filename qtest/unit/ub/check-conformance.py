#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check traceability tables: every named test and function must exist.

A table is a CSV file with the columns "implemented", "test" and "reach".  The
first names places as path:function, several divided by semicolons, or "-"; the
second names GLib test paths in the same way (or functions of guest tests, as
path:function), or says "not modelled: reason".  The third says how far the
rule is shown to hold: "library" (the core, by calls), "device" (a user of the
device meets it: one of the tests is a device, link or guest test), or "-" for
what is not modelled.

Test paths are those that the test programs given with --exe list (-l), and
those written out in g_test_add and qtest_add calls of the sources under
--sources and --device; only the latter make a row reach the device.
"""
import argparse
import csv
import pathlib
import re
import subprocess
import sys

ADD = re.compile(r'(?:g_test|qtest)_add(?:_data)?(?:_func)?(?:_full)?\s*\(\s*"(/[^"]+)"')
GUEST = re.compile(r'qtest/guest/\w+\.py:test_\w+')
NOT = 'not modelled:'


def tests_of(exe):
    """Test paths that a GLib test program lists: GLib 2.84 does so in comments of TAP."""
    out = subprocess.run([exe, '-l'], capture_output=True, text=True,
                         timeout=60, check=True).stdout
    lines = {line.removeprefix('# ') for line in out.splitlines()}
    return {line for line in lines if line.startswith('/')}


def split(text):
    return [part.strip() for part in text.split(';') if part.strip()]


def check_place(root, place):
    """None, or why path:function is wrong."""
    path, colon, name = place.partition(':')
    file = root / path
    if not file.is_file():
        return f'no file {path}'
    if not colon or not re.search(r'\b%s\s*\(' % re.escape(name),
                                  file.read_text(encoding='utf-8')):
        return f'no function {name or "?"} in {path}'
    return None


def added(places):
    """Test paths written out in files, or in the C files of folders."""
    found = set()
    for place in places:
        for file in place.rglob('*.c') if place.is_dir() else [place]:
            found |= set(ADD.findall(file.read_text(encoding='utf-8')))
    return found


def check_row(row, root, known, device):
    """Yield what is wrong with one row."""
    for column in ('implemented', 'test', 'reach'):
        if not (row.get(column) or '').strip():
            yield f'column {column} is empty'
            return
    test = row['test'].strip()
    modelled = not test.startswith(NOT)
    if not modelled and not test[len(NOT):].strip():
        yield 'no reason given'
    if row['implemented'].strip() not in ('-', ''):
        for place in split(row['implemented']):
            wrong = check_place(root, place)
            if wrong:
                yield wrong
    elif modelled:
        yield 'tested but implemented nowhere'
    reached = False
    for name in split(test) if modelled else []:
        if GUEST.fullmatch(name):
            wrong = check_place(root, name)
            reached = True
            if wrong:
                yield wrong
        elif name not in known:
            yield f'no test {name}'
        reached = reached or name in device
    reach = row['reach'].strip()
    if reach not in (('library', 'device') if modelled else ('-',)):
        yield f'{reach} is no reach of such a row'
    if reach == 'device' and not reached:
        yield 'said to reach the device, but no test of it does'


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument('tables', nargs='+', type=pathlib.Path)
    ap.add_argument('--root', type=pathlib.Path, default=pathlib.Path('.'))
    ap.add_argument('--sources', nargs='*', type=pathlib.Path, default=[])
    ap.add_argument('--device', nargs='*', type=pathlib.Path, default=[])
    ap.add_argument('--exe', nargs='*', default=[])
    args = ap.parse_args()

    device = added(args.device)
    known = device | added(args.sources)
    for exe in args.exe:
        known |= tests_of(exe)
    if not known:
        sys.exit('no test found at all: nothing can be checked')

    rows = bad = reached = 0
    for table in args.tables:
        with open(table, encoding='utf-8', newline='') as f:
            for number, row in enumerate(csv.DictReader(f), 2):
                rows += 1
                reached += row.get('reach') == 'device'
                for wrong in check_row(row, args.root, known, device):
                    print(f'{table}:{number}: {wrong}')
                    bad += 1
    if not rows:
        sys.exit('the tables are empty')
    print(f'{rows} rows, {reached} reach the device, {len(known)} tests '
          f'known, {bad} mistakes')
    return bad != 0


if __name__ == '__main__':
    sys.exit(main())
