#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Count test cases in meson's JSON logs: report.py NAME=LOG.json ...

Prints a line per suite, the skipped cases with their reasons, the failed ones,
and as the last line "N passed, N failed, N skipped".  Exits 1 when a case
failed or a suite ran nothing.
"""
import json
import re
import sys

TAP_LINE = re.compile(r'^(ok|not ok)\b\s*\d*\s*-?\s*(.*?)'
                      r'(?:\s+#\s*(skip|todo)\b[:\s]*(.*))?$', re.IGNORECASE)
SKIP_ALL = re.compile(r'^1\.\.0\s*#\s*skip\b[:\s]*(.*)$', re.IGNORECASE)


def cases(test):
    """Yield (verdict, name, reason) for each case of one entry of the log."""
    seen = False
    bad = False
    for line in (test.get('stdout') or '').splitlines():
        whole = SKIP_ALL.match(line)
        if whole:
            seen = True
            yield 'skipped', test['name'], whole.group(1)
            continue
        case = TAP_LINE.match(line)
        if not case:
            continue
        seen = True
        state, name, directive, reason = case.groups()
        name = f"{test['name']}: {name}"
        if directive and directive.lower() == 'skip':
            yield 'skipped', name, reason
        elif state == 'ok':
            yield 'passed', name, ''
        else:
            bad = True
            yield 'failed', name, ''
    result = test['result']
    if result in ('OK', 'EXPECTEDFAIL'):
        if not seen:
            yield 'passed', test['name'], ''
    elif result == 'SKIP':
        if not seen:
            yield 'skipped', test['name'], ''
    elif not bad:
        # Died, timed out or broke its plan without a failing case.
        yield 'failed', test['name'], result


def main(args):
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    details = []
    empty = False
    print('\n== summary')
    for arg in args:
        suite, path = arg.split('=', 1)
        count = dict.fromkeys(total, 0)
        try:
            with open(path, encoding='utf-8') as log:
                for line in log:
                    for verdict, name, reason in cases(json.loads(line)):
                        count[verdict] += 1
                        if verdict != 'passed':
                            details.append((verdict, suite, name, reason))
        except FileNotFoundError:
            pass
        if not any(count.values()):
            empty = True
            details.append(('failed', suite, 'ran no test', ''))
            count['failed'] += 1
        for verdict, number in count.items():
            total[verdict] += number
        print(f"{suite:12} {count['passed']:6} passed {count['failed']:4} "
              f"failed {count['skipped']:4} skipped")
    for verdict, suite, name, reason in sorted(details):
        print(f'{verdict}: {suite}: {name}' + (f' ({reason})' if reason else ''))
    print(f"{total['passed']} passed, {total['failed']} failed, "
          f"{total['skipped']} skipped")
    return 1 if total['failed'] or empty else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
