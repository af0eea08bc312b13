# SPDX-License-Identifier: GPL-2.0-or-later
"""ub-switch and ub-node as processes of a check, each with its control socket."""
import json
import os
import signal
import socket
import subprocess
import time

PATIENCE = 120 * float(os.environ.get('FABRIC_TIMEOUT_SCALE', 1))


class Program:
    """ub-switch or ub-node; @greets: it says what it is to begin with."""

    def __init__(self, folder, name, words, greets=False):
        self.path = os.path.join(folder, name + '.control')
        self.name = name
        self.words = [*map(str, words), '--control', self.path]
        self.greets = greets
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words)
        self.running = True
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect(self.path)
                break
            except OSError:
                self.sock.close()
                assert time.monotonic() < end, f'{self.name}: no control'
                time.sleep(0.02)
        self.sock.settimeout(PATIENCE)
        # For reading only: a write to a text file drops what it has read ahead.
        self.file = self.sock.makefile('r')
        self.count = 0
        self.answers = {}
        if self.greets:
            assert 'ub-switch' in json.loads(self.file.readline())

    def kill(self):
        """End it as a crash would."""
        self.running = False
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL
        self.file.close()
        self.sock.close()

    def quit(self):
        self.post('quit')
        assert self.process.wait(PATIENCE) == 0, self.name

    def post(self, command, **arguments):
        """Give a command; its number."""
        self.count += 1
        self.sock.sendall(json.dumps({'execute': command, 'id': self.count,
                                      'arguments': arguments}).encode() +
                          b'\n')
        return self.count

    def take(self, number):
        """The answer to a command."""
        while number not in self.answers:
            answer = json.loads(self.file.readline())
            if 'id' in answer:
                self.answers[answer['id']] = answer
        answer = self.answers.pop(number)
        assert 'return' in answer, (self.name, answer)
        return answer['return']

    def ask(self, command, **arguments):
        return self.take(self.post(command, **arguments))

    def answered(self, numbers):
        """Whether the answers to commands have come, as far as is known."""
        return all(n in self.answers for n in numbers)

    def memory(self):
        with open(f'/proc/{self.process.pid}/statm', encoding='ascii') as f:
            return int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
