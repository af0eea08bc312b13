#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Ethernet ports of ub-switch at their sockets, as QEMU's netdevs have them;
its clients, as many as there may be.

usage: check-ub-gateway.py UB_SWITCH
"""
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

# A machine may be busy: nothing here is a matter of time.
PATIENCE = 120 * float(os.environ.get('FABRIC_TIMEOUT_SCALE', 1))

HOST, STATION = bytes([10, 0, 0, 1]), bytes([10, 0, 1, 9])
MAC = bytes.fromhex('020000000009')


def arp_ask(target):
    """Who has @target?"""
    return (b'\xff' * 6 + MAC + bytes.fromhex('08060001080006040001') + MAC +
            STATION + bytes(6) + target)


def arp_told(mac, target=HOST):
    """The answer, with padding."""
    frame = (MAC + mac + bytes.fromhex('08060001080006040002') + mac + target +
             MAC + STATION)
    return frame + bytes(60 - len(frame))


def framed(frame):
    return struct.pack('>I', len(frame)) + frame


def read(sock, size):
    """Exactly so many bytes."""
    data = b''
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError(f'{len(data)} of {size} bytes')
        data += more
    return data


def ended(sock):
    """Whether the other end hung up."""
    try:
        return not sock.recv(1)
    except ConnectionError:
        return True


class Gateway(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='ubgw')
        self.addCleanup(shutil.rmtree, self.dir)
        self.config = [
            {'execute': 'ip-route-set',
             'arguments': {'prefix': '10.0.0.1', 'ports': [0]}},
            {'execute': 'query-ethernet'}]
        self.options = ['--port=none']

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, *ethernet):
        with open(self.path('config'), 'w', encoding='utf-8') as f:
            for line in self.config:
                f.write(json.dumps(line) + '\n')
        self.process = subprocess.Popen(
            [PROGRAM, *self.options, '--mac=02:00:00:00:00:77',
             f'--control={self.path("control")}',
             f'--config={self.path("config")}',
             *(f'--ethernet={e}' for e in ethernet)])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.control = self.connect('control')
        self.lines = self.control.makefile('r', encoding='utf-8')

    def connect(self, name):
        """Where it listens, as soon as it does."""
        end = time.monotonic() + PATIENCE
        while True:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(PATIENCE)
            self.addCleanup(sock.close)
            try:
                sock.connect(self.path(name))
                return sock
            except OSError:
                sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def execute(self, name, **args):
        self.control.sendall(json.dumps({'execute': name,
                                         'arguments': args}).encode() + b'\n')
        while True:
            answer = json.loads(self.lines.readline())
            if 'return' in answer or 'error' in answer:
                return answer['return']

    def until(self, right):
        """Port 1, when it is as @right says."""
        end = time.monotonic() + PATIENCE
        while True:
            port = self.execute('query-ethernet')[0]
            if right(port):
                return port
            self.assertLess(time.monotonic(), end, port)
            time.sleep(0.01)

    def count(self, name):
        return self.execute('query-counters', port=1)[0]['ethernet'][name]

    def quit(self):
        self.execute('quit')
        self.assertEqual(self.process.wait(PATIENCE), 0)

    def ask(self, sock):
        """In pieces, as a stream may bring them."""
        bytes_ = framed(arp_ask(HOST))
        for n in (0, 3, 20):
            sock.sendall(bytes_[n:{0: 3, 3: 20}.get(n)])
        self.assertEqual(read(sock, 64),
                         framed(arp_told(bytes.fromhex('020000000077'))))

    def test_stream(self):
        self.start(f'unix:{self.path("ether")}')
        sock = self.connect('ether')
        self.ask(sock)
        self.assertEqual(self.execute('query-status')['up'], [1])
        other = self.connect('ether')
        self.assertTrue(ended(other))
        # Two at once, and one for nobody between them.
        sock.sendall(framed(arp_ask(HOST)) + framed(arp_ask(bytes(4))) +
                     framed(b'') + framed(arp_ask(HOST)))
        for _ in range(2):
            self.assertEqual(read(sock, 64),
                             framed(arp_told(bytes.fromhex('020000000077'))))
        self.assertEqual(self.count('drop-short'), 1)
        sock.close()
        port = self.until(lambda p: not p['up'])
        self.assertEqual(port['wire']['kind'], 'none')
        self.ask(self.connect('ether'))
        self.quit()
        self.assertFalse(os.path.exists(self.path('ether')))

    def test_hostile(self):
        """A length that no frame has ends the connection, and nothing else."""
        self.start(f'unix:{self.path("ether")}')
        for n, length in enumerate((0xffffffff, 69633)):
            sock = self.connect('ether')
            sock.sendall(struct.pack('>I', length) + b'xyz')
            self.assertTrue(ended(sock))
            port = self.until(lambda p: not p['up'])
            self.assertEqual(port['wire']['broken'], n + 1)
        sock = self.connect('ether')
        sock.sendall(framed(bytes(69632)))  # the longest of QEMU's
        self.ask(sock)
        self.assertEqual(self.count('drop-mac'), 1)
        # It says that it will send, and goes.
        sock.sendall(struct.pack('>I', 100) + b'half')
        sock.close()
        self.until(lambda p: not p['up'])
        self.ask(self.connect('ether'))
        self.quit()

    def test_connect(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.settimeout(PATIENCE)
        self.start(f'connect:unix:{self.path("there")}')
        self.assertEqual(self.execute('query-status')['up'], [])
        listener.bind(self.path('there'))
        listener.listen()
        for _ in range(2):      # and again, when it was left
            sock, _ = listener.accept()
            sock.settimeout(PATIENCE)
            self.ask(sock)
            sock.close()
        listener.close()
        self.quit()

    def test_tcp(self):
        self.start('tcp:127.0.0.1:0')
        address = self.execute('query-ethernet')[0]['wire']['address']
        sock = socket.create_connection(
            ('127.0.0.1', int(address.rsplit(':', 1)[1])), PATIENCE)
        self.ask(sock)
        sock.close()
        self.quit()

    def test_dgram(self):
        self.start(f'unix:{self.path("ether")}',
                   f'dgram:{self.path("e0")},{self.path("e1")}')
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.settimeout(PATIENCE)
        self.addCleanup(sock.close)
        # Nobody is there yet to hear the answer.
        sock.sendto(arp_ask(HOST), self.path('e0'))
        sock.bind(self.path('e1'))
        for _ in range(3):
            sock.sendto(arp_ask(HOST), self.path('e0'))
        told = arp_told(bytes.fromhex('020000000078'))  # the next MAC
        self.assertEqual(sock.recv(100), told)
        self.assertEqual(self.execute('query-ethernet')[1]['wire']['kind'],
                         'dgram')
        self.quit()
        self.assertFalse(os.path.exists(self.path('e0')))

    def test_dgram_path(self):
        """A path is taken from a socket that nobody has, and from nothing else."""
        with open(self.path('file'), 'w', encoding='utf-8') as f:
            f.write('mine')
        alive = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(alive.close)
        alive.bind(self.path('alive'))
        for name in ('file', 'alive'):
            done = subprocess.run(
                [PROGRAM, '--port=none', '--mac=02:00:00:00:00:77',
                 f'--ethernet=dgram:{self.path(name)},{self.path("e1")}'],
                stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            self.assertGreater(done.returncode, 0)
            self.assertIn(b'in use', done.stderr)
            self.assertTrue(os.path.exists(self.path(name)))
        alive.sendto(b'x', self.path('alive'))
        alive.close()
        self.start(f'dgram:{self.path("alive")},{self.path("e1")}')
        self.assertEqual(self.execute('query-ethernet')[0]['wire']['kind'],
                         'dgram')
        self.quit()
        self.assertFalse(os.path.exists(self.path('alive')))

    def greeted(self):
        """A client that is let in, or None."""
        sock = self.connect('control')
        lines = sock.makefile('r', encoding='utf-8')
        try:
            hello = lines.readline()
        except ConnectionError:
            hello = ''
        if not hello:
            return None
        self.assertEqual(json.loads(hello)['ub-switch']['version'], 1)
        return sock, lines

    def test_clients(self):
        """All hear of everything, their places are free again, and one that does
        not read is thrown out."""
        self.options = ['--port=none'] * 63
        self.start(f'unix:{self.path("ether")}')
        self.assertEqual(self.execute('query-status')['ports'], 63)
        clients = [self.greeted() for _ in range(15)]
        self.assertTrue(all(clients))
        self.assertIsNone(self.greeted())
        for sock, lines in clients:
            lines.close()
            sock.close()
        end = time.monotonic() + PATIENCE
        clients = []
        while len(clients) < 15:
            self.assertLess(time.monotonic(), end)
            one = self.greeted()
            clients += [one] if one else []
        self.connect('ether')
        for _, lines in clients:
            event = json.loads(lines.readline())
            self.assertEqual(event['event'], 'UB_LINK_CHANGED')
            self.assertEqual(event['data'], {'port': 63, 'link-up': True,
                                             'packets-pass': True})
        deaf, _ = clients.pop()
        deaf.setblocking(False)
        poll = select.poll()
        poll.register(deaf, 0)
        while not poll.poll(5):
            self.assertLess(time.monotonic(), end)
            try:
                deaf.send(b'{"execute": "query-counters"}\n')
            except BlockingIOError:
                pass
            except ConnectionError:
                break
        self.assertEqual(self.execute('query-status')['up'], [63])
        self.quit()
        for sock, _ in clients:
            self.assertTrue(ended(sock))
        self.assertFalse(os.path.exists(self.path('control')))

    def test_options(self):
        """What is said at the start is so, up to the bounds."""
        self.config = []
        self.options = ['--port=none', '--mtu=1024', '--route-entries=7',
                        '--guid=0123456789abcdefABCDEF9876543210',
                        '--name=there', '--tls-patience=3600']
        self.start(f'unix:{self.path("ether")}')
        status = self.execute('query-status')
        self.assertEqual(status['guid'], '0123456789abcdefabcdef9876543210')
        self.assertEqual(status['name'], 'there')
        self.assertEqual(self.execute('query-settings')['mtu'], 1024)
        self.execute('route-set', cna=6, ports=[0])
        with self.assertRaises(KeyError):
            self.execute('route-set', cna=7, ports=[0])
        self.quit()
        # By itself it is an independent switch (§C.1), each another one.
        guids = set()
        for _ in range(2):
            self.options = ['--port=none']
            self.start(f'unix:{self.path("ether")}')
            status = self.execute('query-status')
            self.assertEqual(status['name'], 'ub-switch')
            self.assertEqual(status['guid'][:16], '0000000003000000')
            guids.add(status['guid'])
            self.quit()
        self.assertEqual(len(guids), 2)

    def test_refused(self):
        ether = f'--ethernet=unix:{self.path("ether")}'
        for options in (['--port=none'] * 65, ['--port=none'] * 64 + [ether],
                        ['--port=none'], [ether, ether],
                        ['--port=none', ether, '--tls-patience=3601'],
                        ['--port=none', ether, '--guid=' + '0' * 33],
                        ['--port=none', ether, '--guid=' + '0' * 31 + 'g']):
            done = subprocess.run([PROGRAM, *options], stderr=subprocess.PIPE,
                                  timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, options)
            self.assertIn(b'ub-switch: ', done.stderr)
            self.assertFalse(os.path.exists(self.path('ether')))


if __name__ == '__main__':
    PROGRAM = sys.argv.pop(1)
    unittest.main()
