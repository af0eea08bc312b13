#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two endpoints of ub-node on one link write, read, send and do atomics.

usage: check-ub-node.py UB-NODE
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 120 * float(os.environ.get('FABRIC_TIMEOUT_SCALE', 1))
# A program may be without a turn for seconds.
LINKS = ('--dll-time-scale', '100000', '--time-scale', '1000')


class Control:
    """The control socket of a ub-node."""

    def __init__(self, path):
        end = time.time() + PATIENCE
        while True:
            try:
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect(path)
                break
            except OSError:
                assert time.time() < end, 'no control socket'
                time.sleep(0.05)
        self.sock.settimeout(PATIENCE)
        self.file = self.sock.makefile('rw')
        self.count = 0

    def ask(self, name, **arguments):
        """What a command answers."""
        self.count += 1
        self.file.write(json.dumps({'execute': name, 'arguments': arguments,
                                    'id': self.count}) + '\n')
        self.file.flush()
        answer = json.loads(self.file.readline())
        assert answer['id'] == self.count, answer
        return answer

    def good(self, name, **arguments):
        answer = self.ask(name, **arguments)
        assert 'return' in answer, answer
        return answer['return']


def wait_for_links(control, count):
    end = time.time() + PATIENCE
    while not all(control.good('state', endpoint=i)['link']
                  for i in range(count)):
        assert time.time() < end, 'no link'
        time.sleep(0.1)


def work(control, carrier):
    data = os.urandom(5000).hex()
    assert control.good('Write', endpoint=0, to=2, carrier=carrier, offset=64,
                        data=data) == {'status': 'ok'}
    back = control.good('Read', endpoint=0, to=2, carrier=carrier, offset=64,
                        length=5000)
    assert back == {'status': 'ok', 'data': data}, back
    control.good('Write', endpoint=0, to=2, offset=0, data='00' * 8)
    if carrier == 'bypass':
        return
    for i in range(3):
        got = control.good('Atomic_fetch_add', endpoint=0, to=2,
                           carrier=carrier, data='01' + '00' * 15)
        assert got['data'] == '%02x' % i + '00' * 7, got
    control.good('receive', endpoint=1)
    assert control.good('Send', endpoint=0, to=2, carrier=carrier,
                        data='cafe')['status'] == 'ok'
    got = control.good('state', endpoint=1)['received']
    assert got == [{'status': 'ok', 'from': 1, 'data': 'cafe'}], got


def start(node, folder, *options):
    """Two endpoints on one link, and their control socket."""
    path = os.path.join(folder, 'control')
    port = os.path.join(folder, 'port')
    program = subprocess.Popen([node, '--port', port, '--port',
                                'connect:' + port, '--control', path,
                                *options])
    return program, path


def modes(control):
    """Each mode of order by the carriers that have it, and by those that have not."""
    for i, mode in enumerate(('roi', 'rot', 'rol')):
        for j, carrier in enumerate(('ctp', 'bypass', 'rtp')):
            for k, order in enumerate(('no', 'ro', 'so')):
                data = '%02x%02x%02x%02x' % (i, j, k, 7) * 16
                got = control.good('Write', to=2, carrier=carrier, mode=mode,
                                   order=order, offset=128, data=data)
                if carrier == 'bypass' and mode == 'rot':
                    continue        # compact headers name no SC
                assert got == {'status': 'ok'}, (mode, carrier, order, got)
                got = control.good('Read', to=2, offset=128, length=64)
                assert got['data'] == data, got
    # UTP: single packets, without an answer.
    control.good('receive', endpoint=1)
    assert control.good('Send', to=2, carrier='utp',
                        data='beef')['status'] == 'ok'
    end = time.time() + PATIENCE
    while not (got := control.good('state', endpoint=1)['received']):
        assert time.time() < end, 'nothing came by UTP'
    assert got == [{'status': 'ok', 'from': got[0]['from'], 'data': 'beef'}], got
    for wrong in ({'carrier': 'utp', 'mode': 'roi'},
                  {'carrier': 'rtp', 'mode': 'uno'}):
        got = control.good('Send', to=2, data='00', **wrong)
        assert got['status'] not in ('ok', 'flushed'), (wrong, got)
    for wrong in ({'mode': 'bed'}, {'order': 'xo'}, {'carrier': 'sack'}):
        assert 'error' in control.ask('Send', to=2, data='00', **wrong), wrong


def faults(control):
    """RTP survives what is done to its packets; what is done is counted."""
    control.good('fault-set', endpoint=0, out=True, kind='rtp', nth=1,
                 every=3, action='drop')
    control.good('fault-set', endpoint=1, out=False, kind='rtp',
                 **{'duplicate-ppm': 500000, 'seed': 3})
    data = os.urandom(30000).hex()
    assert control.good('Write', to=2, carrier='rtp', offset=0,
                        data=data) == {'status': 'ok'}
    assert control.good('Read', to=2, carrier='rtp', offset=0,
                        length=30000)['data'] == data
    got = control.good('fault-query', endpoint=0, out=True)
    assert got['on'] and got['drop'] >= 3 and not got['duplicate'], got
    got = control.good('fault-query', endpoint=1)
    assert got['on'] and got['duplicate'] >= 1 and not got['drop'], got
    for wrong in ({'drop-ppm': 1000001}, {'drop-ppm': -1}, {'kind': 'x'},
                  {'action': 7}, {'queue': 1 << 20}, {'target-queue': -1},
                  {'psn': 'a'}, {'out': 1}, {'nth': -1},
                  {'reorder-depth': 65}, {'drop-ppm': 1000000,
                                          'delay-ppm': 1}):
        assert 'error' in control.ask('fault-set', **wrong), wrong
    # Of a queue that nobody has: nothing happens.
    control.good('fault-set', endpoint=0, out=True, queue=0xfffff,
                 **{'drop-ppm': 1000000})
    assert control.good('Write', to=2, carrier='rtp', offset=0,
                        data=data) == {'status': 'ok'}
    got = control.good('fault-query', endpoint=0, out=True)
    assert got['on'] and not got['drop'], got
    for i in range(2):
        control.good('fault-set', endpoint=i, out=True)
        control.good('fault-set', endpoint=i, out=False)
        assert not control.good('fault-query', endpoint=i)['on']


def capture(control, folder):
    """What passes is in the file, with its bytes, until it is told to stop."""
    file = os.path.join(folder, 'capture')
    mark, later = os.urandom(24), os.urandom(24)
    control.good('capture-start', file=file)
    control.good('Write', to=2, carrier='ctp', data=mark.hex())
    control.good('capture-stop')
    control.good('Write', to=2, carrier='ctp', data=later.hex())
    with open(file, 'rb') as f:
        seen = f.read()
    # Sent by one end, received by the other.
    assert seen.count(mark) == 2 and later not in seen, seen.count(mark)
    assert 'error' in control.ask('capture-start')
    assert 'error' in control.ask('capture-start', file=folder)


def virtual(node):
    """Time stands: what waits for it waits; a run does the same every time."""
    runs = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            program, path = start(node, folder, '--virtual', '--set',
                                  'ta-retries=0', '--set', 'ta-aggregate=1')
            try:
                control = Control(path)
                seen = []
                for _ in range(1000):
                    seen.append(control.good('advance', ms=1)['ns'])
                    if all(control.good('state', endpoint=i)['link']
                           for i in range(2)):
                        break
                else:
                    raise AssertionError('no link in a second')
                assert seen == [1 + (i + 1) * 10 ** 6
                                for i in range(len(seen))], seen
                # Nobody took a buffer, and nothing else is tried.
                control.file.write(json.dumps(
                    {'execute': 'Send', 'arguments': {'to': 2, 'data': '00'},
                     'id': 'late'}) + '\n')
                control.file.flush()
                control.count += 1
                control.file.write(json.dumps(
                    {'execute': 'advance', 'arguments': {'ms': 500},
                     'id': control.count}) + '\n')
                control.file.flush()
                got = [json.loads(control.file.readline()) for _ in range(2)]
                assert got[0] == {'return': {'status': 'retries exceeded'},
                                  'id': 'late'}, got
                assert got[1]['return']['ns'] == seen[-1] + 500 * 10 ** 6, got
                assert control.good('settings')['ta-retries'] == '0'
                runs.append((seen, got[0]))
            finally:
                program.kill()
                program.wait()
    assert runs[0] == runs[1], runs


def settings(node):
    """Each may be what it is by default; what cannot be is told, with the reason."""
    known = [line.split('\t') for line in subprocess.run(
        [node, '--settings'], check=True, capture_output=True, text=True,
        timeout=PATIENCE).stdout.splitlines()]
    sets = [text for name, value, _ in known
            for text in ('--set', f'{name}={value}')]
    with tempfile.TemporaryDirectory() as folder:
        program, path = start(node, folder, *sets)
        try:
            assert Control(path).good('settings').keys() == {k[0] for k in known}
        finally:
            program.kill()
            program.wait()
    for text, why in (('x', 'NAME=VALUE'), ('net-x=1', 'no setting "net-x"'),
                      ('net-sl-vl=1', '16 numbers'),
                      ('net-sl-vl=3=16', '0 to 15'),
                      ('ta-retries=256', '0 to 255'),
                      ('icrc=maybe', 'on or off'),
                      ('ta-window=100', 'power of two'),
                      ('tp-fast=off', 'clashes')):
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run(
                [node, '--port', os.path.join(folder, 'p'), '--control',
                 os.path.join(folder, 'c'), '--set', text], check=False,
                capture_output=True, text=True, timeout=PATIENCE)
            assert said.returncode == 1 and why in said.stderr, (text, said)


def main():
    settings(sys.argv[1])
    virtual(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'control')
        port = os.path.join(folder, 'port')
        with subprocess.Popen([sys.argv[1], '--port', port, '--port',
                               'connect:' + port, '--control', path,
                               *LINKS]) as node:
            try:
                control = Control(path)
                wait_for_links(control, 2)
                for i in range(2):
                    control.good('channel', endpoint=i, to=2 - i, tpn=5,
                                 **{'peer-tpn': 5})
                for carrier in 'ctp', 'bypass', 'rtp':
                    work(control, carrier)
                modes(control)
                faults(control)
                capture(control, folder)
                # Not there; not a command; not even JSON.
                got = control.good('Write', endpoint=0, to=2,
                                   offset=1 << 20, data='00')
                assert got['status'] == 'remote abort', got
                for name, args in (('dance', {}), ('Read', {'to': 0}),
                                   ('state', {'endpoint': 9}),
                                   ('advance', {}), ('advance', {'ms': -1}),
                                   ('advance', {'ms': 10 ** 12 + 1}),
                                   ('Write', {'to': 2, 'data': 'xx'}),
                                   ('Write', {'to': 2, 'carrier': 'post'})):
                    assert 'error' in control.ask(name, **args), name
                control.file.write('{]\n')
                control.file.flush()
                assert 'error' in json.loads(control.file.readline())
                assert control.good('state')['requests'] == 0
                control.file.write('{"execute": "quit"}\n')
                control.file.flush()
                assert node.wait(PATIENCE) == 0
            finally:
                node.kill()


main()
