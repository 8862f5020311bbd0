#!/usr/bin/env bash
# Makes a repository of these packages for apt in a directory that contains a Debian release:
# repository.sh DIRECTORY PACKAGE...
set -euo pipefail
folder=$1
shift
mkdir -p "$folder/packages"
cp "$@" "$folder/packages/"
for package in "$@"; do
    dpkg-deb -f "$package"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "${package##*/}" "$(stat -c %s "$package")" "$(sha256sum <"$package" | cut -d ' ' -f 1)"
done >"$folder/packages/Packages"
echo 'deb [trusted=yes] file:/packages ./' >"$folder/etc/apt/sources.list.d/packages.list"
