#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that sections named in RC Link's sources are sections of its document.

usage: check-sections.py ROOT

The document's sections are those that rows of docs/conformance/rclink.csv have.
"§12.5" is looked for in sources, tests and pages; so is the rule of each
rcl_guest_error(), which is a section or a word of docs/specs/rclink.rst.  Exit
status 1, a line for each that does not exist.
"""
import csv
import pathlib
import re
import sys

PLACES = ('hw/rclink', 'include/rclink', 'linux/rclink', 'tools/rclink',
          'qtest/unit/rclink', 'qtest/fuzz/rclink', 'qtest/bench/rclink',
          'docs/specs/rclink.rst', 'docs/decisions/rclink.rst')
DEVICE = 'qtest/device', 'rclink*.[ch]'
SECTION = re.compile(r'§([\d.]*\d)(?:-([\d.]*\d))?')
RULE = re.compile(r'rcl_guest_error\(d,\s*"([^"]*)"')
WORDS = {'TX_S', 'rings', 'appendix'}


def sections(table):
    """Those of the document: 12.5 is there if a row is of it, or of 12.5.1."""
    found = set()
    with open(table, encoding='utf-8', newline='') as f:
        for row in csv.DictReader(f):
            part = row['section'].removeprefix('table ').split('.')
            found |= {'.'.join(part[:n]) for n in range(2, len(part) + 1)}
    return found


def files(root):
    for place in PLACES:
        path = root / place
        yield from sorted(path.iterdir()) if path.is_dir() else [path]
    yield from sorted((root / DEVICE[0]).glob(DEVICE[1]))


def wrong(text, known):
    """Yield line and name of what is no section."""
    for found in SECTION.finditer(text):
        for name in filter(None, found.groups()):
            if name not in known:
                yield text.count('\n', 0, found.start()) + 1, '§' + name
    for found in RULE.finditer(text):
        if found.group(1) not in known | WORDS:
            yield text.count('\n', 0, found.start()) + 1, found.group(0)


def main():
    root = pathlib.Path(sys.argv[1])
    known = sections(root / 'docs/conformance/rclink.csv')
    seen = bad = 0
    for file in files(root):
        if file.suffix not in ('.c', '.h', '.rst', '.lua'):
            continue
        text = file.read_text(encoding='utf-8')
        seen += len(SECTION.findall(text)) + len(RULE.findall(text))
        for line, name in wrong(text, known):
            print(f'{file}:{line}: {name}')
            bad += 1
    print(f'{len(known)} sections, named {seen} times, {bad} mistakes')
    return bad != 0 or not seen


if __name__ == '__main__':
    sys.exit(main())
