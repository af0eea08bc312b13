# SPDX-License-Identifier: GPL-2.0-or-later
#
# libgcrypt of Debian 13 as a static library, for machines whose own is older than
# 1.11: that one has SM4-GCM in one pass and by GFNI, which takes half as long.  It
# stands on a libgpg-error that is newer than theirs as well.  apt-private.sh is read
# before this.
#
#   gcrypt_is_old
#       The machine's libgcrypt is older than that, or there is none.
#   gcrypt_is_built DIR
#   gcrypt_build DIR APT JOBS
#       Fetch both by the private apt in APT, and compile them into DIR/usr, whose
#       lib/pkgconfig is for meson.

gcrypt_is_old()
{
    ! pkg-config --atleast-version=1.11 libgcrypt
}

gcrypt_is_built()
{
    [ -e "$1/.done" ]
}

# gcrypt_part DIR APT JOBS PACKAGE CONFIGURE-OPTION...
gcrypt_part()
{
    local dir=$1 apt=$2 jobs=$3 package=$4 log=$1/$4.log cc=gcc
    shift 4
    if command -v ccache > /dev/null; then cc="ccache gcc"; fi
    apt_private_source "$apt" "$dir/$package" "$package" || return 1
    (
        cd "$dir/$package" &&
        ./configure "CC=$cc" "--prefix=$dir/usr" --disable-shared \
            --enable-static --with-pic --disable-doc "$@" &&
        make -s -j "$jobs" &&
        make -s install
    ) > "$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
    rm -rf "${dir:?}/$package"
}

gcrypt_build()
{
    local dir=$1
    rm -rf "$dir"
    mkdir -p "$dir"
    gcrypt_part "$@" libgpg-error --disable-nls --disable-languages \
        --disable-tests &&
    gcrypt_part "$@" libgcrypt20 "--with-libgpg-error-prefix=$dir/usr" &&
    # A static library brings nothing along.
    sed -i 's/^Requires\.private:/Requires:/' \
        "$dir/usr/lib/pkgconfig/libgcrypt.pc" &&
    touch "$dir/.done"
}
