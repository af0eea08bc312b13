#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check traceability tables: every named test and function must exist.

A table is a CSV file with the columns "implemented" and "test".  The first
names places as path:function, several divided by semicolons, or "-"; the second
names GLib test paths in the same way, or says "not modelled: reason".

Test paths are those that the test programs given with --exe list (-l), and
those written out in g_test_add and qtest_add calls of the sources under
--sources.
"""
import argparse
import csv
import pathlib
import re
import subprocess
import sys

ADD = re.compile(r'(?:g_test|qtest)_add(?:_data)?(?:_func)?(?:_full)?\s*\(\s*"(/[^"]+)"')
NOT = 'not modelled:'


def tests_of(exe):
    """Test paths that a GLib test program lists."""
    out = subprocess.run([exe, '-l'], capture_output=True, text=True,
                         timeout=60, check=True).stdout
    return {line for line in out.splitlines() if line.startswith('/')}


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


def check_row(row, root, known):
    """Yield what is wrong with one row."""
    for column in ('implemented', 'test'):
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
    for name in split(test) if modelled else []:
        if name not in known:
            yield f'no test {name}'


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument('tables', nargs='+', type=pathlib.Path)
    ap.add_argument('--root', type=pathlib.Path, default=pathlib.Path('.'))
    ap.add_argument('--sources', nargs='*', type=pathlib.Path, default=[])
    ap.add_argument('--exe', nargs='*', default=[])
    args = ap.parse_args()

    known = set()
    for exe in args.exe:
        known |= tests_of(exe)
    for folder in args.sources:
        for file in folder.rglob('*.c'):
            known |= set(ADD.findall(file.read_text(encoding='utf-8')))
    if not known:
        sys.exit('no test found at all: nothing can be checked')

    rows = bad = 0
    for table in args.tables:
        with open(table, encoding='utf-8', newline='') as f:
            for number, row in enumerate(csv.DictReader(f), 2):
                rows += 1
                for wrong in check_row(row, args.root, known):
                    print(f'{table}:{number}: {wrong}')
                    bad += 1
    if not rows:
        sys.exit('the tables are empty')
    print(f'{rows} rows, {len(known)} tests known, {bad} mistakes')
    return bad != 0


if __name__ == '__main__':
    sys.exit(main())
