# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest's network reaches: a web server on the host, other guests."""

import hashlib
import http.server
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .clock import deadline
from .guest import Chardev, NotAvailable
from .paths import emulator
from .qmp import Qmp

# The host as slirp shows it to a guest.
HOST = '10.0.2.2'
USER = 'user'


def stream(path, server=False, reconnect_ms=0):
    """A -netdev stream value over a unix socket."""
    value = f'stream,addr.type=unix,addr.path={path},server='
    value += 'on' if server else 'off'
    if reconnect_ms:
        value += f',reconnect-ms={reconnect_ms}'
    return value


def stream_chardev(path, server=False, reconnect_ms=0):
    """The same bytes as stream(), on a chardev of the device's own."""
    value = f'socket,path={path},server='
    value += 'on,wait=off' if server else 'off'
    if reconnect_ms:
        value += f',reconnect-ms={reconnect_ms}'
    return Chardev(value)


def payload(size, seed=b'fabric'):
    """Bytes that look random and are the same in each run."""
    block = b''.join(hashlib.sha256(seed + i.to_bytes(4, 'little')).digest()
                     for i in range(2048))
    pieces = []
    for index in range(0, size, len(block)):
        # Each block is rotated, so that a block lost or doubled shows.
        turn = (index // len(block) * 977) % len(block)
        pieces.append(block[turn:] + block[:turn])
    return b''.join(pieces)[:size]


class HttpServer:
    """A web server on the host's loopback; a guest on slirp gets at it by
    .url(name).  Content is {name: bytes}; gates is {name: (offset, event)}:
    what lies behind the offset is sent once the threading.Event is set."""

    def __init__(self, content, gates=None):
        self.content = content
        self.gates = gates or {}
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                data = outer.content.get(self.path.lstrip('/'))
                outer.requests.append(self.path)
                if data is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header('Content-Length', str(len(data)))
                self.send_header('Connection', 'close')
                self.end_headers()
                offset, gate = outer.gates.get(self.path.lstrip('/'),
                                               (len(data), None))
                try:
                    self.wfile.write(data[:offset])
                    if gate and gate.wait(600):
                        self.wfile.write(data[offset:])
                except OSError:
                    pass
                self.close_connection = True

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0),
                                                       Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever,
                         daemon=True).start()

    def url(self, name):
        return f'http://{HOST}:{self.port}/{name}'

    def sha256(self, name):
        return hashlib.sha256(self.content[name]).hexdigest()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Gateway:
    """slirp and a hub in a QEMU of their own (no machine in it).

    slirp looks at no MAC address: it answers each ping on the hub, for whomever
    it is, with other data.  Guests that have addresses of their own there want
    another @user, such as a socket that nobody is at.

    Guests attach with -netdev stream to a port.  So a connection through
    slirp outlives the QEMU that runs the guest: after a live migration the
    other QEMU is on another port of the same hub.

    A port that is open has a guest that runs: QEMU's stream back end writes
    to a blocking socket, and one guest that does not read (stopped, waiting
    for a migration) would halt the whole hub.  open() comes after.
    """

    def __init__(self, user='user', arch='x86_64'):
        self.dir = Path(tempfile.mkdtemp(prefix='gateway-'))
        qemu = emulator(arch)
        if not qemu:
            raise NotAvailable(f'qemu-system-{arch} is not built')
        words = [qemu, '-nodefaults', '-no-user-config', '-machine', 'none',
                 '-display', 'none', '-qmp', f'unix:{self.dir}/qmp',
                 '-netdev', f'{user},id=outside',
                 '-netdev', 'hubport,id=hub-outside,hubid=0,netdev=outside']
        self.qmp = Qmp(self.dir / 'qmp')
        with open(self.dir / 'qemu.log', 'wb') as log:
            self.proc = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=log,
                                         start_new_session=True)
        self.qmp.accept(30, self.proc)

    def open(self, port):
        """Let a guest attach to a port."""
        self.qmp.command('netdev_add', type='stream', id=f'port{port}',
                         server=True, addr={'type': 'unix',
                                            'path': str(self._path(port))})
        self.qmp.command('netdev_add', type='hubport', id=f'hub{port}',
                         hubid=0, netdev=f'port{port}')

    def _path(self, port):
        return self.dir / f'port{port}'

    def connect(self, port, timeout=30):
        """A socket at a port that is open, or will be at once: QEMU listens a
        moment after it has said that the port is there."""
        end = deadline(timeout)
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(str(self._path(port)))
                return sock
            except (FileNotFoundError, ConnectionRefusedError):
                sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def netdev(self, port):
        """The guest's -netdev value; it attaches once the port is open."""
        return stream(self._path(port), reconnect_ms=50)

    def close(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
        self.qmp.close()
        for path in self.dir.iterdir():
            path.unlink()
        self.dir.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
