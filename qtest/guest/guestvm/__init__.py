# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot Debian's stock kernels in QEMU and drive them from Python.

See ../README.rst for the interface that tests use.
"""
