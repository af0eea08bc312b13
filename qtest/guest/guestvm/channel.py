# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's end of the control channel (root/usr/sbin/agent is the guest's).

The host listens, QEMU connects: so the channel stands before the guest runs,
and stays over the guest's reboots.
"""

import base64
import itertools
import socket
import threading
from typing import NamedTuple


class ChannelClosed(Exception):
    """QEMU went away."""


class GuestTimeout(Exception):
    """A deadline passed."""


class Result(NamedTuple):
    """What a script in the guest ended with."""
    status: int
    out: str
    err: str


class Hello(NamedTuple):
    """What a guest says once it is up."""
    boot_id: str
    release: str
    machine: str


class Channel:
    def __init__(self, path):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._conn = None
        self._ids = itertools.count(1)
        self._cond = threading.Condition()
        self._send_lock = threading.Lock()
        self._answers = {}
        self._hellos = []
        self._closed = False
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._listener.close()
        if self._conn:
            try:
                self._conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _serve(self):
        try:
            self._conn, _ = self._listener.accept()
            with self._conn.makefile('rb') as stream:
                while True:
                    line = stream.readline()
                    if not line:
                        break
                    self._line(line.decode('latin-1').split(), stream)
        except OSError:
            pass
        with self._cond:
            self._closed = True
            self._cond.notify_all()

    def _line(self, words, stream):
        if len(words) == 4 and words[0] == 'H':
            with self._cond:
                self._hellos.append(Hello(*words[1:]))
                self._cond.notify_all()
        elif len(words) == 5 and words[0] == 'R':
            ident, status, out, err = map(int, words[1:])
            result = Result(status,
                            stream.read(out).decode('utf-8', 'replace'),
                            stream.read(err).decode('utf-8', 'replace'))
            with self._cond:
                self._answers[ident] = result
                self._cond.notify_all()

    def _wait(self, ready, timeout, what):
        with self._cond:
            self._cond.wait_for(lambda: ready() or self._closed, timeout)
            if ready():
                return
            if self._closed:
                raise ChannelClosed(f'QEMU ended while waiting for {what}')
            raise GuestTimeout(f'{what}: nothing after {timeout:g} s')

    def wait_hello(self, count, timeout):
        """Wait for the count-th start of a guest's agent."""
        self._wait(lambda: len(self._hellos) >= count, timeout,
                   'the guest to be ready')
        return self._hellos[count - 1]

    @property
    def hellos(self):
        return len(self._hellos)

    def send(self, script, timeout):
        """Start a script in the guest; returns its number."""
        ident = next(self._ids)
        line = b'X %d %d %s\n' % (ident, max(1, int(timeout)),
                                  base64.b64encode(script.encode()))
        if self._conn is None:
            raise ChannelClosed('the control channel is not connected')
        with self._send_lock:
            try:
                self._conn.sendall(line)
            except OSError as err:
                raise ChannelClosed(str(err)) from err
        return ident

    def finished(self, ident):
        return ident in self._answers

    def wait(self, ident, timeout, what='a script'):
        self._wait(lambda: ident in self._answers, timeout, what)
        return self._answers.pop(ident)

    def adopt(self, other, ident):
        """Take over a script that was started on another channel: the guest
        has moved here."""
        del other
        self._ids = itertools.count(max(ident + 1, next(self._ids)))
        return ident
