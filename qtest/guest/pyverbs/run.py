# SPDX-License-Identifier: GPL-2.0-or-later
"""Run rdma-core's pyverbs tests in a guest; one JSON object a line.

usage: run.py DIR [OPTION...]

DIR holds rdma-core's package "tests"; options are that package's own (--dev,
--port, --gid).  A line {"id", "outcome", "text"} follows each run of a test;
outcome is ok, skip or fail; the last one counts.  A test that hangs fails after its time.

Some tests take random parameters and skip what the adapter does not support.
The seed is fixed, so that the outcome is; a test that skips gets further ones.
"""

import json
import os
import random
import signal
import sys
import unittest

SECONDS = 120
SEEDS = 8


class Lines(unittest.TestResult):
    """Writes each outcome when it is known: a crash tells where it was."""

    def __init__(self, out, seed):
        super().__init__()
        self.out = out
        self.seed = seed

    def _line(self, test, outcome, text=''):
        self.out.write(json.dumps({'id': test.id(), 'outcome': outcome,
                                   'text': text}) + '\n')
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self._line(test, 'start')
        random.seed(f'{test.id()} {self.seed}')
        signal.alarm(SECONDS)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        self._line(test, 'ok')

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, 'skip', reason)

    def addError(self, test, err):
        self._line(test, 'fail', self._exc_info_to_string(err, test))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._line(test, 'fail', self._exc_info_to_string(err, test))


def too_long(_number, _frame):
    raise TimeoutError(f'not within {SECONDS} s')


def main():
    where = sys.argv[1]
    # What the tests print must not come between the lines.
    out = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    sys.path[:0] = [where, os.path.join(where, 'tests')]
    sys.argv[1:] = sys.argv[2:]
    from args_parser import parser
    parser.parse_args()
    import tests
    signal.signal(signal.SIGALRM, too_long)
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    for seed in range(SEEDS):
        result = Lines(out, seed)
        suite.run(result)
        suite = unittest.TestSuite(type(test)(test.id().split('.')[-1])
                                   for test, _reason in result.skipped)


if __name__ == '__main__':
    main()
