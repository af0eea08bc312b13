# SPDX-License-Identifier: GPL-2.0-or-later
"""A small synchronous QMP client with deadlines.

QEMU's own qemu.qmp needs its source tree; this one also drives an emulator
that came from elsewhere (QEMU_SYSTEM_X86_64=...), which run-guest allows.
"""

import json
import socket
import time

from .clock import deadline as clock_deadline


class QmpError(Exception):
    """A command was refused: .reply holds QEMU's error."""

    def __init__(self, command, reply):
        super().__init__(f'{command}: {reply.get("desc", reply)}')
        self.reply = reply


class Qmp:
    def __init__(self, path):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._sock = None
        self._buf = b''
        self.events = []

    def accept(self, timeout, proc):
        """Take the connection of a QEMU that was started as proc, and leave
        negotiation mode."""
        deadline = clock_deadline(timeout)
        self._listener.settimeout(0.1)
        while not self._sock:
            try:
                self._sock, _ = self._listener.accept()
            except TimeoutError:
                if proc.poll() is not None:
                    raise ConnectionError(
                        f'it ended with status {proc.returncode}') from None
                if time.monotonic() > deadline:
                    raise
        self._next(deadline)
        self.command('qmp_capabilities')

    def close(self):
        self._listener.close()
        if self._sock:
            self._sock.close()

    def _next(self, deadline):
        """The next message."""
        while b'\n' not in self._buf:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError('no message on QMP')
            self._sock.settimeout(left)
            data = self._sock.recv(65536)
            if not data:
                raise ConnectionError('QEMU closed QMP')
            self._buf += data
        line, self._buf = self._buf.split(b'\n', 1)
        return json.loads(line)

    def command(self, name, /, timeout=30, **arguments):
        """Run a command; "_" in argument names stand for "-"."""
        message = {'execute': name}
        if arguments:
            message['arguments'] = {k.replace('_', '-'): v
                                    for k, v in arguments.items()}
        self._sock.sendall(json.dumps(message).encode() + b'\n')
        deadline = clock_deadline(timeout)
        while True:
            reply = self._next(deadline)
            if 'return' in reply:
                return reply['return']
            if 'error' in reply:
                raise QmpError(name, reply['error'])
            if 'event' in reply:
                self.events.append(reply)

    def wait_event(self, name, timeout=30, match=None):
        """Wait for an event, seen or to come; match: a test of its data."""
        deadline = clock_deadline(timeout)
        while True:
            for event in self.events:
                if event['event'] == name and \
                        (match is None or match(event.get('data', {}))):
                    self.events.remove(event)
                    return event.get('data', {})
            message = self._next(deadline)
            if 'event' in message:
                self.events.append(message)
