# SPDX-License-Identifier: GPL-2.0-or-later
"""ub-switch: the program, its ports and its commands."""

import atexit
import json
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .clock import SCALE, deadline
from .paths import BUILD

PROGRAM = BUILD / 'tools' / 'ub-switch'


class Switch:
    """A ub-switch with unix sockets as ports.

    connect   {port: path of another switch's socket}: these ports connect
              instead of listening
    slots     hot-plug slots, as the program's --slot has them
    ethernet  Ethernet ports, numbered on from those
    """

    def __init__(self, ports, name='switch', guid=None, connect=None,
                 slots=(), ethernet=0):
        self.dir = Path(tempfile.mkdtemp(prefix=f'{name}-'))
        self.name = name
        self.guid = guid
        self.words = [str(PROGRAM), '--name', name, '--control',
                      str(self.dir / 'control')]
        for port in range(ports):
            peer = (connect or {}).get(port)
            self.words += ['--port', f'connect:unix:{peer}' if peer else
                           f'unix:{self.path(port)}']
        for port in range(ports, ports + ethernet):
            self.words += ['--ethernet', f'unix:{self.path(port)}']
        for slot in slots:
            self.words += ['--slot', slot]
        if guid:
            self.words += ['--guid', guid]
        self.proc = None

    def path(self, port):
        """The socket of a port that listens."""
        return str(self.dir / f'port{port}')

    def chardev(self, port, ident='ubwire'):
        """The -chardev value for the controller behind a port."""
        return f'socket,id={ident},path={self.path(port)},reconnect-ms=100'

    def netdev(self, port, ident):
        """The -netdev value for who is at an Ethernet port."""
        return (f'stream,id={ident},server=off,addr.type=unix,'
                f'addr.path={self.path(port)},reconnect-ms=100')

    def start(self):
        (self.dir / 'control').unlink(missing_ok=True)
        with open(self.dir / 'log', 'ab') as log:
            self.proc = subprocess.Popen(self.words, stdout=log, stderr=log,
                                         stdin=subprocess.DEVNULL)
        atexit.register(self.kill)
        until = deadline(20)
        while not self._listens():
            if self.proc.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f'{self.name} did not start: {self.log()}')
            time.sleep(0.05)
        return self

    def _listens(self):
        # The socket is there a moment before anybody listens.
        with socket.socket(socket.AF_UNIX) as s:
            return not s.connect_ex(str(self.dir / 'control'))

    def command(self, name, **arguments):
        """A command by its JSON socket; returns its answer."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(120 * SCALE)
            s.connect(str(self.dir / 'control'))
            with s.makefile('rw', encoding='ascii') as lines:
                lines.readline()        # it says hello
                lines.write(json.dumps(
                    {'execute': name, 'id': 1, 'arguments': arguments}) + '\n')
                lines.flush()
                for line in lines:
                    answer = json.loads(line)
                    if answer.get('id') == 1:
                        break
        if 'error' in answer:
            raise RuntimeError(f'{self.name}: {name}: {answer["error"]}')
        return answer['return']

    def log(self):
        return (self.dir / 'log').read_text(errors='replace')

    def kill(self):
        """End it at once."""
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
        if self.proc:
            self.proc.wait()

    def close(self):
        self.kill()
        atexit.unregister(self.kill)
        shutil.rmtree(self.dir, ignore_errors=True)
