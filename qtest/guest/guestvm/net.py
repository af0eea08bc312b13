# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps that tests of network devices share."""

import contextlib
import json
import time

from .clock import deadline
from .guest import CommandFailed

# The kernel driver that a device model is served by.
DRIVERS = {'ncic-nic': 'ncic_eth', 'e1000e': 'e1000e', 'igb': 'igb',
           'virtio-net-pci': 'virtio_net', 'ubc': 'ub_net',
           'rclink': 'rclink'}


def interface(guest, model, timeout=30):
    """Wait for the interface of a device model; returns its name."""
    driver = DRIVERS[model]
    # virtio_net is bound to the virtio device below the PCI function.
    return guest.wait_for(
        'for d in /sys/class/net/*/device/driver; do\n'
        f'  [ "$(basename "$(readlink -f "$d")")" = {driver} ] &&\n'
        '    basename "${d%/device/driver}" && exit 0\n'
        'done; exit 1', timeout)


def dhcp(guest, dev, timeout=60):
    """Ask for an address; returns it (CIDR)."""
    guest.run(f'ip link set {dev} up; udhcpc -f -q -n -t 20 -T 1 -i {dev}',
              timeout)
    return address(guest, dev)


def address(guest, dev):
    """The interface's IPv4 address in CIDR, or ''."""
    return guest.out(f"ip -4 -o addr show dev {dev} | "
                     "awk '{ print $4; exit }'")


def static(guest, dev, cidr):
    guest.run(f'ip addr flush dev {dev}; ip addr add {cidr} dev {dev}\n'
              f'ip link set {dev} up')


def fetch_sha256(guest, url, timeout=240):
    """Download in the guest; returns the SHA-256 of what arrived."""
    words = guest.out('set -o pipefail; '
                      f'wget -q -O - {url} | sha256sum', timeout).split()
    return words[0]


def same_file(server, client, host, timeout=60):
    """Have a client fetch a file of a server's and compare the two."""
    server.run('[ -s /tmp/www/data ] || {\n  mkdir -p /tmp/www\n'
               '  head -c 2000003 /dev/urandom > /tmp/www/data\n'
               '  httpd -p 8080 -h /tmp/www\n}')
    sent = server.out('md5sum < /tmp/www/data')
    got = client.out('set -o pipefail; '
                     f'wget -q -O - http://{host}:8080/data | md5sum',
                     timeout)
    if got != sent:
        raise AssertionError(f'{server.name} sent {sent}, {client.name} '
                             f'got {got}')


# The echo replies, IPv4 and IPv6, that the kernel has seen.
REPLIES = """awk '$1 == "Icmp:" && !at { for (i = 2; i <= NF; i++)
         if ($i == "InEchoReps") at = i; next }
     $1 == "Icmp:" { n += $at }
     $1 == "Icmp6InEchoReplies" { n += $2 }
     END { print n }' /proc/net/snmp /proc/net/snmp6"""


def ping(guest, host, options='', timeout=60):
    """Ping; returns (sent, received).  ping itself gives the last replies up
    after two round trips; one that comes later is received as well."""
    before = int(guest.out(REPLIES))
    out = guest.run(f'ping -n -q {options} {host}', timeout, check=False).out
    for line in out.splitlines():
        if 'packets transmitted' in line:
            words = line.replace(',', '').split()
            sent, received = int(words[0]), int(words[3])
            break
    else:
        raise CommandFailed(f'{guest.name}: ping {options} {host}: {out}')
    if received < sent:
        with contextlib.suppress(CommandFailed):
            guest.wait_for(f'[ $({REPLIES}) -ge {before + sent} ]', 5,
                           least=5)
            received = sent
    return sent, received


def reachable(guest, host, timeout=60):
    """Wait until a host answers a ping."""
    guest.wait_for(f'ping -n -q -c 1 -W 1 {host}', timeout)


def iperf3_serve(guest):
    """Start iperf3's server and wait until it listens."""
    guest.run('iperf3 -s -D')
    guest.wait_for("ss -Hltn 'sport = :5201' | grep -q LISTEN")


def iperf3(guest, host, options, timeout=120):
    """Run iperf3's client; returns its report."""
    until = deadline(timeout)
    while True:
        result = guest.run(f'iperf3 -J -c {host} {options}', timeout,
                           check=False)
        try:
            report = json.loads(result.out)
        except ValueError:
            raise CommandFailed(f'{guest.name}: iperf3 {options}: '
                                f'{result.out}{result.err}') from None
        error = report.get('error')
        if not error:
            return report
        # The server serves one client, and may not be done with the last one.
        if 'server is busy' not in error or time.monotonic() > until:
            raise CommandFailed(f'{guest.name}: iperf3: {error}')
        print('# iperf3: the server is busy; again')
        time.sleep(0.1)
