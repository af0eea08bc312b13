# SPDX-License-Identifier: GPL-2.0-or-later
"""An RC connection that is never idle and compares every byte.

usage: stream.py serve | stream.py drive HOST

Each round of the driver writes a pattern of its own into the server's memory,
reads it back, adds one to a counter there and sends a message that says how
long the pattern was; the server compares what it finds.  /tmp/connected
appears when an end is in RTS.  The driver rests while /tmp/hold exists and ends
when /tmp/stop does.
"""

import os
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT = 18520
DATA = 65536            # longest pattern
MESSAGE = 64            # bytes of a message; where they are, behind the data:
SENT, COUNTER, FETCHED, INBOX = (DATA + i * MESSAGE for i in range(4))
RECVS = 8
SIZE = INBOX + RECVS * MESSAGE
SECONDS = 60            # for one completion
BLOCK = bytes(i * 37 + (i >> 8) & 0xff for i in range(DATA + 256))


def pattern(number):
    """The bytes of a round: another length and another beginning each."""
    length = 1 + number * 7919 % DATA
    return BLOCK[number % 256:][:length]


class End:
    def __init__(self):
        self.ctx = Context(name='mthca0')
        self.pd = PD(self.ctx)
        rights = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
                  e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
        self.mr = MR(self.pd, SIZE, rights)
        self.mr.write(bytes(SIZE), SIZE)
        self.cq = CQ(self.ctx, 64)
        cap = QPCap(max_send_wr=16, max_recv_wr=RECVS)
        first = QPAttr(port_num=1)
        first.qp_access_flags = rights
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq,
                                         rcq=self.cq, cap=cap), first)
        self.done = {e.IBV_WC_RECV: 0}
        for slot in range(RECVS):
            self.receive(slot)

    def connect(self, sock):
        """Swap numbers over TCP and go to RTS."""
        own = (self.ctx.query_port(1).lid, self.qp.qp_num, self.mr.buf,
               self.mr.rkey)
        sock.sendall((' '.join(map(str, own)) + '\n').encode())
        lid, qpn, self.there, self.rkey = map(
            int, sock.makefile().readline().split())
        attr = QPAttr(port_num=1)
        attr.path_mtu = e.IBV_MTU_1024
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer, attr.rnr_retry = 12, 7
        # Seven times a second: a migration takes less.
        attr.timeout, attr.retry_cnt = 18, 7
        attr.dest_qp_num = qpn
        attr.ah_attr = AHAttr(port_num=1, dlid=lid)
        self.qp.to_rts(attr)
        with open('/tmp/connected', 'w', encoding='ascii'):
            pass

    def receive(self, slot):
        self.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(
            self.mr.buf + INBOX + slot * MESSAGE, MESSAGE, self.mr.lkey)]))

    def post(self, opcode, at, length, there=None, add=0):
        wr = SendWR(opcode=opcode, num_sge=1, sg=[
            SGE(self.mr.buf + at, length, self.mr.lkey)])
        if opcode == e.IBV_WR_ATOMIC_FETCH_AND_ADD:
            wr.set_wr_atomic(rkey=self.rkey, addr=self.there + there,
                             compare_add=add, swap=0)
        elif there is not None:
            wr.set_wr_rdma(self.rkey, self.there + there)
        self.qp.post_send(wr)

    def wait(self, opcode, count):
        """Poll until that many of an opcode have completed in all."""
        end = time.monotonic() + SECONDS
        while self.done.get(opcode, 0) < count:
            number, completions = self.cq.poll(16)
            for wc in completions[:number]:
                if wc.status != e.IBV_WC_SUCCESS:
                    sys.exit(f'completion with status {wc.status}')
                self.done[wc.opcode] = self.done.get(wc.opcode, 0) + 1
            if time.monotonic() > end:
                sys.exit(f'no completion {count} of opcode {opcode}')


def compare(what, number, got, want):
    if got != want:
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b),
                  min(len(got), len(want)))
        sys.exit(f'round {number}: {what} differs at {at}')


def serve():
    end = End()
    with socket.create_server(('', PORT)) as listener:
        end.connect(listener.accept()[0])
    number = 0
    while True:
        end.wait(e.IBV_WC_RECV, number + 1)
        slot = number % RECVS
        message = end.mr.read(MESSAGE, INBOX + slot * MESSAGE)
        want = pattern(number)
        if message[:4] == b'stop':
            break
        compare('message', number, message,
                f'{number} {len(want)}'.encode().ljust(MESSAGE, b'.'))
        compare('written data', number, end.mr.read(len(want), 0), want)
        end.receive(slot)
        number += 1
        # The driver waits for this before it overwrites the pattern.
        end.mr.write(b'seen'.ljust(MESSAGE, b'.'), MESSAGE, SENT)
        end.post(e.IBV_WR_SEND, SENT, MESSAGE)
        end.wait(e.IBV_WC_SEND, number)
    return number


def drive(host):
    end = End()
    end.connect(socket.create_connection((host, PORT)))
    number = 0
    while not os.path.exists('/tmp/stop'):
        while os.path.exists('/tmp/hold'):
            time.sleep(0.05)
        want = pattern(number)
        end.mr.write(want, len(want))
        end.post(e.IBV_WR_RDMA_WRITE, 0, len(want), 0)
        end.wait(e.IBV_WC_RDMA_WRITE, number + 1)
        end.mr.write(bytes(len(want)), len(want))
        end.post(e.IBV_WR_RDMA_READ, 0, len(want), 0)
        end.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, FETCHED, 8, COUNTER, 1)
        message = f'{number} {len(want)}'.encode().ljust(MESSAGE, b'.')
        end.mr.write(message, MESSAGE, SENT)
        end.post(e.IBV_WR_SEND, SENT, MESSAGE)
        end.wait(e.IBV_WC_SEND, number + 1)
        compare('data read', number, end.mr.read(len(want), 0), want)
        fetched = int.from_bytes(end.mr.read(8, FETCHED), 'little')
        if fetched != number:
            sys.exit(f'round {number}: the counter was {fetched}')
        end.wait(e.IBV_WC_RECV, number + 1)
        end.receive(number % RECVS)
        number += 1
    end.mr.write(b'stop'.ljust(MESSAGE, b'.'), MESSAGE, SENT)
    end.post(e.IBV_WR_SEND, SENT, MESSAGE)
    end.wait(e.IBV_WC_SEND, number + 1)
    return number


if __name__ == '__main__':
    rounds = serve() if sys.argv[1] == 'serve' else drive(sys.argv[2])
    print(f'{rounds} rounds good', flush=True)
