# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks between two guests share.

Things that are compared (device models, kinds of transport) are measured one
after another within each round, in an order that changes from round to round,
so that a host whose speed drifts disturbs all of them alike: only ratios within
a round are compared.
"""

import functools
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / 'qtest' / 'guest'),
                str(Path(os.environ.get('QEMU_SRC', TOP / 'build/qemu-src'))
                    / 'python')]

from guestvm.guest import Guest  # noqa: E402


def add_setup_option(parser):
    parser.add_argument('--no-setup', action='store_true',
                        help='take what is built as it is')


def set_up(options):
    """Build what is missing, as scripts/demo does; tells on stderr."""
    if not options.no_setup and subprocess.run(
            [TOP / 'scripts/lib/set-up-guests'],
            stdout=sys.stderr).returncode:
        raise SystemExit('the set-up failed')


def boot(nics, workdir, append='', **options):
    """Two guests.  nics(end) are the adapters of end 0 and of end 1; all of end
    0 listen on sockets workdir/wire*.  append are words for the kernels' command
    lines; options are those of Guest."""
    guests = []
    try:
        for end in range(2):
            mine = nics(end)
            # The watchdog of the time stamp counter mistakes a busy host for a
            # broken counter and falls back to a slow clock in mid-measurement.
            guests.append(Guest('ab'[end], nics=mine,
                                append=f'quiet tsc=reliable {append}',
                                **options))
            guests[-1].start()
            if end == 0:
                wait_for_sockets(workdir, len(mine))
        for guest in guests:
            guest.wait_ready()
    except BaseException:
        close(guests)
        raise
    return guests


def close(guests):
    for guest in guests:
        guest.close()


def wait_for_sockets(workdir, count):
    deadline = time.monotonic() + 30
    while len(list(Path(workdir).glob('wire*'))) < count:
        if time.monotonic() > deadline:
            raise SystemExit('the first guest does not listen')
        time.sleep(0.05)


def interface(guest, mac):
    """The guest's name of the interface with an address."""
    path = guest.wait_for(f'grep -l {mac} /sys/class/net/*/address')
    return path.split('/')[4]


def cpu_seconds(guests):
    """Host CPU time that the emulators have used so far."""
    ticks = 0
    for guest in guests:
        stat = Path(f'/proc/{guest.proc.pid}/stat').read_text()
        ticks += sum(map(int, stat.rpartition(')')[2].split()[11:13]))
    return ticks / os.sysconf('SC_CLK_TCK')


@functools.cache
def order():
    """What draws the order of measurements; BENCH_SEED repeats that of another run."""
    seed = int(os.environ.get('BENCH_SEED') or random.randrange(1 << 32))
    print(f'order of measurements: BENCH_SEED={seed}', file=sys.stderr)
    return random.Random(seed)


def shuffled(things):
    return order().sample(things, len(things))


def spread(ratios):
    """Median, lowest and highest as text."""
    return (f'{statistics.median(ratios):.2f} '
            f'({min(ratios):.2f}..{max(ratios):.2f})')


class Results:
    """values[key][name] is a list with one value for each round."""

    def __init__(self, names, ours):
        self.names = names
        self.ours = ours
        self.values = {}

    def add(self, key, name, value):
        self.values.setdefault(key, {}).setdefault(name, []).append(value)

    def median(self, key, name):
        return statistics.median(self.values[key][name])

    def ratios(self, key, other):
        """Ours over another, round by round."""
        ours = self.values[key][self.ours]
        return [a / b for a, b in zip(ours, self.values[key][other])]

    def ratios_best(self, key, more):
        """Ours over the best of the others, round by round."""
        per_round = zip(*(self.values[key][n] for n in self.names
                          if n != self.ours))
        return [a / (max(r) if more else min(r))
                for a, r in zip(self.values[key][self.ours], per_round)]
