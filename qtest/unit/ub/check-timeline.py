#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test scripts/ub-timeline on the logs of two ends of a link.

usage: check-timeline.py UB_TIMELINE LOG_A LOG_B
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SVG = '{http://www.w3.org/2000/svg}'
TOOL, LOG_A, LOG_B = sys.argv[1:4]
EQUALISATION = ['EQ.Active', 'EQ.Passive']


def run(*args, log=None):
    """Status, rows (name -> rectangles) and what was said on standard
    error."""
    done = subprocess.run([TOOL, *args], capture_output=True, text=True,
                          input=log)
    rows = {}
    if done.returncode == 0:
        for group in xml.etree.ElementTree.fromstring(done.stdout).iter(
                SVG + 'g'):
            rows[group.find(SVG + 'text').text] = [
                (r.get('data-state'), float(r.get('x')),
                 float(r.get('width')), r.find(SVG + 'title').text)
                for r in group.iter(SVG + 'rect')]
    return done.returncode, rows, done.stderr


def names(row):
    return [state for state, *_ in row]


class Timeline(unittest.TestCase):
    def test_both_ends(self):
        status, rows, said = run(LOG_A, LOG_B)
        self.assertEqual((status, said), (0, ''))
        self.assertEqual(list(rows), [
            f'{end} ub0 port 0 {machine}' for end in 'AB'
            for machine in ('lmsm', 'dll', 'retry-req', 'retry-ack')])
        self.assertEqual(names(rows['A ub0 port 0 dll']), [
            'DLL_Disabled', 'DLL_Param_Init', 'DLL_Credit_Init',
            'DLL_Normal'])
        # B lost its peer at the end.
        self.assertEqual(names(rows['B ub0 port 0 dll'])[-2:],
                         ['DLL_Normal', 'DLL_Disabled'])
        lmsm = names(rows['A ub0 port 0 lmsm'])
        self.assertEqual(lmsm[:3], ['Link_Idle', 'Probe.Wait',
                                    'Probe.Confirm'])
        self.assertEqual(lmsm[-2:], ['Send_NullBlock', 'Link_Active'])
        self.assertEqual([n for n in lmsm if n in EQUALISATION],
                         EQUALISATION)

    def test_rows_have_no_holes(self):
        for axis in 'time', 'events':
            _, rows, _ = run('--axis', axis, LOG_A, LOG_B)
            ends = set()
            for row in rows.values():
                for (_, x, width, _), (_, following, *_) in zip(row, row[1:]):
                    self.assertGreaterEqual(width, 0)
                    self.assertAlmostEqual(x + width, following, delta=0.03)
                ends.add((round(row[0][1]), round(row[-1][1] + row[-1][2])))
            self.assertEqual(len(ends), 1)

    def test_one_clock(self):
        """With the time of day one end's cause precedes the other's effect,
        whatever the clocks of the devices say."""
        with open(LOG_B, encoding='utf-8') as file:
            shifted = re.sub(r'at (\d+) ns',
                             lambda m: f'at {int(m[1]) - 10**9} ns',
                             file.read())
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, 'b.log')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(shifted)
            window = '--begin', '1020', '--end', '1060'
            _, want, _ = run(*window, LOG_A, LOG_B)
            status, rows, said = run(*window, LOG_A, path)
        self.assertEqual((status, said), (0, ''))
        self.assertEqual(rows, want)
        normal = [row[-1] for name, row in rows.items() if 'dll' in name]
        self.assertEqual([n[0] for n in normal], ['DLL_Normal'] * 2)
        self.assertLess(abs(normal[0][1] - normal[1][1]), 5)

    def test_durations(self):
        log = ('ubc_transition x port 3 at 1000000 ns: dll A -> B (why <&>)\n'
               'something else\n'
               '1@2.3:ubc_wire x port 3: connected\n'
               'ubc_transition x port 3 at 3500000 ns: dll B -> C (because)\n'
               'ubc_transition x port 3 at 5000000 ns: dll C -> C (again)\n')
        status, rows, _ = run('-', log=log)
        self.assertEqual(status, 0)
        row = rows['x port 3 dll']
        self.assertEqual([r[3] for r in row], [
            'x port 3 dll: B, from 0 ms for 2.5 ms (why <&>)',
            'x port 3 dll: C, from 2.5 ms for 1.7 ms (because)'])
        self.assertAlmostEqual(row[0][2] / row[1][2], 2.5 / 1.7, delta=0.001)
        _, rows, _ = run('--begin', '1', '--end', '3', '-', log=log)
        self.assertEqual([r[3] for r in rows['x port 3 dll']], [
            'x port 3 dll: B, from 1 ms for 1.5 ms (why <&>)',
            'x port 3 dll: C, from 2.5 ms for 0.5 ms (because)'])

    def test_without_time_of_day(self):
        with tempfile.TemporaryDirectory() as tmp:
            paths = []
            for name, at in ('a', 1000), ('b', 9000000):
                paths.append(os.path.join(tmp, name))
                with open(paths[-1], 'w', encoding='utf-8') as file:
                    file.write(f'ubc_transition x port 0 at {at} ns: dll '
                               f'A -> B (c)\nubc_transition x port 0 at '
                               f'{at + 500} ns: dll B -> C (c)\n')
            status, rows, said = run(*paths)
        self.assertEqual(status, 0)
        self.assertIn('no time of day', said)
        a, b = rows.values()
        self.assertEqual([r[:3] for r in a], [r[:3] for r in b])

    def test_refusals(self):
        self.assertEqual(run('-', log='nothing\n')[0], 1)
        self.assertEqual(run('/nonexistent')[0], 1)
        self.assertEqual(run('--begin', '5', '--end', '5', LOG_A)[0], 1)
        self.assertEqual(run('--axis', 'no', LOG_A)[0], 2)
        self.assertEqual(run()[0], 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
