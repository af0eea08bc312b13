# SPDX-License-Identifier: GPL-2.0-or-later
"""How long things may take, and what makes them random."""

import os
import secrets
import time

# A loaded or slow machine may stretch every deadline.
SCALE = float(os.environ.get('FABRIC_TIMEOUT_SCALE', '1'))
# The emulators' random numbers (QEMU's -seed); the n-th one started gets this
# plus n, because two ends of a link must not throw the same dice.
SEED = int(os.environ.get('FABRIC_SEED', '0')) or secrets.randbelow(1 << 31) + 1


# It costs nothing to wait long where all is well, and hosts stand still at times.
LEAST = 120


def deadline(seconds):
    """The time.monotonic() at which so many seconds, or the least, stretched, are
    over."""
    return time.monotonic() + max(seconds, LEAST) * SCALE
