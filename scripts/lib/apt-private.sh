# SPDX-License-Identifier: GPL-2.0-or-later
#
# apt in a directory of its own: sources, lists, package cache and dpkg status
# are private, so the system's configuration and state stay untouched.  The
# mirror, proxies, credentials and keys are the machine's own; apt verifies the
# archive's signature as always.
#
#   apt_private_init DIR SUITE [ARCH] [deb-src]
#       Prepare DIR for SUITE (e.g. trixie) and dpkg architecture ARCH (default:
#       the host's) and fetch the package lists once.  With deb-src the source
#       lists too.  An empty dpkg status makes apt's solver see every dependency.
#   apt_private DIR COMMAND...
#       Run an apt command (apt-get, apt-cache, ...) on that configuration.
#   apt_private_extract DIR ROOT PACKAGE...
#       Download the packages (without dependencies) and unpack them below ROOT.
#   apt_missing PACKAGE...
#       Print those of the packages that are not installed on the system.
#   apt_install PACKAGE...
#       Install the missing ones on the system, with sudo where not root.

# The URI of the Debian archive this machine uses, from its own configuration.
apt_mirror()
{
    local uri
    uri=$(apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(COMPONENT)' \
              'Created-By: Packages' 2>/dev/null |
          awk -F'|' '$3 == "main" && $2 ~ /debian\/?$/ { print $2; exit }')
    if [ -z "$uri" ]; then
        echo "no Debian mirror found in this machine's apt sources" >&2
        return 1
    fi
    echo "$uri"
}

apt_private_init()
{
    local dir=$1 suite=$2 arch=${3:-$(dpkg --print-architecture)} src=${4:-}
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror
    mirror=$(apt_mirror) || return 1
    mkdir -p "$dir"/{lists/partial,archives/partial}
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
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
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
        apt_private "$dir" apt-get -q update > "$dir/update.log" 2>&1 || {
            cat "$dir/update.log" >&2
            return 1
        }
        touch "$dir/updated"
    fi
    rm -f "$dir/sources.list.new"
}

apt_private()
{
    local dir=$1
    shift
    APT_CONFIG=$dir/apt.conf "$@"
}

apt_private_extract()
{
    local dir=$1 root=$2 pkg deb
    shift 2
    mkdir -p "$dir/debs" "$root"
    (cd "$dir/debs" && APT_CONFIG=$dir/apt.conf apt-get -q download "$@") \
        > "$dir/download.log" 2>&1 || {
        cat "$dir/download.log" >&2
        return 1
    }
    for pkg in "$@"; do
        deb=$(ls -t "$dir/debs/${pkg%%[:=]*}"_*.deb | head -n 1)
        dpkg-deb -x "$deb" "$root" || return 1
    done
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
    local missing frontend sudo=
    missing=$(apt_missing "$@")
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing:" $missing
    # shellcheck disable=SC2086
    # sudo drops the environment, so the setting goes behind it.
    frontend="$sudo env DEBIAN_FRONTEND=noninteractive"
    $frontend apt-get -q install -y --no-install-recommends $missing \
        > /dev/null 2>&1 ||
    { $frontend apt-get -q update &&
      $frontend apt-get -q install -y --no-install-recommends $missing; }
}
