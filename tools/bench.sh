#!/usr/bin/env bash
# Runs programs of bench/, each in a sandbox of its own: bench.sh calls portable. Results go to bench/out. Settings:
#   PG_CONFIG=FILE   on this installed server
#   PG=18            on the server of the Debian release that has it, in a directory as of make matrix;
#                    needs root or sudo, for debootstrap and chroot
#   CACHE, MIRROR    as for tools/matrix.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot.sh
source tools/chroot.sh

run_here() {
    local name
    tools/install-packages.sh build bench
    for name in "$@"; do
        tools/sandbox.sh bench/run.sh "$name"
    done
}

run_in_folder() {
    local release folder name
    for release in "${!version_in[@]}"; do
        [[ ${version_in[$release]} != "$PG" ]] || break
        release=
    done
    [[ -n $release ]] || { echo "no release in tools/chroot.sh has PostgreSQL $PG" >&2; return 1; }
    tools/install-packages.sh matrix
    make_work
    folder=$folders/$release
    if ! prepare "$release" "$folder" build bench >"$work/prepare.log" 2>&1 </dev/null; then
        cat "$work/prepare.log" >&2
        return 1
    fi
    for name in "$@"; do
        PG_CONFIG='' tools/chroot.sh in_folder "$folder" tools/sandbox.sh bench/run.sh "$name"
        mkdir -p bench/out
        cp "$folder"/shardid/bench/out/"$name".* bench/out/
        # If sudo was needed: not owned by root.
        chown -R --reference=bench bench/out
    done
}

if [[ -z ${PG:-} ]]; then
    run_here "$@"
else
    as_root PG,ROUNDS,SECONDS_EACH tools/bench.sh "$@"
    run_in_folder "$@"
fi
