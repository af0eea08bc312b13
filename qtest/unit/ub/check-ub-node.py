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


def main():
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
