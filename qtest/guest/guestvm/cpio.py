# SPDX-License-Identifier: GPL-2.0-or-later
"""A writer of "newc" cpio archives, the format of an initramfs.

Device nodes and ownership are mere fields of the archive, so that no root is
needed.  Archives may be concatenated: the kernel unpacks one after another.
"""

import stat


class CpioWriter:
    def __init__(self, out):
        self.out = out
        self.ino = 1
        self.dirs = {''}

    def _entry(self, path, mode, data=b'', rdev=(0, 0), nlink=1):
        name = path.encode() + b'\0'
        head = '070701' + ''.join(f'{v:08x}' for v in (
            self.ino, mode, 0, 0, nlink, 0, len(data), 0, 0, rdev[0], rdev[1],
            len(name), 0))
        self.ino += 1
        self.out.write(head.encode() + name)
        self._pad(len(head) + len(name))
        self.out.write(data)
        self._pad(len(data))

    def _pad(self, written):
        self.out.write(b'\0' * (-written % 4))

    def _parents(self, path):
        parent = path.rpartition('/')[0]
        if parent not in self.dirs:
            self.mkdir(parent)

    def mkdir(self, path, mode=0o755):
        path = path.strip('/')
        if path in self.dirs:
            return
        self._parents(path)
        self.dirs.add(path)
        self._entry(path, stat.S_IFDIR | mode, nlink=2)

    def file(self, path, data, mode=0o644):
        path = path.strip('/')
        self._parents(path)
        self._entry(path, stat.S_IFREG | mode, data)

    def symlink(self, path, target):
        path = path.strip('/')
        self._parents(path)
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def chardev(self, path, major, minor, mode=0o600):
        path = path.strip('/')
        self._parents(path)
        self._entry(path, stat.S_IFCHR | mode, rdev=(major, minor))

    def close(self):
        """Write the trailer; 512-byte alignment as cpio(1) does."""
        self._entry('TRAILER!!!', 0)
        self.out.write(b'\0' * (-self.out.tell() % 512))
