#!/usr/bin/env bash
# Compiles the sources against the headers of each PostgreSQL from 15 on in Debian's archive, except the given major
# versions, and prints a line for each: compile-only.sh 15 17 18. To be run by chroot.sh.
set -euo pipefail
suites='bookworm trixie sid experimental'
headers=$(mktemp -d)
trap 'rm -rf "$headers"' EXIT

# The newest major version that src/compat.h accepts.
newest_supported() {
    sed -nE 's/^#if .*PG_VERSION_NUM >= ([0-9]+)0000$/\1/p' src/compat.h | head -n 1 | awk '{ print $1 - 1 }'
}

compile() {
    local version=$1 source
    for source in src/*.cpp src/*/*.cpp; do
        g++ -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wall -Wextra -Werror -fsyntax-only -Isrc \
            -isystem "$headers/usr/include/postgresql/$version/server" -isystem "$(pg_config --includedir)" "$source" || return 1
    done
}

newest=$(newest_supported)
status=0
# One above the newest, to find problems of the next version early.
for ((version = 15; version <= newest + 1; version++)); do
    [[ " $* " != *" $version "* ]] || continue
    name="PostgreSQL $version"
    unpacked=0
    tools/chroot/unpack-packages.sh "$headers" "$suites" "postgresql-server-dev-$version" || unpacked=$?
    case $unpacked in
        0) ;;
        3)
            echo "$name: no headers in Debian ($suites): not compiled"
            continue
            ;;
        *)
            echo "$name: its headers could not be fetched"
            status=1
            continue
            ;;
    esac
    name="PostgreSQL $(sed -nE 's/^#define PG_VERSION "(.*)"$/\1/p' \
        "$headers/usr/include/postgresql/$version/server/pg_config.h")"
    if compile "$version" 2>"$headers/errors"; then
        echo "$name: compiles, not run"
    elif ((version > newest)); then
        echo "$name: not supported yet: $(grep -m 1 -oE 'error: .*' "$headers/errors")"
    else
        cat "$headers/errors"
        echo "$name: does NOT compile"
        status=1
    fi
done
exit "$status"
