# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel that watches over the drivers knows at the end of its guest.

The first report of each kind is on the console, where tests look for it.  But dma-debug
prints one error and counts the others, lockdep is off after its first report, and what
a driver never gave back is found when it lets go of its device.
"""

# Programs that have a device open are killed, and all drivers unloaded.
SCRIPT = r'''
for fd in /proc/[0-9]*/fd/*; do
    case $(readlink "$fd") in
    /dev/uburma/*|/dev/ubmem*|/dev/ubmsg*|/dev/rclink*)
        pid=${fd#/proc/}; kill -9 "${pid%%/*}" 2> /dev/null ;;
    esac
done
end=$(($(cut -d. -f1 /proc/uptime) + 60))
for driver in DRIVERS; do
    while grep -q "^$driver " /proc/modules && ! rmmod $driver; do
        [ "$(cut -d. -f1 /proc/uptime)" -lt $end ] || break
        sleep 0.2
    done
done 2> /tmp/rmmod
grep -q ' /sys/kernel/debug ' /proc/mounts ||
    mount -t debugfs none /sys/kernel/debug
for driver in DRIVERS; do
    ! grep -q "^$driver " /proc/modules || echo "stays: $driver"
done
sed -n 's/^ *debug_locks: *//p' /proc/lockdep_stats | sed 's/^/lockdep: /'
cd /sys/kernel/debug/dma-api
echo "dma-api: $(cat disabled) $(cat error_count)"
'''
# Others have the symbols of this one.
LAST = ('ub_core',)
GOOD = {'lockdep': ['1'], 'dma-api': ['N 0']}


def script(drivers):
    """To be run in the guest, which has loaded some of these drivers."""
    names = sorted(drivers, key=lambda name: (name in LAST, name))
    return SCRIPT.replace('DRIVERS', ' '.join(names))


def judge(said):
    """What is wrong with what the script has printed, as a list of lines."""
    lines = [line.split(': ', 1) for line in said.splitlines() if ': ' in line]
    wrong = [f'{key}: {value}' for key, value in lines
             if value not in GOOD.get(key, [])]
    return wrong + [f'{key}: nothing was said' for key in GOOD
                    if key not in dict(lines)]
