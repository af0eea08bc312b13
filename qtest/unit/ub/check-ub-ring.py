#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A ring of four switches at full load (UB 2.0 §5.3.6): each is a process, and
so is the endpoint behind its port 0.  Every endpoint writes without end to the
one three links on.  As it is the ring comes to a standstill, and does not leave
it; the watchdog of egress queues frees it, at a price; with another VL behind
the link that closes the ring all passes, and nothing is lost.

usage: check-ub-ring.py UB-NODE UB-SWITCH
"""
import json
import os
import sys
import tempfile
import time

from ub_programs import PATIENCE, Program

RING = 4
ONWARD, BEFORE = 1, 2
# However slow the machine is, no time-out of a layer comes by itself.
LINKS = ('--dll-time-scale', '100000', '--time-scale', '1000')
SCALES = ('--ta-time-scale', '1000000', '--tp-time-scale', '400')
# The transaction layer's: 64 s * 1000.
LOST = 70_000_000
TIMEOUT = 'acknowledgement time-out'
SIZE = 256 << 10
# Several times as much as the links of the ring have credits for.
READS = 32
# Nothing has moved for so long, and for as many looks: then it stands.
STANDS = 3.0
LOOKS = 30
# Loads until it must have stood once.
ROUNDS = 20
WATCHDOG = 200_000_000


class Ring:
    """Port 0 of switch i: endpoint i + 1; port 1: to the next switch."""

    def __init__(self, folder, node, switch):
        self.switches = []
        self.nodes = []
        for i in range(RING):
            routes = os.path.join(folder, f'routes{i}')
            with open(routes, 'w', encoding='ascii') as f:
                for cna in range(1, RING + 1):
                    json.dump({'execute': 'route-set', 'arguments': {
                        'cna': cna,
                        'ports': [0 if cna == i + 1 else ONWARD]}}, f)
                    f.write('\n')
            before = (i - 1) % RING
            self.switches.append(Program(folder, f'switch{i}', [
                switch, '--config', routes, *LINKS,
                '--port', f'unix:{folder}/node{i}',
                '--port', f'connect:unix:{folder}/ring{i}',
                '--port', f'unix:{folder}/ring{before}'], True))
            self.nodes.append(Program(folder, f'node{i}', [
                node, '--cna', str(i + 1), '--port',
                f'connect:{folder}/node{i}', *LINKS, *SCALES]))

    def programs(self):
        return self.switches + self.nodes

    def wait(self):
        end = time.monotonic() + PATIENCE
        while True:
            up = [len(s.ask('query-status')['up']) for s in self.switches]
            links = [n.ask('state')['link'] for n in self.nodes]
            if up == [3] * RING and all(links):
                return
            assert time.monotonic() < end, (up, links)
            time.sleep(0.02)

    def configure(self, **settings):
        for s in self.switches:
            s.ask('configure', **settings)

    def count(self, name, port=ONWARD):
        return [s.ask('query-counters', port=port)[0]['counters'][name]
                for s in self.switches]

    def load(self):
        """The numbers of what every endpoint has posted."""
        return [(n, n.post('Read', to=(i + 1) % RING + 1, carrier='ctp',
                           offset=0, length=SIZE))
                for _ in range(READS)
                for i, n in enumerate(self.nodes)]

    def answered(self):
        for n in self.nodes:
            n.ask('state')      # what was answered before has come
        return sum(len(n.answers) for n in self.nodes)

    def moves(self):
        """How much has gone so far, by all links and to all endpoints."""
        return (self.count('tx-packets'), self.count('tx-packets', 0),
                self.count('drop-watchdog'), self.answered())

    def until(self, many, stands=STANDS):
        """Whether @many are answered; False: nothing has moved for @stands
        seconds."""
        end = time.monotonic() + PATIENCE
        last, since, looks = None, 0, 0
        while self.answered() < many:
            now = self.moves()
            if now != last:
                last, since, looks = now, time.monotonic(), 0
            looks += 1
            if looks > LOOKS and time.monotonic() > since + stands:
                return False
            assert time.monotonic() < end, now
            time.sleep(0.02)
        return True

    def ends(self, posted):
        return [n.take(number)['status'] for n, number in posted]

    def small(self):
        """One Read of each endpoint, on a ring that is free."""
        for i, n in enumerate(self.nodes):
            got = n.ask('Read', to=(i + 1) % RING + 1, carrier='ctp',
                        offset=0, length=64)
            assert got['status'] == 'ok', got


def passes(ring):
    """With the map all of it arrives, and no queue is thrown away."""
    others = list(range(1, 16))
    ring.switches[0].ask('configure', **{'vl-out': [1] + others})
    posted = ring.load()
    # A machine that is busy elsewhere is no standstill.
    assert ring.until(len(posted), PATIENCE), ring.moves()
    assert set(ring.ends(posted)) == {'ok'}
    ring.switches[0].ask('configure', **{'vl-out': [0] + others})


def stands(ring):
    """Without, it stands some day; what was posted then."""
    for _ in range(ROUNDS):
        posted = ring.load()
        if not ring.until(len(posted)):
            return posted
        ring.ends(posted)
    raise AssertionError('the ring never came to a standstill')


def freed(ring, posted):
    """The watchdog throws away what stands; the rest goes, and what comes."""
    before = sum(ring.count('tx-packets'))
    assert not sum(ring.count('drop-watchdog'))
    ring.configure(watchdog=WATCHDOG)
    end = time.monotonic() + PATIENCE
    # What was lost holds the windows until it is given up.
    while not ring.until(len(posted)):
        assert time.monotonic() < end, ring.moves()
        for n in ring.nodes:
            n.ask('advance', ms=LOST)
    assert sum(ring.count('drop-watchdog')) > 0
    assert sum(ring.count('tx-packets')) > before
    ends = ring.ends(posted)
    assert set(ends) == {'ok', TIMEOUT}, set(ends)
    ring.configure(watchdog=0)


with tempfile.TemporaryDirectory() as tmp:
    ring = Ring(tmp, *sys.argv[1:])
    try:
        ring.wait()
        passes(ring)
        freed(ring, stands(ring))
        ring.small()
        passes(ring)
        for program in ring.programs():
            program.quit()
    finally:
        for program in ring.programs():
            program.process.kill()
            program.process.wait()
