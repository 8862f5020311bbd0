#!/usr/bin/env bash
# Runs benchmarks, each in a sandbox of its own: bench.sh SCRIPT... on the server of pg_config. Settings:
#   PG_CONFIG=FILE   on this installed server
#   PG=18            on the server of the Debian release that has it, in a directory as of make matrix;
#                    needs root or sudo, for debootstrap and chroot
#   CACHE, MIRROR    as for tools/matrix.sh
# Results go to bench/results. If the major version is not this machine's own, their names contain it.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot/debian_folder.sh
source tools/chroot/debian_folder.sh

release_with() {
    local release
    for release in "${!version_in[@]}"; do
        [[ ${version_in[$release]} != "$1" ]] || echo "$release"
    done
}

major_version() {
    "$1" --version 2>/dev/null | sed -E 's/^PostgreSQL ([0-9]+).*/\1/' || true
}

# Copies results from a directory: bench.md becomes bench-18.md.
keep_results() {
    local folder=$1 suffix=$2 file name
    mkdir -p bench/results
    for file in "$folder"/*; do
        [[ -f $file ]] || continue
        name=${file##*/}
        name=bench/results/${name%.*}$suffix.${name##*.}
        cp "$file" "$name"
        # If sudo was needed: not owned by root.
        chown --reference=bench "$name"
    done
}

suffix_of() {
    [[ $1 == "$(major_version pg_config)" ]] || echo "-$1"
}

run_here() {
    local script status=0
    tools/install-packages.sh build bench
    results=$(mktemp -d)
    trap 'rm -rf "$results"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    for script in "$@"; do
        RESULTS=$results tools/sandbox.sh "$script" || status=$?
    done
    keep_results "$results" "$(suffix_of "$(major_version "${PG_CONFIG:-pg_config}")")"
    return "$status"
}

run_in_folder() {
    local release folder script status=0
    release=$(release_with "$PG")
    [[ -n $release ]] || { echo "no release in tools/chroot/debian_folder.sh has PostgreSQL $PG" >&2; return 1; }
    tools/install-packages.sh matrix
    make_work
    folder=$folders/$release
    if ! prepare "$release" "$folder" build bench >"$work/prepare.log" 2>&1 </dev/null; then
        cat "$work/prepare.log" >&2
        return 1
    fi
    rm -rf "$folder/shardid/bench/results" # this machine's
    for script in "$@"; do
        PG_CONFIG='' tools/chroot/chroot.sh "$folder" tools/sandbox.sh "$script" || status=$?
    done
    keep_results "$folder/shardid/bench/results" "$(suffix_of "$PG")"
    return "$status"
}

if [[ -z ${PG:-} ]]; then
    run_here "$@"
else
    as_root PG,ROUNDS,ROWS,SECONDS_EACH tools/bench.sh "$@"
    run_in_folder "$@"
fi
