# SPDX-License-Identifier: GPL-2.0-or-later
#
# apt in a directory of its own: sources, lists, package cache and dpkg status
# are private, so the system's configuration and state stay untouched.  The
# mirror, proxies, credentials and keys are the machine's own; apt verifies the
# archive's signature as always.
#
#   apt_private_init DIR SUITE [ARCH] [deb-src]
#       Prepare DIR for SUITE (e.g. trixie) and dpkg architecture ARCH (default:
#       the host's) and fetch the package lists, if they are older than a day.
#       With deb-src the source lists too.  An empty dpkg status makes apt's
#       solver see every dependency.
#   apt_private_update DIR
#       Fetch the lists in any case.
#   apt_private DIR COMMAND...
#       Run an apt command (apt-get, apt-cache, ...) on that configuration.
#   apt_private_depends DIR PACKAGE
#       The packages that PACKAGE depends on, one a line.
#   apt_private_download DIR PACKAGE...
#       Download the packages (without dependencies) to DIR/debs.  Lists that
#       name what the archive no longer has are fetched again, once.
#   apt_private_extract DIR ROOT PACKAGE...
#       The same, and unpack them below ROOT.
#   apt_private_source DIR ROOT PACKAGE[=VERSION]
#       Download a source package (DIR has deb-src), and unpack it as ROOT.
#   apt_missing PACKAGE...
#       Print those of the packages that are not installed on the system.
#   apt_install PACKAGE...
#       Install the missing ones on the system, with sudo where not root.
#
# DEBIAN_MIRROR=URI names the mirror, in any form that apt takes; otherwise it is
# the one of this machine's own sources, and Debian's where there is none.

# shellcheck source=scripts/lib/environment.sh
. "${BASH_SOURCE[0]%/*}/environment.sh"

DEFAULT_MIRROR=http://deb.debian.org/debian
# Releases whose lines in a machine's sources are those of Debian itself.
DEBIAN_SUITES='stable|oldstable|testing|unstable|sid|bookworm|trixie|forky'

# The URI of the Debian archive this machine uses, from its own configuration.
apt_mirror()
{
    local uri=${DEBIAN_MIRROR:-}
    # By what the archive says of itself, whatever it is called here.
    # shellcheck disable=SC2016
    [ -n "$uri" ] || uri=$(apt-get indextargets --format \
            '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)' \
            'Created-By: Packages' 2>/dev/null |
        awk -F'|' '$1 == "Debian" && $2 == "Debian" && $3 == "main" {
                       print $4; exit }')
    # No lists were fetched yet: by the names of the releases.
    [ -n "$uri" ] || uri=$(apt-get update --print-uris 2>/dev/null |
        sed -nE "s;^'([^']*)/dists/($DEBIAN_SUITES)(-updates)?/InRelease'.*;\1;p" |
        grep -v security | head -n 1)
    if [ -z "$uri" ]; then
        uri=$DEFAULT_MIRROR
        echo "no Debian mirror in this machine's apt sources: using $uri" \
             "(DEBIAN_MIRROR=URI names another)" >&2
    fi
    # apt shows a list of mirrors (mirror+file:...) as if it were a folder.
    echo "${uri%/}"
}

# The public keys of Debian's archive, installed where they are missing.
apt_keyring()
{
    local file
    for file in "${KEYRINGS:=/usr/share/keyrings}"/debian-archive-keyring.{gpg,pgp}; do
        [ -e "$file" ] && { echo "$file"; return; }
    done
    apt_install debian-archive-keyring >&2 || return 1
    for file in "$KEYRINGS"/debian-archive-keyring.{gpg,pgp}; do
        [ -e "$file" ] && { echo "$file"; return; }
    done
    echo "no debian-archive-keyring in $KEYRINGS" >&2
    return 1
}

apt_private_init()
{
    local dir=$1 suite=$2 arch=${3:-$(dpkg --print-architecture)} src=${4:-}
    local keyring mirror
    mirror=$(apt_mirror) && keyring=$(apt_keyring) || return 1
    mkdir -p "$dir"/{lists/partial,archives/partial,empty}
    [ -e "$dir/status" ] || : > "$dir/status"
    {
        echo "deb [signed-by=$keyring] $mirror $suite main"
        if [ -n "$src" ]; then
            echo "deb-src [signed-by=$keyring] $mirror $suite main"
        fi
    } > "$dir/sources.list.new"
    cat > "$dir/apt.conf" <<CONF
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::State::extended_states "$dir/extended_states";
Dir::Cache "$dir";
Dir::Cache::archives "$dir/archives";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "$dir/empty";
Dir::Etc::preferences "$dir/preferences";
Dir::Etc::preferencesparts "$dir/empty";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
CONF
    if [ "$(id -u)" = 0 ]; then
        echo 'APT::Sandbox::User "root";' >> "$dir/apt.conf"
    fi
    if ! cmp -s "$dir/sources.list.new" "$dir/sources.list" ||
       [ ! -e "$dir/updated" ]; then
        mv "$dir/sources.list.new" "$dir/sources.list"
        apt_private_update "$dir" || return 1
    elif [ -n "$(find "$dir/updated" -mmin +1440)" ]; then
        # What was fetched before still works without a network.
        apt_private_update "$dir" 2>/dev/null ||
            echo "cannot refresh the package lists; going on with old ones" >&2
    fi
    rm -f "$dir/sources.list.new"
}

apt_private_update()
{
    # apt forgives a list that it cannot fetch, but a list is what is asked for.
    apt_private "$1" apt-get -q -o APT::Update::Error-Mode=any update \
        > "$1/update.log" 2>&1 || {
        cat "$1/update.log" >&2
        return 1
    }
    touch "$1/updated"
}

apt_private()
{
    local dir=$1
    shift
    APT_CONFIG=$dir/apt.conf "$@"
}

apt_private_depends()
{
    apt_private "$1" apt-cache depends --no-recommends --no-suggests \
        --no-conflicts --no-breaks --no-replaces --no-enhances "$2" \
        2>/dev/null | sed -n 's/^ *|\{0,1\}\(Pre\)\{0,1\}Depends: //p'
}

apt_private_download()
{
    local dir=$1
    shift
    mkdir -p "$dir/debs"
    (cd "$dir/debs" && apt_private "$dir" apt-get -q download "$@") \
        > "$dir/download.log" 2>&1 && return
    # After a point release old packages leave the archive.
    apt_private_update "$dir" &&
    (cd "$dir/debs" && apt_private "$dir" apt-get -q download "$@") \
        > "$dir/download.log" 2>&1 || {
        cat "$dir/download.log" >&2
        return 1
    }
}

apt_private_extract()
{
    local dir=$1 root=$2 pkg deb
    shift 2
    mkdir -p "$root"
    apt_private_download "$dir" "$@" || return 1
    for pkg in "$@"; do
        deb=$(ls -t "$dir/debs/${pkg%%[:=]*}"_*.deb | head -n 1)
        dpkg-deb -x "$deb" "$root" || return 1
    done
}

apt_private_source()
{
    local dir=$1 root=$2 package=$3 to=$1/sources/${3%%=*}
    rm -rf "$root" "$to"
    mkdir -p "$to"
    fetch_source()
    {
        (cd "$to" && apt_private "$dir" apt-get -q source --download-only \
            "$package" > source.log 2>&1)
    }
    fetch_source || { apt_private_update "$dir" && fetch_source; } ||
        { cat "$to/source.log" >&2; return 1; }
    # dpkg-source leaves a copy of the archive beside what it unpacks.
    dpkg-source --no-check -x "$to"/*.dsc "$to/unpacked" \
        > "$to/unpack.log" 2>&1 || { cat "$to/unpack.log" >&2; return 1; }
    mv "$to/unpacked" "$root"
    rm -rf "$to"
}

apt_missing()
{
    local pkg
    for pkg in "$@"; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null)" \
             != installed ]; then
            echo "$pkg"
        fi
    done
}

apt_install()
{
    local missing sudo=()
    missing=$(apt_missing "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo > /dev/null; then
            echo "these packages are missing, and there is no sudo; as root:" >&2
            echo "  apt-get install" $missing >&2
            return 1
        fi
        sudo=(sudo)
    fi
    echo "installing:" $missing
    # sudo drops the environment, so the setting goes behind it.
    sudo+=(env DEBIAN_FRONTEND=noninteractive apt-get -q)
    # shellcheck disable=SC2086
    "${sudo[@]}" install -y --no-install-recommends $missing \
        > /dev/null 2>&1 ||
    { "${sudo[@]}" update &&
      "${sudo[@]}" install -y --no-install-recommends $missing; }
}
