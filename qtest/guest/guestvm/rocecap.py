# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of RoCEv2 traffic, judged by tshark and by an ICRC of our own.

    seen = rocecap.judge('rdma.pcap')      # raises BadCapture
    seen['RC SEND First'], seen['NAK sequence error']

From a shell, a table:  PYTHONPATH=qtest/guest python3 -m guestvm.rocecap FILE
"""

import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

ROCE_PORT = 4791
ETH, IP, UDP, ICRC = 14, 20, 8, 4

# Names of IB 1.3 table 38, as this project writes them; by low five bits.
_MESSAGE = {0x00: 'SEND First', 0x01: 'SEND Middle', 0x02: 'SEND Last',
            0x03: 'SEND Last with Immediate', 0x04: 'SEND Only',
            0x05: 'SEND Only with Immediate', 0x06: 'RDMA WRITE First',
            0x07: 'RDMA WRITE Middle', 0x08: 'RDMA WRITE Last',
            0x09: 'RDMA WRITE Last with Immediate', 0x0a: 'RDMA WRITE Only',
            0x0b: 'RDMA WRITE Only with Immediate'}
_RELIABLE = {0x0c: 'RDMA READ Request', 0x0d: 'RDMA READ response First',
             0x0e: 'RDMA READ response Middle',
             0x0f: 'RDMA READ response Last',
             0x10: 'RDMA READ response Only', 0x11: 'Acknowledge',
             0x12: 'ATOMIC Acknowledge', 0x13: 'CmpSwap', 0x14: 'FetchAdd'}
_DATAGRAM = {0x04: 'SEND only', 0x05: 'SEND only with Immediate'}

SERVICES = {'RC': 'Reliable Connection', 'UC': 'Unreliable Connection',
            'UD': 'Unreliable Datagram'}
# BTH opcode: name, as tshark writes it without the long form of the service
OPCODES = {
    **{op: f'RC {name}' for op, name in (_MESSAGE | _RELIABLE).items()},
    **{0x20 | op: f'UC {name}' for op, name in _MESSAGE.items()},
    **{0x60 | op: f'UD {name}' for op, name in _DATAGRAM.items()},
}
# Upper three bits of an AETH syndrome that is no ACK, and the codes of a NAK
RNR_NAK, NAK = 1, 3
NAKS = {0: 'NAK sequence error', 1: 'NAK invalid request',
        2: 'NAK remote access error', 3: 'NAK remote operational error'}
RNR = 'RNR NAK'

# What guesses at payloads: data of a verbs program is none of these.
GUESSERS = ('rpcordma', 'infiniband.eoib', 'fcoib', 'infiniband_sdp', 'iser',
            'lnet', 'nvme-rdma', 'smb_direct', 'smc')


class BadCapture(AssertionError):
    """A packet is malformed, has a wrong ICRC, or is not what it says."""


def frames(path):
    """The frames of a pcap file of Ethernet, either byte order."""
    data = Path(path).read_bytes()
    magic = data[:4]
    order = '<' if magic in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    if struct.unpack_from(order + 'I', data, 20)[0] != 1:
        raise BadCapture(f'{path}: not Ethernet')
    at = 24
    # The last record is cut when the writer was killed.
    while at + 16 <= len(data):
        kept, length = struct.unpack_from(order + 'II', data, at + 8)
        if at + 16 + kept > len(data):
            return
        if kept != length:
            raise BadCapture(f'{path}: a frame was cut short')
        yield data[at + 16:at + 16 + kept]
        at += 16 + kept


def is_roce(frame):
    """Whether a frame is IPv4 without options, UDP, to the port of RoCEv2."""
    return (len(frame) >= ETH + IP + UDP and frame[12:15] == b'\x08\0\x45' and
            frame[23] == 17 and
            struct.unpack_from('>H', frame, ETH + IP + 2)[0] == ROCE_PORT)


def icrc(packet):
    """The ICRC that belongs behind an IPv4 packet (annex A17.3.3): a LRH of
    ones, fields that routers change as ones, then Ethernet's CRC."""
    masked = bytearray(packet)
    masked[1] = masked[8] = 0xff                # type of service, TTL
    masked[10:12] = b'\xff\xff'                 # header checksum
    masked[IP + 6:IP + 8] = b'\xff\xff'         # UDP checksum
    masked[IP + UDP + 4] = 0xff                 # congestion bits
    return zlib.crc32(b'\xff' * 8 + masked)


def check_icrc(frame):
    """Whether a RoCE frame's ICRC is right."""
    length, = struct.unpack_from('>H', frame, ETH + 2)
    packet = frame[ETH:ETH + length]
    return icrc(packet[:-ICRC]) == int.from_bytes(packet[-ICRC:], 'little')


def _tshark(path):
    """What tshark says: rows of (protocols, opcode, syndrome, ICRC) for each
    packet, and the names of the opcodes in their order."""
    fields = ('frame.protocols', 'infiniband.bth.opcode',
              'infiniband.aeth.syndrome', 'infiniband.invariant.crc')
    words = [shutil.which('tshark'), '-n', '-r', str(path)]
    for name in GUESSERS:
        words += ['--disable-protocol', name]
    words += ['--disable-heuristic', 'eth_over_ib']
    # Settings of the user's account stay out.
    env = dict(os.environ, HOME='/nonexistent', LC_ALL='C.UTF-8')

    def run(*more):
        return subprocess.run(words + list(more), text=True, check=True,
                              stdout=subprocess.PIPE, env=env,
                              stderr=subprocess.PIPE, timeout=300).stdout

    bad = run('-Y', '_ws.malformed')
    if bad:
        raise BadCapture(f'malformed:\n{bad[:2000]}')
    lines = run('-T', 'fields', *(w for f in fields for w in ('-e', f)))
    # A field has no name among -T fields; in the tree it stands in the BTH.
    names = re.findall(r'Base Transport Header\n +Opcode: (.*)',
                       run('-O', 'infiniband'))
    return [line.split('\t') for line in lines.splitlines()], names


def judge(path):
    """Check every RoCE packet of a capture; {name: how many} of opcodes,
    RNR NAK and NAKs.  Raises BadCapture."""
    if not shutil.which('tshark'):
        raise FileNotFoundError('tshark')
    seen = collections.Counter()
    rows, names = _tshark(path)
    names = iter(names)
    packets = list(frames(path))
    if len(packets) != len(rows):
        raise BadCapture(f'{len(packets)} frames, tshark has {len(rows)}')
    for number, (frame, row) in enumerate(zip(packets, rows), 1):
        if not is_roce(frame):
            continue
        where = f'{path}, packet {number}'
        protocols, opcode, syndrome, crc = row
        if 'infiniband' not in protocols:
            raise BadCapture(f'{where}: is {protocols} to tshark')
        bth = frame[ETH + IP + UDP:]
        name = OPCODES.get(bth[0])
        if name is None:
            raise BadCapture(f'{where}: opcode {bth[0]:#x}')
        shown = next(names)
        service = name[:2]
        want = f'{SERVICES[service]} ({service}) - {name[3:]} ({bth[0]})'
        if int(opcode) != bth[0] or shown != want:
            raise BadCapture(f'{where}: "{shown}", expected "{want}"')
        if not check_icrc(frame):
            raise BadCapture(f'{where}: {name}: ICRC is wrong')
        # tshark reads the field in the other byte order; behind it may be what
        # an Ethernet frame is padded with.
        end = ETH + int.from_bytes(frame[ETH + 2:ETH + 4], 'big')
        if int(crc, 16) != int.from_bytes(frame[end - ICRC:end], 'big'):
            raise BadCapture(f'{where}: {name}: ICRC is {crc} to tshark')
        seen[name] += 1
        if bth[0] == 0x11 and int(syndrome) >> 5 == NAK:
            seen[NAKS[int(syndrome) & 31]] += 1
        elif bth[0] == 0x11 and int(syndrome) >> 5 == RNR_NAK:
            seen[RNR] += 1
    return seen


def main():
    for path in sys.argv[1:]:
        for name, count in sorted(judge(path).items()):
            print(f'{count:8} {name}')


if __name__ == '__main__':
    main()
