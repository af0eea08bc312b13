# SPDX-License-Identifier: GPL-2.0-or-later
"""Just enough of ELF64 (little endian) to resolve libraries and modules."""

import struct

SHT_STRTAB, SHT_DYNAMIC, SHT_NOTE = 3, 6, 7
PT_INTERP = 3
DT_NULL, DT_NEEDED = 0, 1


def is_elf(data):
    return data[:6] == b'\x7fELF\x02\x01'


def _sections(data):
    """List of (name, type, offset, size, link) of all sections."""
    shoff, = struct.unpack_from('<Q', data, 0x28)
    shentsize, shnum, shstrndx = struct.unpack_from('<HHH', data, 0x3a)
    raw = [struct.unpack_from('<IIQQQQI', data, shoff + i * shentsize)
           for i in range(shnum)]
    if not raw:
        return []
    names = raw[shstrndx][4]
    return [(_string(data, names + r[0]), r[1], r[4], r[5], r[6])
            for r in raw]


def _string(data, offset):
    return data[offset:data.index(b'\0', offset)].decode('latin-1')


def needed(data):
    """The shared libraries (DT_NEEDED) and the interpreter of an object.

    Returns (list of library names, interpreter's path or None).
    """
    libs, interp = [], None
    sections = _sections(data)
    for _name, kind, offset, size, link in sections:
        if kind != SHT_DYNAMIC:
            continue
        strtab = sections[link][2]
        for at in range(offset, offset + size, 16):
            tag, value = struct.unpack_from('<QQ', data, at)
            if tag == DT_NULL:
                break
            if tag == DT_NEEDED:
                libs.append(_string(data, strtab + value))
    phoff, = struct.unpack_from('<Q', data, 0x20)
    phentsize, phnum = struct.unpack_from('<HH', data, 0x36)
    for i in range(phnum):
        kind, _flags, offset = struct.unpack_from('<IIQ', data,
                                                  phoff + i * phentsize)
        if kind == PT_INTERP:
            interp = _string(data, offset)
    return libs, interp


def modinfo(data):
    """The key=value strings of a kernel module's .modinfo, as (key, value)."""
    for name, _kind, offset, size, _link in _sections(data):
        if name == '.modinfo':
            fields = data[offset:offset + size].split(b'\0')
            return [tuple(f.decode('utf-8', 'replace').split('=', 1))
                    for f in fields if b'=' in f]
    return []
