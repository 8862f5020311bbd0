#!/usr/bin/env bash
# Runs `make test` in a folder of each Debian release, on its PostgreSQL, with pg_upgrade from 15 to the
# newer ones; makes its packages and tries them, by tools/deb.sh, unless TEST names something; compiles against
# the headers of any other; ends with a line a server. Settings:
#   RELEASES="trixie"   only these (bookworm trixie sid experimental, which have 15, 17, 18 and 19)
#   SOURCE=1            on servers built from source as well, where their source is served: with assertions
#                       in each release, with ASan in bookworm
#   TEST, FULL          as for make test; FULL=1 runs make test-full
#   CACHE=FOLDER        keeps the releases there, so that the next run is fast; remove it to have newer ones
#   MIRROR=URL          where Debian packages come from; default: this machine's own mirror
# Needs root: debootstrap and chroot do.
# shellcheck disable=SC2317,SC2329 # functions are called by logged
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot/debian_folder.sh
source tools/chroot/debian_folder.sh
as_root RELEASES,SOURCE,TEST,FULL,ROUNDS tools/matrix.sh

releases=${RELEASES:-bookworm trixie sid experimental}
purposes=(build test ${FULL:+full source} ${SOURCE:+source})
# A program frees little when it ends; a library that a test preloads comes before ASan's.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:verify_asan_link_order=0
make_work

# Of the folder's own server, or of that whose pg_config is named; ? where there is none.
server_version() {
    tools/chroot/chroot.sh "$1" "${2:-pg_config}" --version 2>/dev/null | sed -E 's/^PostgreSQL ([^ ]+).*/\1/' || echo '?'
}

test_in() {
    local folder=$1 old=/opt/old/usr/lib/postgresql/15/bin/pg_config
    [[ -e $folder$old ]] || old=
    UPGRADE_FROM=$old tools/chroot/chroot.sh "$folder" make "test${FULL:+-full}"
}

test_built() {
    FULL='' PG_CONFIG=$2 tools/chroot/chroot.sh "$1" make test
}

status=0
lines=()
tested=()

# A line for the server that this was, and what its tests have counted since then.
report() {
    local server=$1 log=$2 since=$3 result
    result=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) || true
    lines+=("$server: ${result:-did not run to its end}, $(((SECONDS - since + 30) / 60)) min")
    sed -nE "s/^(ok|FAILED) +(pg_upgrade .*)/$server: \2: \1/p" "$log" >"$work/upgrades"
    mapfile -t -O "${#lines[@]}" lines <"$work/upgrades"
    # The table of the faults.
    sed -n '/^| /p' "$log"
}

run_release() {
    local release=$1 folder=$2 since=$SECONDS version
    echo "== $release"
    : >"$work/log"
    logged "$work/prepare.log" 40 prepare "$release" "$folder" "${purposes[@]}"
    if [[ $failed == 0 ]]; then
        logged "$work/log" +1 test_in "$folder"
    fi
    version=$(server_version "$folder")
    tested+=("${version%%.*}")
    report "PostgreSQL $version ($release)" "$work/log" "$since"
}

package_release() {
    echo "== packages for $1"
    logged "$work/log" 100 env RELEASES="$1" CACHE="$folders" tools/deb.sh
    mapfile -t -O "${#lines[@]}" lines < <(grep '^packages ' "$work/log")
}

# In a folder that run_release has prepared.
run_built() {
    local release=$1 folder=$2 how=$3 since=$SECONDS major=${version_in[$1]} prefix built=0
    local server="PostgreSQL $major ($release, from source, $how)"
    prefix=/opt/pgsql-$major-$how
    echo "== $release, from source, $how"
    tools/chroot/chroot.sh "$folder" tools/chroot/build-source.sh "$how" "$major" "$prefix" >"$work/log" 2>&1 </dev/null || built=$?
    if [[ $built == 3 ]]; then
        lines+=("$server: skipped, $(tail -n 1 "$work/log")")
        return
    elif [[ $built != 0 ]]; then
        tail -n 40 "$work/log"
        status=1
    else
        logged "$work/log" +1 test_built "$folder" "$prefix/bin/pg_config"
        server=${server/$major/$(server_version "$folder" "$prefix/bin/pg_config")}
    fi
    report "$server" "$work/log" "$since"
}

for release in $releases; do
    folder=$folders/$release
    run_release "$release" "$folder"
    [[ -n ${TEST:-} ]] || package_release "$release"
    [[ -n ${SOURCE:-} ]] || continue
    run_built "$release" "$folder" assertions
    [[ $release != bookworm ]] || run_built "$release" "$folder" asan
done

if [[ -e $folder/shardid/tools ]]; then
    echo '== other versions: headers only'
    logged "$work/log" +1 tools/chroot/chroot.sh "$folder" tools/chroot/compile-only.sh "${tested[@]}"
    mapfile -t -O "${#lines[@]}" lines < <(grep '^PostgreSQL ' "$work/log")
fi

echo
printf '%s\n' "${lines[@]}"
exit "$status"
