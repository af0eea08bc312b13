# SPDX-License-Identifier: GPL-2.0-or-later
"""Package sets: what a guest's root can be composed of.

A set names Debian packages, the files wanted from them and from what they
depend on (globs over merged-/usr paths; the shared libraries of every program
follow by themselves), and kernel modules (their dependencies follow too).
Images stay small because booting under TCG costs by the megabyte.
"""

from typing import NamedTuple, Tuple


class PackageSet(NamedTuple):
    packages: Tuple[str, ...]
    files: Tuple[str, ...]
    modules: Tuple[str, ...]


# Sets that only a test wants.
SPECIAL = ('pyverbs',)

SETS = {
    'base': PackageSet(
        packages=('busybox', 'kmod', 'iproute2', 'ethtool', 'iperf3',
                  'iputils-ping', 'base-files', 'netbase'),
        files=('/usr/bin/busybox', '/usr/bin/kmod', '/usr/sbin/modprobe',
               '/usr/sbin/insmod', '/usr/sbin/rmmod', '/usr/sbin/lsmod',
               '/usr/sbin/modinfo', '/usr/sbin/depmod', '/usr/bin/lsmod',
               '/usr/bin/ip', '/usr/sbin/ip', '/usr/sbin/tc', '/usr/bin/ss',
               '/usr/sbin/ethtool', '/usr/bin/iperf3', '/usr/bin/ping',
               '/etc/protocols', '/etc/services', '/etc/debian_version',
               '/usr/lib/os-release', '/etc/os-release'),
        modules=('virtio_pci', 'virtio_console', 'virtio_net', 'virtio_rng',
                 'e1000e', 'igb', '8021q', '9p', '9pnet_virtio', 'pktgen',
                 'bridge', 'virtio_mmio', 'evdev', 'button', 'vfat',
                 'virtio_blk', 'nls_ascii', 'nls_cp437')),
    'tools': PackageSet(
        packages=('curl', 'pciutils', 'tcpdump', 'strace', 'gdbserver'),
        files=('/usr/bin/curl', '/usr/bin/lspci', '/usr/sbin/lspci',
               '/usr/bin/setpci', '/usr/share/misc/pci.ids*',
               '/usr/sbin/tcpdump', '/usr/bin/tcpdump', '/usr/bin/strace',
               '/usr/bin/gdbserver'),
        modules=('vfio_pci', 'vfio_iommu_type1')),
    'python': PackageSet(
        packages=('python3-minimal', 'libpython3-stdlib'),
        files=('/usr/bin/python3*', '/usr/lib/python3*/*.py',
               '/usr/lib/python3*/collections/*', '/usr/lib/python3*/json/*',
               '/usr/lib/python3*/encodings/*', '/usr/lib/python3*/re/*',
               '/usr/lib/python3*/importlib/*', '/usr/lib/python3*/ctypes/*',
               '/usr/lib/python3*/lib-dynload/_ctypes.*',
               '/usr/lib/python3*/lib-dynload/mmap.*'),
        modules=()),
    # rdma-core's own tests, as Debian ships them; needs python and rdma.
    'pyverbs': PackageSet(
        packages=('python3-pyverbs',),
        files=('/usr/lib/python3/dist-packages/pyverbs/*',
               '/usr/share/doc/rdma-core/tests/*',
               '/usr/lib/python3*/unittest/*',
               '/usr/lib/python3*/logging/*',
               '/usr/lib/python3*/multiprocessing/*',
               '/usr/lib/python3*/concurrent/*',
               '/usr/lib/python3*/lib-dynload/_multiprocessing.*',
               '/usr/lib/python3*/lib-dynload/_queue.*',
               '/usr/lib/python3*/lib-dynload/resource.*',
               '/usr/lib/python3*/lib-dynload/_json.*'),
        modules=()),
    'rdma': PackageSet(
        packages=('ibverbs-utils', 'libibverbs1', 'ibverbs-providers',
                  'rdma-core', 'rdmacm-utils', 'perftest', 'opensm',
                  'infiniband-diags', 'iproute2', 'libgcc-s1'),
        files=('/usr/bin/ibv_*', '/usr/bin/rping', '/usr/bin/ucmatose',
               '/usr/bin/udpong', '/usr/bin/udaddy', '/usr/bin/mckey',
               '/usr/bin/rdma_*', '/usr/bin/cmtime', '/usr/bin/rstream',
               '/usr/bin/riostream', '/usr/bin/rcopy',
               '/usr/bin/ib_*', '/usr/bin/raw_ethernet_*',
               '/usr/sbin/opensm', '/usr/sbin/osmtest',
               '/usr/sbin/ib*', '/usr/sbin/perfquery', '/usr/sbin/smpquery',
               '/usr/sbin/smpdump', '/usr/sbin/saquery', '/usr/sbin/sminfo',
               '/usr/sbin/mcm_rereg_test', '/usr/sbin/vendstat',
               '/usr/sbin/rdma', '/usr/bin/rdma',
               '/etc/libibverbs.d/*', '/usr/lib/*/libibverbs/*',
               '/usr/lib/*/librdmacm.so*', '/usr/lib/*/rsocket/*',
               '/etc/rdma/*',
               '/usr/lib/*/libgcc_s.so.1'),    # pthread_exit() loads it
        modules=('ib_core', 'ib_uverbs', 'ib_umad', 'ib_cm', 'rdma_cm',
                 'rdma_ucm', 'ib_ipoib', 'ib_mthca', 'rdma_rxe',
                 'crc32_generic')),      # rdma_rxe's, by name at run time
}
