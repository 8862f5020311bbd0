#!/usr/bin/env bash
# Runs the Dockerfile on standard input, in directories with Debian and a PostgreSQL instead of images: image.sh
# VERSION BUILD-DIRECTORY FINAL-DIRECTORY. It knows the instructions that docs/install.md uses.
set -euo pipefail
# shellcheck source=tools/chroot.sh
source tools/chroot.sh
version=$1 build=$2 final=$3
stage=$final

while read -r instruction rest; do
    case "$instruction $rest" in
        ' ') ;;
        'FROM postgres:'*' AS build') stage=$build ;;
        'FROM postgres:'*) stage=$final ;;
        'COPY . /shardid') copy_tree "$stage" ;;
        'COPY --from=build '*)
            read -r _ from to <<<"$rest"
            mkdir -p "$stage$to"
            cp -a "$build$from." "$stage$to"
            ;;
        'RUN '*) tools/chroot.sh in_folder "$stage" env PG_MAJOR="$version" sh -c "$rest" </dev/null ;;
        *) echo "what is $instruction $rest?" >&2; exit 1 ;;
    esac
done
