# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps that tests of RDMA devices share.

The programs of ibverbs-utils and perftest exchange their addresses over TCP, so
both guests need an IP network besides the RDMA device.
"""

import re

from .guest import CommandFailed


def wait_active(guest, device='', timeout=60):
    """Wait until the first port of an RDMA device is active; its name."""
    guest.wait_for(f'ibv_devinfo {"-d " + device if device else ""}'
                   ' | grep -q PORT_ACTIVE', timeout)
    return device or guest.out('ls /sys/class/infiniband | head -n 1')


def devinfo(guest, device):
    """What ibv_devinfo -v prints, as {name: first value}."""
    found = {}
    for line in guest.out(f'ibv_devinfo -v -d {device}').splitlines():
        name, _, value = line.strip().partition(':')
        found.setdefault(name, value.strip())
    return found


def pair(server, client, host, command, port, timeout=120,
         client_extra='', server_extra=''):
    """Run a program that listens in one guest and its client in another.

    Returns (server's Result, client's Result); raises when one fails.
    """
    listening = server.spawn(f'{command} {server_extra}', timeout)
    try:
        server.wait_for(f"ss -Hltn 'sport = :{port}' | grep -q .", 20)
    except CommandFailed:
        # It says more about why than that it does not listen.
        if listening.finished:
            listening.wait()
        raise
    calling = client.spawn(f'{command} {client_extra} {host}', timeout)
    results = [job.wait(check=False) for job in (listening, calling)]
    if any(r.status for r in results):
        raise CommandFailed(''.join(
            f'{g.name}: status {r.status} of: {command}\n{r.out}{r.err}\n'
            for g, r in zip((server, client), results)))
    return results


def pingpong(server, client, host, kind, device, options=''):
    """ibv_{rc,uc,ud,srq,xsrq}_pingpong; returns Mbit/s at the client."""
    port = 18515
    _, result = pair(server, client, host,
                     f'ibv_{kind}_pingpong -d {device} -p {port} {options}',
                     port)
    found = re.search(r'= ([\d.]+) Mbit/sec', result.out)
    if not found:
        raise CommandFailed(f'{client.name}: ibv_{kind}_pingpong: '
                            + result.out)
    return float(found.group(1))


# perftest's own time-out, 67 ms, gives a connection up after half a second: an
# emulator that shares its processors can stand still as long.  4.3 s.
PATIENT = '-u 20'


def perftest(server, client, host, tool, device, options='', timeout=180):
    """ib_send_bw and the like; returns the words of the report's last line
    (bytes, iterations, ...)."""
    port = 18516
    _, result = pair(server, client, host,
                     f'{tool} -d {device} -p {port} -F {PATIENT} {options}',
                     port, timeout)
    rows = [line.split() for line in result.out.splitlines()
            if re.match(r'\s*\d+\s+\d+\s+[\d.]+', line)]
    if not rows:
        raise CommandFailed(f'{client.name}: {tool}: {result.out}')
    return rows[-1]
