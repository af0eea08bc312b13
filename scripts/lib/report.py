#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Count test cases: report.py [--junit DIR] NAME=BASE=STATUS=SECONDS ...

For each suite BASE.json is meson's log, BASE.list what `meson test --list` said
it would run, BASE.junit.xml the same for other tools, STATUS meson's exit status
and SECONDS the time it took.

Prints a line per suite, the skipped and the failed cases with their reasons,
how many distinct cases passed (a suite may run another one's again, under
sanitizers), and as the last line "N passed, N failed, N skipped".  Exits 1 when
a case failed, a test did not run, none of a suite passed, or meson itself failed.
"""
import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

TAP_LINE = re.compile(r'^(ok|not ok)\s+\d+\b\s*-?\s*(.*?)'
                      r'(?:\s+#\s*(skip|todo)\b[:\s]*(.*))?$', re.IGNORECASE)
SKIP_ALL = re.compile(r'^1\.\.0\s*#\s*skip\b[:\s]*(.*)$', re.IGNORECASE)
TIME = re.compile(r' \(\d+\.\d+ s\)$')
FRAME = re.compile(r'^#\s+File "(?:.*/)?([^"/]+)", line (\d+), in ')
LONGEST = 400   # of what is told of a failure
GLIB = re.compile(r'^(?:#|Bail out!)\s*ERROR:(.*)$')


class Case(NamedTuple):
    verdict: str
    name: str
    reason: str = ''


def short(name):
    """A test's name without project and suites."""
    return name.rsplit(' / ', 1)[-1]


def why(lines):
    """Where and of what a case failed, of the diagnostics behind its line."""
    place, said = '', []
    for line in lines:
        frame = FRAME.match(line)
        if frame:
            # What the test called, not where that gave up.
            if not place or frame.group(1).startswith('test_'):
                place = ':'.join(frame.groups())
            said = []
        elif TAP_LINE.match(line) or not line.startswith('#'):
            break
        elif place and line.startswith('# ') and line[2:3].strip():
            said.append(line[2:].strip())
    return f'{place}: {" / ".join(said)}'[:LONGEST] if place else ''


def cases(test):
    """Yield the cases of one entry of the log."""
    seen = False
    bad = False
    title = short(test['name'])
    lines = (test.get('stdout') or '').splitlines()
    gave_up = next((m.group(1) for m in map(GLIB.match, lines) if m), '')[:LONGEST]
    for at, line in enumerate(lines):
        whole = SKIP_ALL.match(line)
        if whole:
            seen = True
            yield Case('skipped', title, whole.group(1))
            continue
        case = TAP_LINE.match(line)
        if not case:
            continue
        seen = True
        state, name, directive, reason = case.groups()
        name = f'{title}: {TIME.sub("", name)}'
        if directive and directive.lower() == 'skip':
            yield Case('skipped', name, reason)
        elif state.lower() == 'ok':
            yield Case('passed', name)
        else:
            bad = True
            yield Case('failed', name, why(lines[at + 1:]) or gave_up)
    result = test['result']
    if result in ('OK', 'EXPECTEDFAIL'):
        if not seen:
            yield Case('passed', title)
    elif result == 'SKIP':
        if not seen:
            yield Case('skipped', title)
    elif not bad:
        # Died, timed out or broke its plan without a failing case.
        yield Case('failed', title, f'{result}: {gave_up}' if gave_up else result)


def suite_cases(base, status):
    """All cases of a suite, and what went wrong with the suite itself."""
    tests, found = [], []
    try:
        with open(f'{base}.json', encoding='utf-8') as log:
            for line in log:
                try:
                    tests.append(json.loads(line))
                except ValueError:
                    found.append(Case('failed', 'the log', 'ends half-way'))
    except FileNotFoundError:
        pass
    for test in tests:
        found += cases(test)
    ran = {short(test['name']) for test in tests}
    try:
        wanted = Path(f'{base}.list').read_text(encoding='utf-8').split('\n')
        wanted = [name for name in wanted if name]
    except FileNotFoundError:
        wanted = []
    found += [Case('failed', short(name), 'did not run')
              for name in wanted if short(name) not in ran]
    verdicts = {case.verdict for case in found}
    if status and 'failed' not in verdicts:
        found.append(Case('failed', 'meson', f'ended with status {status}'))
    elif not verdicts:
        found.append(Case('failed', 'the suite', 'ran no test'))
    elif verdicts == {'skipped'}:
        found.append(Case('failed', 'the suite', 'skipped all its tests'))
    return found


def main(args):
    parser = argparse.ArgumentParser()
    parser.add_argument('--junit', type=Path)
    parser.add_argument('suite', nargs='*')
    options = parser.parse_args(args)
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    details, distinct = [], set()
    if options.junit:
        shutil.rmtree(options.junit, ignore_errors=True)
        options.junit.mkdir(parents=True)
    print('\n== summary')
    for suite in options.suite:
        name, base, status, seconds = suite.split('=')
        count = dict.fromkeys(total, 0)
        for case in suite_cases(base, int(status)):
            count[case.verdict] += 1
            if case.verdict == 'passed':
                distinct.add(case.name)
            else:
                details.append((case.verdict, name, case.name, case.reason))
        for verdict, number in count.items():
            total[verdict] += number
        minutes = divmod(int(seconds), 60)
        print(f"{name:12} {count['passed']:6} passed {count['failed']:4} "
              f"failed {count['skipped']:4} skipped   "
              f'{minutes[0]:3} min {minutes[1]:2} s')
        junit = Path(f'{base}.junit.xml')
        if options.junit and junit.exists():
            shutil.copy(junit, options.junit / f'{name}.xml')
    for verdict, suite, name, reason in sorted(details):
        print(f'{verdict}: {suite}: {name}' + (f' ({reason})' if reason else ''))
    if len(distinct) != total['passed']:
        print(f'{len(distinct)} distinct cases, the others are repetitions')
    print(f"{total['passed']} passed, {total['failed']} failed, "
          f"{total['skipped']} skipped")
    return 1 if total['failed'] or not options.suite else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
