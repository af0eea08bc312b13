# SPDX-License-Identifier: GPL-2.0-or-later
"""Run unittest cases and print TAP, one line for each test method.

    if __name__ == '__main__':
        tap.main()

Options: -k PATTERN (repeatable), -l to list, -v for progress as diagnostics.
A test that raises NotAvailable or unittest.SkipTest is skipped with its reason.
A class whose setUpClass fails or skips yields a line for each of its methods.
A last line for each class tells whether its clean-up went well.
"""

import argparse
import fnmatch
import sys
import time
import traceback
import unittest

from .clock import SEED
from .guest import NotAvailable, end_on_sigterm


def _cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _title(case):
    doc = case.shortDescription()
    name = case.id().split('.', 1)[-1]
    return f'{name}: {doc}'.replace('#', '') if doc else name


class _Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def line(self, good, title, directive=''):
        self.number += 1
        self.failed += not good
        print(('ok' if good else 'not ok'), self.number, '-',
              title + directive, flush=True)

    @staticmethod
    def diagnose(text):
        for line in text.rstrip().splitlines():
            print('#', line, flush=True)


class _Result(unittest.TestResult):
    """Collects one case's outcome, as (verdict, text)."""

    def __init__(self):
        super().__init__()
        self.verdict = ('ok', '')

    def _fail(self, err):
        if issubclass(err[0], NotAvailable):
            self.verdict = ('skip', str(err[1]))
        else:
            kind, value, frames = err
            while frames and '__unittest' in frames.tb_frame.f_globals:
                frames = frames.tb_next
            self.verdict = ('fail', ''.join(
                traceback.format_exception(kind, value, frames)))

    def addError(self, test, err):
        self._fail(err)

    def addFailure(self, test, err):
        self._fail(err)

    def addSkip(self, test, reason):
        self.verdict = ('skip', reason)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._fail(err)


def _run_class(tap, cls, cases):
    verdict = ('ok', '')
    try:
        cls.setUpClass()
    except (NotAvailable, unittest.SkipTest) as reason:
        verdict = ('skip', str(reason))
    except Exception:
        verdict = ('fail', traceback.format_exc())
    for case in cases:
        started = time.monotonic()
        if verdict[0] == 'ok':
            result = _Result()
            case.run(result)
            outcome = result.verdict
        else:
            outcome = verdict
        kind, text = outcome
        took = f' ({time.monotonic() - started:.1f} s)'
        if kind == 'skip':
            tap.line(True, _title(case), f' # SKIP {text.splitlines()[0]}')
        else:
            tap.line(kind == 'ok', _title(case) + took)
        if kind == 'fail':
            tap.diagnose(text)
    # How it ends is a test as well: emulators leave with status 0.
    trouble = []
    try:
        cls.tearDownClass()
    except Exception:
        trouble.append(traceback.format_exc())
    cls.doClassCleanups()
    trouble += [''.join(traceback.format_exception(*err))
                for err in cls.tearDown_exceptions]
    title = f'{cls.__name__}: everything ends well'
    if verdict[0] == 'skip' and not trouble:
        tap.line(True, title, f' # SKIP {verdict[1].splitlines()[0]}')
    else:
        tap.line(not trouble, title)
    for text in trouble:
        tap.diagnose(text)


def main(module='__main__'):
    parser = argparse.ArgumentParser()
    parser.add_argument('-k', action='append', default=[], metavar='PATTERN')
    parser.add_argument('-l', action='store_true', help='list the tests')
    options = parser.parse_args()
    end_on_sigterm()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    classes = {}
    for case in _cases(suite):
        if not options.k or any(fnmatch.fnmatch(case.id(), f'*{k}*')
                                for k in options.k):
            classes.setdefault(type(case), []).append(case)
    if options.l:
        for cases in classes.values():
            for case in cases:
                print(_title(case))
        return
    total = sum(map(len, classes.values())) + len(classes)
    print(f'1..{total}\n# FABRIC_SEED={SEED}', flush=True)
    tap = _Tap()
    try:
        for cls, cases in classes.items():
            _run_class(tap, cls, cases)
    except KeyboardInterrupt:
        sys.exit('terminated')
    sys.exit(1 if tap.failed else 0)
