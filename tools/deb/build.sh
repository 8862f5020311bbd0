#!/usr/bin/env bash
# Builds the package for a PostgreSQL version from the zip of make dist, into /packages, and runs lintian:
# build.sh VERSION. To be run by chroot.sh in a directory that contains only a Debian release; the packages that
# the build needs are installed here.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh
export PG_SUPPORTED_VERSIONS=$1 DEBIAN_FRONTEND=noninteractive

install() {
    apt-get install -y -q --no-install-recommends "$@"
}

# The packages of packaging/debian/control.in, and those of a version that is not the release's own.
install_needs() {
    apt-get update -q
    without_cluster
    install build-essential lintian python3 unzip xz-utils
    install "postgresql-$PG_SUPPORTED_VERSIONS" "postgresql-server-dev-$PG_SUPPORTED_VERSIONS"
    apt-get satisfy -y -q --no-install-recommends \
        "$(sed -nE 's/ <!nocheck>//; s/^Build-Depends: //p' packaging/debian/control.in)"
}

# The upstream source is the zip; packaging/debian becomes the debian/ that is added to it.
unpack_source() {
    local version
    version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
    rm -rf /build
    mkdir /build
    packaging/release/dist.py /build
    (cd /build && unzip -q ./*.zip && rm ./*.zip)
    source=/build/shardid-${version%-*}
    tar -C /build --sort=name --owner=0 --group=0 --numeric-owner \
        -cJf "/build/shardid_${version%-*}.orig.tar.xz" "${source##*/}"
}

install_needs
unpack_source
id builder >/dev/null 2>&1 || useradd -m builder
chown -R builder /build
cd "$source"
as_builder=(runuser -u builder -- env HOME=/home/builder)
"${as_builder[@]}" bash -ec "$(/shardid/tools/page_block.sh docs/install.md own_packages)"
"${as_builder[@]}" dpkg-buildpackage --build=source --no-sign
cd ..
for changes in *.changes; do
    "${as_builder[@]}" lintian --info --fail-on error,warning "$changes"
done
rm -rf /packages
mkdir /packages
cp ./*.deb ./*.dsc ./*.tar.* ./*.changes ./*.buildinfo /packages/
