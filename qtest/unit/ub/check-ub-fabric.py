#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Four endpoints at two switches in a row: data between all of them, while
each program in turn is killed and started again.

usage: check-ub-fabric.py UB-NODE UB-SWITCH
"""
import json
import os
import random
import sys
import tempfile
import time

from ub_programs import PATIENCE, Program

NODES = (1, 2, 3, 4)
CARRIERS = ('ctp', 'bypass', 'rtp')
# What a process may have more of at the end than after the first round.
GROWTH = 8 << 20
# However slow the machine is, no time-out comes by itself: above the ports none
# within hours, and then by "advance"; below them a program may be without a
# turn for seconds.
LINKS = ('--dll-time-scale', '100000', '--time-scale', '1000')
SCALES = ('--ta-time-scale', '1000000', '--tp-time-scale', '400')
# The transaction layer's: 64 s * 1000.
LOST = 70_000_000
# Two of these are an RTP's first time-out; thousands until it gives up.
SOON = 5_000
TIMEOUT = 'acknowledgement time-out'


class Fabric:
    """Nodes 1 and 2 at the first switch, 3 and 4 at the other one; port 2 of
    each is the way between."""

    def __init__(self, folder, node, switch):
        self.switches = []
        self.nodes = {}
        self.tpn = 0
        self.random = random.Random(1)
        for i in range(2):
            routes = os.path.join(folder, f'routes{i}')
            with open(routes, 'w', encoding='ascii') as f:
                for cna in NODES:
                    here = (cna - 1) // 2 == i
                    json.dump({'execute': 'route-set', 'arguments': {
                        'cna': cna,
                        'ports': [(cna - 1) % 2 if here else 2]}}, f)
                    f.write('\n')
            words = [switch, '--config', routes, *LINKS]
            for port in range(3):
                connects = 'connect:' if (i, port) == (1, 2) else ''
                at = '0.2' if port == 2 else f'{i}.{port}'
                words += ['--port', f'{connects}unix:{folder}/{at}']
            self.switches.append(Program(folder, f'switch{i}', words, True))
        for cna in NODES:
            place = f'{(cna - 1) // 2}.{(cna - 1) % 2}'
            self.nodes[cna] = Program(folder, f'node{cna}', [
                node, '--cna', str(cna), '--port',
                f'connect:{folder}/{place}', *LINKS, *SCALES])

    def programs(self):
        return self.switches + list(self.nodes.values())

    def wait(self):
        """Until every link is up."""
        end = time.monotonic() + PATIENCE
        while True:
            up = [len(s.ask('query-status')['up']) for s in self.switches]
            links = [n.ask('state')['link'] for n in self.nodes.values()]
            if up == [3, 3] and all(links):
                return
            assert time.monotonic() < end, (up, links)
            time.sleep(0.05)

    def channels(self):
        """New ones between all pairs: a peer that began anew has none."""
        for a in NODES:
            for b in NODES:
                if a < b:
                    self.tpn += 2
                    one, other = self.tpn, self.tpn + 1
                    self.nodes[a].ask('channel', to=b, tpn=one,
                                      **{'peer-tpn': other})
                    self.nodes[b].ask('channel', to=a, tpn=other,
                                      **{'peer-tpn': one})

    def pairs(self):
        return [(a, b) for a in NODES for b in NODES if a != b]

    def exchange(self, carrier, size=5000):
        """Writes of all pairs at the same time; all is read back."""
        data = {pair: self.random.randbytes(size).hex()
                for pair in self.pairs()}
        posted = [(a, self.nodes[a].post('Write', to=b, carrier=carrier,
                                         offset=a << 16, data=data[a, b]))
                  for a, b in data]
        for a, number in posted:
            assert self.nodes[a].take(number) == {'status': 'ok'}, carrier
        for a, b in data:
            got = self.nodes[a].ask('Read', to=b, carrier=carrier,
                                    offset=a << 16, length=size)
            assert got == {'status': 'ok', 'data': data[a, b]}, (a, b)

    def adds(self, carrier, victim, many=40):
        """Atomics between all pairs while a program dies; what was posted, by
        pair, but for the victim's own."""
        posted = {pair: [] for pair in self.pairs()
                  if self.nodes[pair[0]] is not victim}
        for count in range(many):
            if count == many // 2:
                victim.kill()
                self.alive(victim)
            for a, b in self.pairs():
                if victim.running or victim is not self.nodes[a]:
                    number = self.nodes[a].post(
                        'Atomic_fetch_add', to=b, carrier=carrier,
                        offset=(a + 8) << 16, data='01' + '00' * 15)
                    if (a, b) in posted:
                        posted[a, b].append(number)
        return posted

    def ends(self, posted):
        """How it ended, by pair."""
        return {(a, b): [self.nodes[a].take(n) for n in numbers]
                for (a, b), numbers in posted.items()}

    def hurry(self, posted, step):
        """Time goes on, by @step ms at once, until all is answered."""
        end = time.monotonic() + PATIENCE
        while True:
            late = [self.nodes[a] for (a, b), numbers in posted.items()
                    if not self.nodes[a].answered(numbers)]
            if not late:
                return
            assert time.monotonic() < end, [n.name for n in late]
            for node in self.nodes.values():
                if node.running:
                    node.ask('advance', ms=step)
            time.sleep(0.02)

    def alive(self, but):
        """The others answer, although nothing times out for them."""
        for program in self.programs():
            if program is not but:
                program.ask('state' if program in self.nodes.values()
                            else 'query-ports')

    def all_carriers(self):
        self.wait()
        self.channels()
        for carrier in CARRIERS:
            self.exchange(carrier, 500 if carrier == 'bypass' else 20000)
        for node in self.nodes.values():
            assert node.ask('state')['requests'] == 0


def lose_a_node(fabric, victim):
    """What was for it fails, all else is done, and before."""
    posted = fabric.adds('ctp', victim)
    lost = {(a, b): posted.pop((a, b)) for a, b in list(posted)
            if victim is fabric.nodes[b]}
    for pair, ends in fabric.ends(posted).items():
        assert all(e['status'] == 'ok' for e in ends), (pair, ends)
    fabric.hurry(lost, LOST)
    for pair, ends in fabric.ends(lost).items():
        assert ends[-1]['status'] == TIMEOUT, (pair, ends)
        assert all(e['status'] in ('ok', TIMEOUT) for e in ends), (pair, ends)
    victim.start()
    fabric.all_carriers()


def lose_a_switch(fabric, victim):
    """CTP says what it could not do, RTP does everything, and once."""
    posted = fabric.adds('ctp', victim)
    victim.start()
    fabric.hurry(posted, LOST)
    for pair, ends in fabric.ends(posted).items():
        assert all(e['status'] in ('ok', TIMEOUT) for e in ends), (pair, ends)
    fabric.all_carriers()

    posted = fabric.adds('rtp', victim)
    victim.start()
    fabric.wait()
    fabric.hurry(posted, SOON)
    for pair, ends in fabric.ends(posted).items():
        values = [e.get('data', e['status'])[:2] for e in ends]
        first = int(values[0], 16)
        assert values == ['%02x' % (first + i & 255)
                          for i in range(len(values))], (pair, values)
    fabric.all_carriers()


def sanitized(path):
    """Whether freed memory is kept to catch who still uses it."""
    with open(path, 'rb') as f:
        return b'__asan_init' in f.read()


def all_die(fabric):
    """Each in turn; nobody grows."""
    sizes = {p: p.memory() for p in fabric.programs()}
    for victim in list(fabric.nodes.values()):
        lose_a_node(fabric, victim)
        sizes[victim] = victim.memory()
    for victim in fabric.switches:
        lose_a_switch(fabric, victim)
        sizes[victim] = victim.memory()
    for _ in range(5):
        fabric.exchange('ctp', 50000)
    for program, size in sizes.items():
        assert sanitized(program.words[0]) or \
            program.memory() < size + GROWTH, program.name


with tempfile.TemporaryDirectory() as tmp:
    fabric = Fabric(tmp, *sys.argv[1:])
    try:
        fabric.all_carriers()
        all_die(fabric)
        for program in fabric.programs():
            program.quit()
    finally:
        for program in fabric.programs():
            program.process.kill()
            program.process.wait()
