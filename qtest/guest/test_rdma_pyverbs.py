# SPDX-License-Identifier: GPL-2.0-or-later
"""rdma-core's own tests of the verbs (pyverbs), in a guest on ncic-mthca.

They come with Debian's package python3-pyverbs.  pyverbs/expected.txt lists
those that do not pass and why: a listed one that passes is as much a failure
as another one that does not.
"""

import collections
import fnmatch
import json
import unittest
from pathlib import Path

from guestvm import net, rdmacase, tap
from guestvm.rdmacase import RdmaCase

HERE = Path(__file__).resolve().parent / 'pyverbs'
TESTS = '/usr/share/doc/rdma-core/tests'


def expected():
    """[(outcome, pattern, reason)] of the list."""
    rows = []
    for line in (HERE / 'expected.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            outcome, pattern, reason = line.split(None, 2)
            rows.append((outcome, pattern, reason))
    return rows


def differences(outcomes, rows):
    """What is not as the list says, one line each.

    outcomes: {id: (outcome, text)}; the first row that matches an id counts.
    """
    wrong, used = [], set()
    for ident, (outcome, text) in sorted(outcomes.items()):
        row = next((r for r in rows if fnmatch.fnmatch(ident, r[1])), None)
        used.add(row)
        want = row[0] if row else 'ok'
        if outcome != want:
            wrong.append(f'{ident}: {outcome}, expected {want}: {text}')
    return wrong + [f'{row[1]}: matches no test' for row in rows
                    if row not in used]


class List(unittest.TestCase):
    def test_both_ways(self):
        """the list is compared both ways"""
        rows = [('skip', 'a.x*', 'r'), ('fail', 'b', 'r'), ('skip', 'n', 'r')]
        self.assertEqual(
            [w.split(',')[0] for w in differences(
                {'a.x1': ('skip', ''), 'a.x2': ('ok', ''), 'b': ('skip', ''),
                 'c': ('skip', ''), 'd': ('fail', ''), 'e': ('ok', '')},
                rows)],
            ['a.x2: ok', 'b: skip', 'c: skip', 'd: fail',
             'n: matches no test'])


class Pyverbs(RdmaCase):
    """Both ends of each connection are in the right guest; the left one has
    the subnet manager, for the tests of the connection manager."""
    props = ',sm=auto'

    @classmethod
    def make(cls, name, index, wires=None):
        guest = super().make(name, index, wires)
        if wires:
            guest.memory = 1024
            guest.sets += ['python', 'pyverbs']
            guest.files['/root/run.py'] = HERE / 'run.py'
        return guest

    def test_outcomes(self):
        """rdma-core's pyverbs tests end as the list says"""
        rdmacase.start_opensm(self.left, self.guests)
        net.static(self.right, 'ib0', '10.6.0.2/24')
        self.right.run(f'mkdir /root/rdma && cp -r {TESTS} /root/rdma/ &&\n'
                       'gunzip /root/rdma/tests/*.gz')
        done = self.right.run('python3 /root/run.py /root/rdma --dev mthca0 '
                              '--port 1 --gid 0', 1200, check=False)
        lines = [json.loads(line) for line in done.out.splitlines()]
        outcomes = {line['id']: (line['outcome'], line['text'].strip())
                    for line in lines}
        counts = collections.Counter(o for o, _ in outcomes.values())
        print('# ' + ', '.join(f'{n} {o}' for o, n in sorted(counts.items())))
        if done.status:
            self.fail(f'{lines[-1:]}\n{done.err[-4000:]}')
        wrong = differences(outcomes, expected())
        if wrong:
            self.fail('\n'.join(wrong))
        for guest in self.guests:
            self.assertEqual(guest.kernel_complaints(), [])


if __name__ == '__main__':
    tap.main()
