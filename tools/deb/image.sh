#!/usr/bin/env bash
# Runs the Dockerfile on standard input, in directories with Debian and a PostgreSQL instead of images: image.sh
# VERSION BUILD-DIRECTORY FINAL-DIRECTORY. It knows the instructions that docs/install.md and packaging/cnpg use.
# EXT_VERSION is an argument of the latter.
set -euo pipefail
# shellcheck source=tools/chroot.sh
source tools/chroot.sh
version=$1 build=$2 final=$3
stage=$final

# Of a directory, COPY copies the contents.
copy() {
    local from=$build$1 to=$2 path
    mkdir -p "$to"
    # shellcheck disable=SC2086 # a pattern
    for path in $from; do
        [[ ! -d $path ]] || path+=/.
        cp -a "$path" "$to"
    done
}

while read -r instruction rest; do
    case "$instruction $rest" in
        ' ' | 'ARG '* | 'USER '*) ;;
        'FROM '*' AS build' | 'FROM '*' AS builder') stage=$build ;;
        'FROM postgres:'* | 'FROM scratch') stage=$final ;;
        'COPY . /shardid') copy_tree "$stage" ;;
        'COPY --from=build'*)
            read -r _ from to <<<"${rest//\$\{PG_MAJOR\}/$version}"
            copy "$from" "$stage$to"
            ;;
        'RUN '*)
            tools/chroot.sh in_folder "$stage" env PG_MAJOR="$version" EXT_VERSION="${EXT_VERSION:-}" sh -c "$rest" </dev/null
            ;;
        *) echo "what is $instruction $rest?" >&2; exit 1 ;;
    esac
done
