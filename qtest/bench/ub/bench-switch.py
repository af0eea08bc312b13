#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What ub-switch costs: at rest with 2 and with 64 links, and what two busy
ports cost in a switch of 2 and in one of 64 ports, all of them linked.

usage: bench-switch.py UB-SWITCH UB-NODE [SECONDS at rest]

At rest: processor time of the switch in % of a core.  Busy: milliseconds of its
processor time for 2 MB of Writes over CTP, both switches in turns, medians; and
how long the Writes took.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# However busy the machine is, no link gives up.
SLOW = ('--dll-time-scale', '20000')
PATIENCE = 300
ROUNDS = 8
WRITES = 10
DATA = '5a' * 200000


class Program:
    def __init__(self, folder, name, words, greets=False):
        path = os.path.join(folder, name)
        self.process = subprocess.Popen([*words, *SLOW, '--control', path],
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while True:
            self.sock = socket.socket(socket.AF_UNIX)
            try:
                self.sock.connect(path)
                break
            except OSError:
                self.sock.close()
                assert time.monotonic() < end, f'no {path}'
                time.sleep(0.02)
        self.sock.settimeout(PATIENCE)
        self.file = self.sock.makefile('r')
        if greets:
            self.file.readline()

    def ask(self, command, **arguments):
        request = {'execute': command}
        if arguments:
            request['arguments'] = arguments
        self.sock.sendall((json.dumps(request) + '\n').encode())
        while True:
            answer = json.loads(self.file.readline())
            if 'event' not in answer:
                return answer['return']

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f'/proc/{self.process.pid}/schedstat') as f:
            return int(f.read().split()[0]) / 1e9


class Fabric:
    def __init__(self, folder, switch, node, ports):
        folder = os.path.join(folder, str(ports))
        os.mkdir(folder)
        sockets = [f'unix:{folder}/p{i}' for i in range(ports)]
        paths = [f'connect:{folder}/p{i}' for i in range(ports)]
        self.switch = Program(folder, 'switch',
                              [switch, *(f'--port={s}' for s in sockets)],
                              greets=True)
        self.nodes = [Program(folder, f'n{first}', [
            node, '--cna', str(first + 1), *(f'--port={p}' for p in group)])
            for first, group in ((0, paths[:1]), (1, paths[1:2]),
                                 (2, paths[2:])) if group]
        for i in range(ports):
            self.switch.ask('route-set', cna=i + 1, ports=[i])
        end = time.monotonic() + PATIENCE
        while len(self.switch.ask('query-status')['up']) < ports:
            assert time.monotonic() < end, 'not all links came up'
            time.sleep(0.2)

    def rest(self, seconds):
        time.sleep(1)
        cpu, start = self.switch.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.switch.cpu() - cpu) / (time.monotonic() - start)

    def busy(self):
        cpu, start = self.switch.cpu(), time.monotonic()
        for _ in range(WRITES):
            done = self.nodes[0].ask('Write', endpoint=0, to=2, data=DATA)
            assert done['status'] == 'ok', done
        return self.switch.cpu() - cpu, time.monotonic() - start

    def end(self):
        for program in (self.switch, *self.nodes):
            program.process.terminate()
            program.process.wait()


def main():
    switch, node = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as folder:
        fabrics = {n: Fabric(folder, switch, node, n) for n in (2, 64)}
        for ports, f in fabrics.items():
            print(f'{ports:2} ports at rest: {100 * f.rest(seconds):.3f} % of a '
                  'core', flush=True)
        runs = {n: [] for n in fabrics}
        for _ in range(ROUNDS):
            for ports, f in fabrics.items():
                runs[ports].append(f.busy())
        for ports, run in runs.items():
            cpu, wall = (1000 * statistics.median(x) for x in zip(*run))
            print(f'{ports:2} ports, 2 busy: {cpu:.2f} ms of the switch, '
                  f'{wall:.1f} ms in all')
        for f in fabrics.values():
            f.end()


main()
