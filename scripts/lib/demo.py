#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of scripts/demo: what the devices do, done before one's eyes."""

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'qtest/guest'))
sys.dont_write_bytecode = True
from guestvm import net, rdma, ublink, ubmem  # noqa: E402
from guestvm.clock import SCALE  # noqa: E402
from guestvm.guest import (Guest, NotAvailable, driver_modules,  # noqa: E402
                           end_on_sigterm, has_device)
from guestvm.hostnet import HttpServer, payload, stream  # noqa: E402
from guestvm.paths import BUILD  # noqa: E402
from guestvm.ubswitch import Switch  # noqa: E402

MIB = 1 << 20
# Mbit/s below which something is wrong, on the slowest host.
LEAST = 10 / SCALE


class Part(NamedTuple):
    name: str
    title: str
    run: Callable


class Show:
    """Prints steps as they are done and remembers what they showed."""

    def __init__(self):
        self.rows = []      # (part, step, result, verdict)
        self.part = ''
        self.colour = sys.stdout.isatty() and 'NO_COLOR' not in os.environ

    def paint(self, code, text):
        return f'\033[{code}m{text}\033[0m' if self.colour else text

    def title(self, part):
        self.part = part.name
        print('\n' + self.paint('1', part.title))

    def step(self, what, result, good=True):
        """A step is done; good: whether it did what it should."""
        mark = self.paint('32', 'ok  ') if good else self.paint('31', 'FAIL')
        print(f'  {mark} {what:<34} {result}', flush=True)
        self.rows.append((self.part, what, result,
                          'ok' if good else 'FAILED'))

    def skip(self, reason):
        print('  ' + self.paint('33', 'skip') + f' {reason}', flush=True)
        self.rows.append((self.part, 'skipped', reason, 'skipped'))

    def fail(self, err):
        first = (str(err) or type(err).__name__).splitlines()[0]
        self.step('stopped', first, False)
        for line in str(err).splitlines()[1:]:
            print('       ' + line)

    def table(self):
        head = ('part', 'what', 'result', '')
        rows = [head] + self.rows
        wide = [max(len(r[i]) for r in rows) for i in range(4)]
        rule = '  '.join('-' * w for w in wide)
        print('\n' + rule)
        for index, row in enumerate(rows):
            print('  '.join(c.ljust(w) for c, w in zip(row, wide)).rstrip())
            if index == 0:
                print(rule)
        print(rule)

    def verdict(self):
        count = {v: sum(r[3] == v for r in self.rows)
                 for v in ('ok', 'FAILED', 'skipped')}
        print(f'{count["ok"]} ok, {count["FAILED"]} failed, '
              f'{count["skipped"]} parts skipped')
        return 1 if count['FAILED'] or count['skipped'] else 0


def need(model, driver=None):
    if not has_device('x86_64', model):
        raise NotAvailable(f'this QEMU has no device {model}')
    if driver and not any(p.stem == driver for p in driver_modules('x86_64')):
        raise NotAvailable(f'{driver}.ko is not built')


def boot(show, *guests):
    """Start guests side by side and wait for all."""
    started = time.monotonic()
    for guest in guests:
        guest.start()
    hellos = [guest.wait_ready() for guest in guests]
    number = {1: 'a stock Debian guest', 2: 'two stock Debian guests'}
    show.step(f'boot {number[len(guests)]}', f'Linux {hellos[0].release} in '
              f'{time.monotonic() - started:.1f} s')


def sound(show, *guests):
    """The kernels had nothing to complain about."""
    wrong = [line for g in guests for line in g.kernel_complaints()]
    show.step('kernel logs', wrong[0] if wrong else
              'no warning, no oops', not wrong)


def part_net(show):
    need('ncic-nic', 'ncic_eth')
    size = 64 * MIB
    with HttpServer({'file': payload(size)}) as web, \
            Guest('demo', nics=[('user', 'ncic-nic')], memory=512,
                  sets=('base', 'tools')) as guest:
        boot(show, guest)
        dev = net.interface(guest, 'ncic-nic')
        driver = guest.out(f'ethtool -i {dev} | sed -n "s/^driver: //p"')
        show.step('driver', f'{driver} on {dev}', driver == 'ncic_eth')
        address = net.dhcp(guest, dev)
        show.step('DHCP', address, address.startswith('10.0.2.'))
        # Hashing takes longer under TCG than the transfer.
        started = time.monotonic()
        guest.run(f'curl -sfo /tmp/file {web.url("file")}', 240)
        took = time.monotonic() - started
        arrived = guest.out('sha256sum < /tmp/file', 240).split()[0]
        same = arrived == web.sha256('file')
        show.step('HTTP download, 64 MiB',
                  f'{size * 8 / took / 1e6:.0f} Mbit/s, SHA-256 '
                  + (f'{arrived[:12]}… is the server\'s' if same
                     else 'DIFFERS'), same)
        sound(show, guest)


def part_pair(show):
    need('ncic-nic', 'ncic_eth')
    with Guest('left') as left, Guest('right') as right:
        wire = left.dir / 'wire'
        left.nics = [(stream(wire, server=True),
                      'ncic-nic,mac=52:54:00:00:01:01')]
        right.nics = [(stream(wire, reconnect_ms=100),
                       'ncic-nic,mac=52:54:00:00:01:02')]
        boot(show, left, right)
        for guest, host in ((left, '10.1.0.1'), (right, '10.1.0.2')):
            net.static(guest, net.interface(guest, 'ncic-nic'), f'{host}/24')
        net.reachable(right, '10.1.0.1')
        sent, got = net.ping(right, '10.1.0.1', '-f -c 2000')
        show.step('ping flood', f'{got} of {sent} came back', got == sent)
        net.iperf3_serve(left)
        for way, what in (('', 'TCP right to left'), ('-R', 'and back')):
            end = net.iperf3(right, '10.1.0.1', f'-t 3 {way}')['end']
            rate = end['sum_received']['bits_per_second'] / 1e6
            show.step(f'{what}, 3 s', f'{rate:.0f} Mbit/s',
                      rate > LEAST)
        sound(show, left, right)


def part_rdma(show):
    need('ncic-mthca')
    host = '10.2.0.1'
    with Guest('left', rdma=True, memory=384) as left, \
            Guest('right', rdma=True, memory=384) as right:
        wires = [left.dir / 'rdma', left.dir / 'ip']
        left.nics, right.nics = (
            [(stream(wire, server=n == 1, reconnect_ms=100 * (n - 1)),
              f'{model},mac=52:54:00:00:0{i}:0{n}')
             for i, (wire, model) in enumerate(zip(
                 wires, (f'ncic-mthca,lid={n}', 'virtio-net-pci')))]
            for n in (1, 2))
        boot(show, left, right)
        for number, guest in enumerate((left, right), 1):
            net.static(guest, net.interface(guest, 'virtio-net-pci'),
                       f'10.2.0.{number}/24')
            device = rdma.wait_active(guest)
        info = rdma.devinfo(right, device)
        show.step("Debian's ib_mthca", f'{device}: {info["state"]}, '
                  f'firmware {info["fw_ver"]}')
        net.reachable(right, host)
        for kind in ('rc', 'uc', 'ud', 'srq'):
            rate = rdma.pingpong(left, right, host, kind, device, '-c')
            show.step(f'ibv_{kind}_pingpong, data checked',
                      f'{rate:.0f} Mbit/s', rate > LEAST)
        for tool, what in (('ib_write_bw', 'RDMA write'),
                           ('ib_read_bw', 'RDMA read')):
            row = rdma.perftest(left, right, host, tool, device,
                                '-s 65536 -n 500')
            show.step(f'{tool}, 64 KiB', f'{row[3]} MB/s',
                      row[:2] == ['65536', '500'] and
                      float(row[3]) * 8 > LEAST)
        sound(show, left, right)


def part_ub(show):
    need('ubc', 'ub_net')
    with Guest('left') as left, Guest('right') as right:
        wire = left.dir / 'ub'
        for guest, end in ((left, 'server=on,wait=off'),
                           (right, 'reconnect-ms=100')):
            # In a thread of its own: no doorbell waits for coding.
            guest.args = ['-object', 'iothread,id=ubio', '-chardev',
                          f'socket,id=ubwire,path={wire},{end}']
            guest.devices = ['ubc,id=ub,chardev0=ubwire,iothread=ubio']
        boot(show, left, right)
        for number, guest in enumerate((left, right), 1):
            guest.dev = net.interface(guest, 'ubc')
            guest.run(f'ip addr add 10.3.0.{number}/24 dev {guest.dev}\n'
                      f'ip link set {guest.dev} up')
        net.reachable(right, '10.3.0.1')
        link = ublink.state(right)
        show.step('the link trains', f'{link["tx-width"]} lanes, data rate '
                  f'{link["rate"]}, FEC {link["fec"]}', link['link-up'])
        sent, got = net.ping(right, '10.3.0.1', '-f -c 500')
        show.step('ping flood over UB', f'{got} of {sent} came back',
                  got == sent)
        net.iperf3_serve(left)
        rate = net.iperf3(right, '10.3.0.1', '-t 3')['end'][
            'sum_received']['bits_per_second'] / 1e6
        show.step('TCP, 3 s', f'{rate:.1f} Mbit/s', rate > LEAST)
        for guest in (left, right):
            ublink.disturb(guest, ber=1e-6)
        sent, got = net.ping(right, '10.3.0.1', '-f -c 500 -s 8000')
        fixed = ublink.counters(right)['fec_corrected']
        show.step('8000-byte pings, bit errors 1e-6',
                  f'{got} of {sent} came back, FEC corrected {fixed}',
                  got == sent and fixed > 0)
        job = right.spawn('iperf3 -J -c 10.3.0.1 -n 256M', 300)
        right.wait_for('ss -Htn dport = 5201 | grep -q ESTAB')
        for width in (4, 8):
            ublink.retarget(left, right, link['rate'], width)
        meanwhile = not job.finished
        sent = json.loads(job.wait().out)['end']['sum_sent']['bytes']
        show.step('8, 4, 8 lanes while TCP runs',
                  f'{sent // MIB} MiB sent, all acknowledged',
                  meanwhile and sent >= 256 * MIB)
        sound(show, left, right)


def urma_figure(client, host, shape):
    """What urma-perf measured: its names and numbers."""
    out = client.out(f'urma-perf {host} {shape}', 180)
    return {k: float(v) for k, v in (w.split('=') for w in out.split())}


def part_urma(show):
    need('ubc', 'ub_urma')
    programs = {f'/bin/{name}': BUILD / 'qtest/guest/native' / name
                for name in ('urma-drive', 'urma-perf')}
    for path in programs.values():
        if not path.exists():
            raise NotAvailable(f'{path.name} is not built')
    host = '10.3.0.1'
    with Guest('left', smp=2, files=programs) as left, \
            Guest('right', smp=2, files=programs) as right:
        wire = left.dir / 'ub'
        for number, (guest, end) in enumerate(
                ((left, 'server=on,wait=off'), (right, 'reconnect-ms=100')), 1):
            guest.args = ['-object', 'iothread,id=ubio', '-chardev',
                          f'socket,id=ubwire,path={wire},{end}']
            guest.devices = ['ubc,id=ub,chardev0=ubwire,iothread=ubio,upi=1,'
                             f'cna={number},eid=fd{number:030x}']
        boot(show, left, right)
        for number, guest in enumerate((left, right), 1):
            guest.dev = net.interface(guest, 'ubc')
            guest.run(f'ip addr add 10.3.0.{number}/24 dev {guest.dev}\n'
                      f'ip link set {guest.dev} up')
        net.reachable(right, host)
        for guest in (left, right):
            guest.wait_for('test -c /dev/uburma/ubc0')
        show.step('what liburma looks for', right.out(
            'cd /sys/class/ubcore/ubc0; echo $(cat driver_name), '
            'EID $(cat eids/eid0)'))
        left.spawn('exec urma-drive serve', 3600)
        left.spawn('exec urma-perf serve', 3600)
        left.wait_for("test $(ss -Hltn | grep -c -e ':7471 ' -e ':7472 ') = 2")

        def cases(what, *names):
            out = right.run(f'urma-drive test {host} {" ".join(names)}', 300,
                            check=False).out
            good = out.split('\n')[:-1] == [f'ok {n}' for n in names]
            show.step(what, 'every byte is there' if good else out, good)

        cases('RM: send, write, read, atomics', 'rm')
        cases('RC, UM', 'rc', 'um')
        for guest in (left, right):
            guest.qmp.command('ub-packet-faults', device='ub', out=True,
                              plan={'seed': 1, 'drop-ppm': 5000})
            ublink.disturb(guest, ber=1e-7)
        cases('5000 packets of a million lost', 'rm')
        for guest in (left, right):
            guest.qmp.command('ub-packet-faults', device='ub', out=True,
                              plan={})
            ublink.disturb(guest)
        for verb in ('send', 'write', 'read'):
            took = urma_figure(right, host, f'lat {verb} 2 2000')['median_us']
            rate = urma_figure(right, host, f'bw {verb} 65536 4000')['mib_s']
            show.step(f'{verb}: 2 bytes; 64 KiB', f'half take {took:.0f} us '
                      f'or less; {rate:.0f} MiB/s',
                      rate * 8 * MIB / 1e6 > LEAST)
        sound(show, left, right)


def ring(show, what, receiver, sender, count):
    """A job at either end; each checks every word."""
    lines = [job.wait().out.split('\n')[0] for job in (receiver, sender)]
    took = lines[1].split()
    show.step(what, f'{count} messages in {took[-2]} ms, every word checked',
              str(count) in took)


def part_mem(show):
    ubmem.needed()
    pages, count = 64, 2000
    with contextlib.ExitStack() as stack:
        switch = stack.enter_context(contextlib.closing(Switch(2)))
        switch.start()
        for port in range(2):
            switch.command('route-set', cna=port + 1, ports=[port])
        home, user = (stack.enter_context(ubmem.node(n, switch.chardev(n)))
                      for n in range(2))
        boot(show, home, user)
        for guest in (home, user):
            ubmem.ready(guest)
        serve = ubmem.Serve(home, f'serve {pages * ubmem.PAGE}')
        show.step('memory of another guest, by a switch',
                  f'{pages} pages, EID {serve.desc.split()[0]}')
        said = user.out(f'ubmem-perf check {serve.desc} 512', 240)
        show.step('memory test, uncached',
                  'each value of each byte, widths, atomics',
                  said == 'checked')
        said = user.out(f'ubmem-perf perf {serve.desc}', 240)
        show.step('a load, as a processor does it',
                  said.splitlines()[0].split(None, 1)[1])
        said = user.out(f'ubmem-perf cached {serve.desc}', 240)
        show.step('memory test, cached', said.split(' (')[0])
        left = serve.desc.rsplit(' ', 1)[0]
        said = user.out(f'ubmem-perf poke {left} 0x1 0 1')
        show.step('with a wrong token', said, said == 'Input/output error')
        serve.kill()
        serve = ubmem.Serve(home, f'receive {16 * ubmem.PAGE} {count}')
        sent = user.out(f'ubmem-perf send {serve.desc} {count}', 240)
        show.step('ring of messages, uncached',
                  f'{sent}, every word checked',
                  serve.line() == 'received')
        serve = ubmem.Serve(home, f'serve {16 * ubmem.PAGE} rw random shared')
        jobs = [guest.spawn(f'ubmem-perf {what} {serve.desc} {count}', 240)
                for guest, what in ((home, 'take'), (user, 'put'))]
        ring(show, 'the same, cached, by Ownership', *jobs, count)
        serve.kill()
        sound(show, home, user)


PARTS = [
    Part('net', 'A stock kernel on ncic-nic: address, download', part_net),
    Part('pair', 'Two guests on a wire', part_pair),
    Part('rdma', 'Two guests, the stock RDMA stack on ncic-mthca', part_rdma),
    Part('ub', 'Two guests on a UnifiedBus link', part_ub),
    Part('urma', 'URMA between two guests, over the same link', part_urma),
    Part('mem', 'Loads and stores on the memory of another guest', part_mem),
]


def main(args):
    end_on_sigterm()
    check = args[:1] == ['--check']
    args = args[check:]
    unknown = set(args) - {p.name for p in PARTS}
    if unknown:
        print('demo: no such part: ' + ', '.join(unknown), file=sys.stderr)
        return 2
    if check:
        return 0
    show = Show()
    for part in PARTS:
        if args and part.name not in args:
            continue
        show.title(part)
        try:
            part.run(show)
        except NotAvailable as reason:
            show.skip(str(reason))
        except Exception as err:  # the other parts are still worth seeing
            show.fail(err)
    show.table()
    return show.verdict()


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
