#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of settings says what the program says; decisions name what there is.

usage: check-settings.py [--write] UB-NODE PAGE [DECISIONS...]

PAGE has a list-table with a row for each setting of "ub-node --settings": name,
default, meaning; --write makes it anew.  In DECISIONS, every ``net-...``,
``tp-...`` and ``ta-...`` is a setting.
"""
import pathlib
import re
import subprocess
import sys

MARK = '.. made by qtest/unit/ub/check-settings.py --write\n'
# What the controller has besides, by hand.
OTHERS = {'tp-accept', 'tp-time-scale', 'tp-time-floor', 'ta-time-scale',
          'ta-time-floor'}


def settings(node):
    out = subprocess.run([node, '--settings'], check=True, timeout=60,
                         capture_output=True, text=True).stdout
    return [line.split('\t') for line in out.splitlines()]


def short(value):
    """A long list by its first elements."""
    parts = value.split(':')
    return value if len(parts) < 6 else ':'.join(parts[:5]) + ': …'


def table(rows):
    text = [MARK, '\n', '.. list-table::\n', '   :header-rows: 1\n',
            '   :widths: 24 20 56\n', '\n', '   * - Name\n',
            '     - Default\n', '     - Meaning\n']
    for name, value, meaning in rows:
        text += [f'   * - ``{name}``\n', f'     - {short(value)}\n',
                 f'     - {meaning}\n']
    return ''.join(text)


def main():
    args = sys.argv[1:]
    write = '--write' in args
    args = [a for a in args if a != '--write']
    rows = settings(args[0])
    page = pathlib.Path(args[1])
    text = page.read_text(encoding='utf-8')
    head = text.partition(MARK)[0]
    names = {row[0] for row in rows} | OTHERS
    wrong = 0

    if len(rows) < 100 or len({row[0] for row in rows}) != len(rows):
        sys.exit(f'{len(rows)} settings, or one of them twice')
    if write:
        page.write_text(head + table(rows), encoding='utf-8')
    elif text != head + table(rows):
        print(f'{page}: not what the program says; run with --write')
        wrong += 1
    for path in args[2:]:
        said = pathlib.Path(path).read_text(encoding='utf-8')
        for name in re.findall(r'``((?:net|tp|ta)-[a-z0-9-]+)``', said):
            if name not in names:
                print(f'{path}: no setting {name}')
                wrong += 1
    return wrong != 0


sys.exit(main())
