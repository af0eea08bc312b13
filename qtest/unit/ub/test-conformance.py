#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What check-conformance.py must refuse, and what it must take."""
import pathlib
import subprocess
import sys
import tempfile

LIBRARY = 'a.c:f,/lib/t,library'
CASES = [
    (LIBRARY, None),
    ('a.c:f,/lib/t; /dev/t,device', None),
    ('a.c:f,qtest/guest/test_x.py:test_y,device', None),
    ('-,not modelled: because,-', None),
    ('a.c:f,/lib/t,device', 'said to reach the device'),
    ('a.c:f,qtest/guest/test_x.py:test_z,device', 'no function test_z'),
    ('a.c:f,/lib/t,-', 'is no reach of such a row'),
    ('a.c:f,/lib/t,', 'column reach is empty'),
    ('-,not modelled: because,library', 'is no reach of such a row'),
    ('-,not modelled:,-', 'no reason given'),
    ('-,/lib/t,library', 'implemented nowhere'),
    ('a.c:g,/lib/t,library', 'no function g'),
    ('b.c:f,/lib/t,library', 'no file b.c'),
    ('a.c:f,/lib/u,library', 'no test /lib/u'),
]


def main():
    check = sys.argv[1]
    with tempfile.TemporaryDirectory() as tmp:
        root = pathlib.Path(tmp)
        (root / 'qtest/guest').mkdir(parents=True)
        (root / 'qtest/guest/test_x.py').write_text('def test_y():\n')
        (root / 'a.c').write_text('int f(void);\n')
        for name in ('lib', 'dev'):
            (root / f'{name}.c').write_text(
                f'g_test_add_func("/{name}/t", t);\n')
        table = root / 'table.csv'
        for number, (row, refused) in enumerate(CASES, 1):
            table.write_text(f'implemented,test,reach\n{row}\n')
            run = subprocess.run(
                [check, table, '--root', root, '--sources', root / 'lib.c',
                 '--device', root / 'dev.c'], capture_output=True, text=True)
            good = (run.returncode == 0 if refused is None else
                    run.returncode == 1 and refused in run.stdout)
            if not good:
                sys.exit(f'row {number} ({row}): {run.stdout}{run.stderr}')
    print(f'{len(CASES)} rows judged as they should be')


if __name__ == '__main__':
    main()
