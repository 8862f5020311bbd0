#!/usr/bin/env bash
# Unpacks packages of other Debian releases below a directory, next to what is installed:
# unpack-packages.sh DIRECTORY "RELEASE..." PACKAGE... MIRROR is the archive,
# DEBIAN_PORT a port of Debian, if not this machine's.
# Ends with 3 if these releases have no such package.
set -euo pipefail
folder=$1
releases=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/packages" "$folder"
for release in $releases; do
    echo "deb $MIRROR $release main"
done >"$work/sources.list"
: >"$work/status"    # as if nothing were installed: of a newer version apt would take no older one
apt=(-q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::status="$work/status"
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any
    ${DEBIAN_PORT:+-o APT::Architecture="$DEBIAN_PORT" -o APT::Architectures="$DEBIAN_PORT"})

apt-get "${apt[@]}" update
apt-cache "${apt[@]}" show "$@" >/dev/null || exit 3
cd "$work/packages"
apt-get "${apt[@]}" download "$@"
for package in *.deb; do
    dpkg-deb -x "$package" "$folder"
done
