#!/usr/bin/env bash
# Generates an id with the files that tools/deb/image.sh has put into this directory: image_check.sh VERSION. If it has
# put them into /extensions/shardid, as CloudNativePG mounts an image, the server gets the settings of docs/install.md.
# To be run by chroot.sh.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh
options=()

no_compiler
if [[ -d /extensions/shardid ]]; then
    test -s "/extensions/shardid/licenses/postgresql-$1-shardid/copyright"
    test ! -e "/usr/share/postgresql/$1/extension/shardid.control"
    while read -r setting; do
        options+=(-o "$setting")
    done < <(tools/page_block.sh docs/install.md settings | sed "s/ = '\(.*\)'/=\1/")
fi
makes_id "$1" "${options[@]}"
