# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: a QEMU process, its console, its QMP and its control channel."""

import atexit
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import image, kernel, watch
from .channel import Channel, ChannelClosed, GuestTimeout, Result
from .clock import LEAST, SCALE, SEED, deadline
from .paths import (ARCHES, BUILD, DRIVERS, WATCHING, emulator,
                    firmware_args, locked)
from .qmp import Qmp

WATCHING_MIB = 256


class NotAvailable(Exception):
    """The emulator, a device or a driver is not there: a reason to skip."""


class WrongKernel(RuntimeError):
    """Drivers and kernel of one Debian release do not fit."""


class QemuFailed(RuntimeError):
    """An emulator crashed, hung or found an error of its own at the end."""


class KernelFailed(AssertionError):
    """A kernel that watches has found something that no test has looked for."""


class CommandFailed(AssertionError):
    """A script in the guest ended with a status that was not expected."""


class Terminated(KeyboardInterrupt):
    """By SIGTERM.  unittest goes on with the next test after a SystemExit."""


def end_on_sigterm():
    """Have a time-out of the test's runner end the guests as well."""
    def end(*_):
        raise Terminated

    signal.signal(signal.SIGTERM, end)


def driver_modules(arch, kern=None):
    """The project's drivers as built for a kernel (default: the stock one of
    an architecture), or [].

    Raises where drivers were built for that Debian release, but for another
    version of its kernel: without them nothing would be tested.
    """
    kern = kern or kernel.get(arch)
    name = DRIVERS.get(arch, arch)
    found = sorted((BUILD / 'drivers' / name).glob('*/*.ko'))
    fit = [path for path in found
           if kernel.built_for(path) == kern.release]
    stale = [path for path in found
             if path.parent.name == kern.suite and path not in fit]
    if stale:
        raise WrongKernel(
            f'{stale[0]} is built for Linux {kernel.built_for(stale[0])}, the '
            f'guests boot {kern.release}: run scripts/build-guest --clean and '
            f'scripts/build-drivers --arch {name} --release {kern.suite}')
    return fit


def has_device(arch, model):
    """Whether the emulator knows a device model."""
    qemu = emulator(arch)
    if not qemu:
        return False
    done = subprocess.run([qemu, '-device', f'{model},help'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True)
    # QEMU's exit status is 0 for an unknown device as well.
    return f'{model} options:' in done.stdout


class Job:
    """A script that runs in a guest."""

    def __init__(self, guest, ident, script, timeout):
        self.guest = guest
        self.ident = ident
        self.script = script
        self.deadline = time.monotonic() + timeout

    @property
    def finished(self):
        return self.guest.channel.finished(self.ident)

    def wait(self, check=True):
        """Wait until its deadline; returns a Result."""
        left = max(0.1, self.deadline - time.monotonic())
        try:
            result = self.guest.channel.wait(self.ident, left + 15 * SCALE,
                                             self.script.strip())
        except (ChannelClosed, GuestTimeout) as err:
            raise type(err)(f'{self.guest.name}: {err}\n'
                            f'{self.guest.console_tail()}') from None
        if check and result.status != 0:
            raise CommandFailed(
                f'{self.guest.name}: status {result.status} of: '
                f'{self.script}\n{result.out}{result.err}')
        return result

    def moved(self, guest):
        """The guest was migrated: the answer will come from the new QEMU."""
        self.ident = guest.channel.adopt(self.guest.channel, self.ident)
        self.guest = guest


class Chardev(str):
    """A -chardev value that stands where a -netdev value may: for devices that
    have both kinds of wire, or for one whose property has another name."""

    prop = 'chardev'


class Guest:
    """One virtual machine.

    name      shows in messages, host name in the guest, names of the logs
    arch      'x86_64' or 'aarch64'
    args      further QEMU options (list of words)
    devices   -device values, on the root bus or wherever they say
    nics      (-netdev value, -device value without netdev=) pairs; a
              Chardev instead of the former becomes chardev=
    memory    MiB
    sets      package sets of the guest's root, see sets.py
    modules   further kernel modules to have at hand
    drivers   .ko files under test (default: all of build/drivers that are
              built for the guest's kernel)
    files     {path in the guest: bytes or Path}
    append    words for the kernel command line
    incoming  a migration URI to wait for instead of booting
    hotplug   number of PCIe root ports kept free, named port0, port1, ...
    rdma      load the RDMA user interfaces at start (implies set 'rdma')
    kern      a kernel.Kernel instead of Debian's stock one, see kernel.own()
    share     a directory of the host to mount on /mnt (9p)
    """

    _numbers = itertools.count()

    def __init__(self, name='guest', arch='x86_64', *, args=(), devices=(),
                 nics=(), memory=256, smp=1, sets=('base',), modules=(),
                 drivers=None, files=None, append='', incoming=None,
                 hotplug=0, rdma=False, accel='tcg', cpu=None, machine=None,
                 kern=None, share=None, workdir=None, interactive=False,
                 say=None):
        self.name = name
        self.arch = arch
        self.info = ARCHES[arch]
        self.args = list(args)
        self.devices = list(devices)
        self.nics = list(nics)
        self.memory = memory
        self.smp = smp
        self.sets = list(sets) + (['rdma'] if rdma and 'rdma' not in sets
                                  else [])
        self.modules = list(modules)
        self.drivers = drivers
        self.files = dict(files or {})
        self.append = append + (' guest.rdma' if rdma else '')
        self.incoming = incoming
        self.hotplug = hotplug
        self.accel = accel
        self.cpu = cpu or (self.info.cpu if accel.startswith('tcg')
                           else 'host')
        self.machine = machine or self.info.machine
        self.kern = kern
        self.share = share
        self.interactive = interactive
        self.say = say or (lambda text: None)
        self.proc = None
        self.killed = False
        self.seed = SEED + next(self._numbers)
        self.boots = 0
        self._own_dir = workdir is None
        # Socket names are bounded (108 bytes): not below the build directory.
        self.dir = Path(workdir or tempfile.mkdtemp(prefix=f'guest-{name}-'))
        self.console_log = self.dir / 'console.log'
        self.qemu_log = self.dir / 'qemu.log'
        self.qmp = None
        self.channel = None

    # ---- life ----------------------------------------------------------------

    def start(self):
        """Start QEMU; see wait_ready()."""
        qemu = emulator(self.arch)
        if not qemu:
            raise NotAvailable(f'qemu-system-{self.arch} is not built')
        self.dir.mkdir(parents=True, exist_ok=True)
        self.qmp = Qmp(self.dir / 'qmp')
        self.channel = Channel(self.dir / 'agent')
        words = [qemu] + self._arguments()
        (self.dir / 'command').write_text(shlex.join(words) + '\n')
        with open(self.qemu_log, 'ab') as log:
            self.proc = subprocess.Popen(
                words, start_new_session=not self.interactive,
                stdin=None if self.interactive else subprocess.DEVNULL,
                stdout=None if self.interactive else log,
                stderr=None if self.interactive else log)
        atexit.register(self.kill)
        try:
            self.qmp.accept(30, self.proc)
        except (OSError, ConnectionError) as err:
            self.kill()
            raise RuntimeError(f'{self.name}: QEMU did not start: {err}\n'
                               + self.qemu_output()) from None
        # QEMU has it in memory by now, also for a reboot.
        (self.dir / 'initrd').unlink(missing_ok=True)
        return self

    def wait_ready(self, timeout=120):
        """Wait until the guest's agent speaks after a (re)boot."""
        try:
            hello = self.channel.wait_hello(self.boots + 1, timeout * SCALE)
        except (ChannelClosed, GuestTimeout) as err:
            raise type(err)(f'{self.name}: {err}\n{self.console_tail()}'
                            f'{self.qemu_output()}') from None
        self.boots += 1
        return hello

    def boot(self, timeout=120):
        """start() and wait_ready()."""
        self.start()
        self.wait_ready(timeout)
        return self

    def kill(self):
        """End QEMU at once, as a crash would."""
        if self.proc and self.proc.poll() is None:
            self.killed = True
            self.proc.kill()
            self.proc.wait()

    def quit(self, timeout=LEAST):
        """End QEMU in order; returns its exit status."""
        if self.proc and self.proc.poll() is None:
            try:
                self.qmp.command('quit')
            except (OSError, ConnectionError, TimeoutError):
                pass
            try:
                self.proc.wait(timeout * SCALE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise QemuFailed(f'{self.name}: QEMU did not end within '
                                 f'{timeout} s') from None
        return self.proc.returncode if self.proc else None

    def watched(self):
        """What a kernel that watches has to say at the end; the guest has no
        drivers any more."""
        if (not self.kern or self.kern.suite not in WATCHING or
                not self.proc or self.proc.poll() is not None or
                not (self.boots or self.incoming) or
                self.qmp.command('query-status')['status'] != 'running'):
            return []
        before = len(self.kernel_complaints())
        said = self.run(watch.script(p.stem for p in self._drivers()), 120,
                        check=False)
        return (watch.judge(said.out) + said.err.splitlines() +
                self.kernel_complaints()[before:])

    def close(self, keep=False):
        """quit() and remove what the guest left on the host.

        Raises QemuFailed where QEMU did not end well, now or before, unless
        it was killed from here; KernelFailed by what watched() says.
        """
        try:
            try:
                wrong = self.watched()
            finally:
                status = self.quit()
            if status and not self.killed:
                raise QemuFailed(f'{self.name}: QEMU ended with status '
                                 f'{status}\n{self.qemu_output()[-4000:]}')
            if wrong:
                raise KernelFailed('\n'.join([f'{self.name}:'] + wrong) + '\n' +
                                   self.console_tail())
        finally:
            for end in (self.qmp, self.channel):
                if end:
                    end.close()
            atexit.unregister(self.kill)
            if self._own_dir and not keep:
                shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            self.close(keep=exc[0] is not None and
                       'FABRIC_KEEP_LOGS' in os.environ)
        except (QemuFailed, KernelFailed) as err:
            # What came first is the cause, but this may say more about it.
            if exc[0] is None:
                raise
            print(f'# {err}', file=sys.stderr)

    # ---- in the guest --------------------------------------------------------

    def spawn(self, script, timeout=30):
        """Start a shell script in the guest; returns a Job."""
        timeout = max(timeout, LEAST) * SCALE
        return Job(self, self.channel.send(script, timeout), script, timeout)

    def run(self, script, timeout=30, check=True) -> Result:
        """Run a shell script in the guest and wait for it.

        Raises CommandFailed on a status that is not 0, unless check is off.
        """
        return self.spawn(script, timeout).wait(check)

    def out(self, script, timeout=30):
        """What a script prints, stripped."""
        return self.run(script, timeout).out.strip()

    def wait_for(self, script, timeout=30, interval=0.2, least=LEAST):
        """Run a script in the guest until it succeeds (a condition with a
        deadline); returns its output."""
        timeout = max(timeout, least)
        patience = int(timeout * SCALE)
        loop = (f'end=$(($(cut -d. -f1 /proc/uptime) + {patience}))\n'
                f'until r=$({script}\n); do\n'
                '  [ "$(cut -d. -f1 /proc/uptime)" -lt $end ] || exit 124\n'
                f'  sleep {interval}\ndone\nprintf "%s\\n" "$r"')
        result = self.run(loop, timeout + 5, check=False)
        if result.status:
            raise CommandFailed(f'{self.name}: not within {timeout} s: '
                                f'{script}\n{result.err}')
        return result.out.strip()

    def reboot(self, timeout=120):
        """Reboot from within and wait for the agent again."""
        self.spawn('sync; reboot -f')
        return self.wait_ready(timeout)

    def poweroff(self, timeout=60):
        """Power off from within; returns QEMU's exit status."""
        self.spawn('poweroff -f')
        return self.proc.wait(timeout * SCALE)

    def sleep_and_wake(self, meanwhile=lambda: None):
        """Suspend to memory (S3); the machine is woken from outside.

        Needs a packed kernel, see kernel.get(), and 'tsc=reliable'.  Once in a
        boot: SeaBIOS on q35 does not set up the power management registers
        again, so that a second time the kernel believes that it woke up at
        once.
        """
        job = self.spawn('echo none > /sys/power/pm_test; '
                         'echo deep > /sys/power/mem_sleep && '
                         'echo mem > /sys/power/state', 120)
        self.qmp.wait_event('SUSPEND', 60)
        meanwhile()
        self.qmp.command('system_wakeup')
        self.qmp.wait_event('WAKEUP', 30)
        job.wait()

    # ---- around the guest ----------------------------------------------------

    def hotplug_add(self, device, **options):
        """device_add by options; "_" stand for "-"."""
        self.qmp.command('device_add', driver=device, **options)

    def hotplug_remove(self, ident, timeout=60):
        """device_del and wait until the guest has let go."""
        self.qmp.command('device_del', id=ident)
        self.qmp.wait_event('DEVICE_DELETED', timeout,
                            lambda data: data.get('device') == ident)

    def migrate_to(self, target, uri, timeout=120):
        """Migrate live to a guest that was started with incoming=uri."""
        self.qmp.command('migrate', uri=uri)
        until = deadline(timeout)
        while True:
            info = self.qmp.command('query-migrate')
            status = info.get('status')
            if status == 'completed':
                break
            if status in ('failed', 'cancelled'):
                raise RuntimeError(f'migration {status}: '
                                   f'{info.get("error-desc", "")}\n'
                                   + target.qemu_output())
            if time.monotonic() > until:
                raise GuestTimeout(f'migration is {status} after {timeout} s')
            time.sleep(0.05)
        # The source has sent everything; the target may still be loading it.
        try:
            target.qmp.wait_event('RESUME', timeout)
        except (ConnectionError, TimeoutError) as err:
            raise RuntimeError(f'{target.name} did not take over: {err}\n'
                               + target.qemu_output()) from None
        return info

    def qemu_output(self):
        """What QEMU printed (guest errors, warnings)."""
        try:
            return self.qemu_log.read_text(errors='replace')
        except FileNotFoundError:
            return ''

    def console(self):
        """The serial console so far."""
        try:
            return self.console_log.read_text(errors='replace')
        except FileNotFoundError:
            return ''

    def console_tail(self, lines=25):
        return '\n'.join(self.console().splitlines()[-lines:]) + '\n'

    def kernel_complaints(self):
        """Lines of the console that tell of a bug in kernel or driver."""
        wrong = re.compile(r'\b(BUG:|WARNING:|Oops|general protection|'
                           r'Kernel panic|Call Trace|NETDEV WATCHDOG|'
                           r'UBSAN|soft lockup|(?<!/)use-after-free|'
                           # those of a kernel that watches
                           r'BUG [\w-]+ \(|kernel BUG at|'
                           r'INFO: trying to register|'
                           r'DMA-API: debugging out of memory|'
                           r'ODEBUG: Out of memory)')
        return [line for line in self.console().splitlines()
                if wrong.search(line)]

    # ---- QEMU's command line -------------------------------------------------

    def command_line(self):
        """QEMU's command for a shell."""
        return shlex.join([emulator(self.arch)] + self._arguments())

    def _drivers(self):
        """The drivers that this kernel can load."""
        if self.drivers is not None:
            return self.drivers
        fit = driver_modules(self.arch, self.kern)
        if not fit:
            self.say(f'no drivers are built for {self.kern.release}')
        return fit

    def _megabytes(self):
        """A kernel that watches has records of all locks, objects and pages."""
        return self.memory + (WATCHING_MIB if self.kern.suite in WATCHING
                              else 0)

    def _initrd(self):
        files = []
        for path, content in self.files.items():
            if isinstance(content, (str, Path)):
                data = Path(content).read_bytes()
                mode = Path(content).stat().st_mode & 0o777
            else:
                data, mode = content, 0o755
            files.append((path, data, mode))
        drivers = self._drivers()
        initrd = self.dir / 'initrd'
        # Another guest's layer may take the place of one of these.
        with locked():
            parts = image.layers(self.arch, self.sets, drivers, self.modules,
                                 self.say, self.kern)
            image.compose(initrd, parts, files)
        return initrd

    def _arguments(self):
        self.kern = self.kern or kernel.get(self.arch, self.say)
        console = self.info.console
        append = (f'console={console} panic=-1 guest.name={self.name} '
                  f'{self.append}')
        # A host that stands still is no fault of a driver.
        append += ' nosoftlockup rcupdate.rcu_cpu_stall_suppress=1'
        if self.arch == 'x86_64':
            # Interrupts of an emulator that a busy host holds up come late: the
            # kernel would take its timer for broken, and panic.
            append += ' no_timer_check'
        if self.share:
            append += ' guest.share=share'
        # Without ioeventfd: the agent's bus has 64 queues, whose descriptors
        # each round of the main loop would poll.
        words = firmware_args() + [
            '-nodefaults', '-no-user-config', '-display', 'none',
            '-name', self.name, '-machine', self.machine, '-cpu', self.cpu,
            '-accel', self.accel, '-m', f'{self._megabytes()}M',
            '-smp', str(self.smp), '-seed', str(self.seed),
            '-d', 'guest_errors',
            '-kernel', str(self.kern.boot_image),
            '-initrd', str(self._initrd()), '-append', append,
            '-qmp', f'unix:{self.dir}/qmp',
            '-chardev', f'socket,id=agent,path={self.dir}/agent',
            '-device', 'virtio-serial-pci,id=agentbus,ioeventfd=off',
            '-device', 'virtserialport,chardev=agent,name=agent']
        if self.share:
            words += ['-fsdev', f'local,id=share,path={self.share},'
                      'security_model=none',
                      '-device', 'virtio-9p-pci,fsdev=share,mount_tag=share']
        if self.interactive:
            words += ['-chardev', 'stdio,id=console,mux=on,signal=off',
                      '-serial', 'chardev:console', '-mon', 'console']
        else:
            words += ['-chardev', 'file,id=console,append=on,path='
                      f'{self.console_log}', '-serial', 'chardev:console']
        for index in range(self.hotplug):
            words += ['-device', f'pcie-root-port,id=port{index},'
                      f'chassis={index + 1},slot={index + 1}']
        for device in self.devices:
            words += ['-device', device]
        for index, (netdev, device) in enumerate(self.nics):
            if netdev:
                kind = ('chardev' if isinstance(netdev, Chardev)
                        else 'netdev')
                words += [f'-{kind}', f'{netdev},id=net{index}']
                device += f',{getattr(netdev, "prop", kind)}=net{index}'
            words += ['-device', device]
        if self.incoming:
            words += ['-incoming', self.incoming]
        return words + self.args
