#!/usr/bin/env bash
# Unpacks PostgreSQL 15 of bookworm below /opt/old, next to a newer server, for tools/suite/upgrade.sh. To be run
# by chroot.sh, when the newer server is installed. Does nothing if it exists already.
set -euo pipefail
old=/opt/old
programs=$old/usr/lib/postgresql/15/bin
[[ ! -e $programs/complete ]] || exit 0

# Only missing libraries, so that the newer server keeps its own.
lacking_libraries() {
    ldd "$programs/postgres" "$programs/initdb" | sed -nE 's/^\s*(\S+) => not found.*/\1/p' | sort -u
}

# Debian names a library's package after its soname: libgnutls.so.30 is in libgnutls30, libldap-2.5.so.0
# in libldap-2.5-0. Two packages are exceptions.
lacking_packages() {
    lacking_libraries | sed -E '
        s/^libicu[a-z0-9]+\.so\./libicu/
        s/^libxml2\.so\.2$/libxml2/
        s/([0-9])\.so\./\1-/
        s/\.so\.//' | sort -u
}

# Libraries may need further ones; if a package does not contain the missing library, this ends.
unpack_libraries() {
    local packages before=
    while packages=$(lacking_packages) && [[ -n $packages && $packages != "$before" ]]; do
        # shellcheck disable=SC2086 # words
        tools/chroot/unpack-packages.sh "$old" bookworm $packages
        echo "$old"/usr/lib/*-linux-gnu* >/etc/ld.so.conf.d/zz-old.conf
        ldconfig
        before=$packages
    done
    [[ -z $packages ]] || { echo "lacking still: $packages" >&2; exit 1; }
}

tools/chroot/unpack-packages.sh "$old" bookworm postgresql-15 postgresql-client-15 postgresql-server-dev-15 \
    libpq-dev
unpack_libraries
touch "$programs/complete"
