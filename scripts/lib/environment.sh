# SPDX-License-Identifier: GPL-2.0-or-later
#
# What every script here counts on, whoever runs it: the programs' output in
# English and UTF-8 (apt and others translate it), and the folders of system
# programs (modinfo, depmod), which a user's PATH lacks on Debian.
export LC_ALL=C.UTF-8
unset LANGUAGE
case :$PATH: in
*:/usr/sbin:*) ;;
*) PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin ;;
esac
export PATH

# only_one BUILD: hold the lock of a build directory until this script ends, so
# that two set-ups in one tree take turns.
only_one()
{
    mkdir -p "$1"
    exec 9> "$1/.lock"
    flock -n 9 || {
        echo "waiting for another set-up in $1" >&2
        flock 9
    }
}
