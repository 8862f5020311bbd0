#!/usr/bin/env bash
# Runs the tests in directories with a Debian release each, and ends with a line for each. Settings:
#   RELEASES="trixie"    make test on its PostgreSQL, with pg_upgrade from 15 to the newer ones, and its packages unless
#                        TEST names something (bookworm trixie sid experimental, which have 15, 17, 18 and 19)
#   SOURCE=1             also on servers built from source, where it is served: with assertions, in bookworm with ASan
#   PLATFORMS="i386"     instead, these ports of Debian's latest release but one, or of trixie for riscv64, by the
#                        processor itself where it can, else by qemu-user-static, which Linux registers for one command
#                        alone from 6.7 on (make platforms: i386 s390x arm64 riscv64 ppc64el)
#   TEST, FULL           as for make test
#   CACHE=DIRECTORY      keeps the releases there, so that the next run is fast; remove it to have newer ones
#   MIRROR=URL           where Debian packages come from; default: this machine's own mirror
# Needs root: debootstrap and chroot do.
# shellcheck disable=SC2317,SC2329 # functions are called by logged
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot.sh
source tools/chroot.sh
as_root RELEASES,PLATFORMS,SOURCE,TEST,FULL,ROUNDS tools/matrix.sh
make_work
# A program frees little when it ends; a library that a test preloads comes before ASan's.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:verify_asan_link_order=0
status=0
lines=()

# try NAME COMMAND...: a line for what the tests have counted.
try() {
    local name=$1 since=$SECONDS before=$status result
    shift
    echo "== $name"
    logged "$work/log" 200 "$@"
    if [[ $failed == 3 ]]; then
        status=$before
        lines+=("$name: skipped, $(tail -n 1 "$work/log")")
    else
        result=$(grep -E '^([0-9]+ passed, [0-9]+ failed|packages .*)$' "$work/log" | tail -n 1) || result='did not run to its end'
        lines+=("$name: $result, $(((SECONDS - since + 30) / 60)) min")
    fi
    # The table of the faults, and what was skipped.
    grep -E '^(\| |skipped)' "$work/log" || true
}

test_release() {
    local folder=$folders/$1 old=/opt/old/usr/lib/postgresql/15/bin/pg_config
    prepare "$1" "$folder" build quick test ${FULL:+full source} ${SOURCE:+source}
    [[ -e $folder$old ]] || old=
    UPGRADE_FROM=$old tools/chroot.sh in_folder "$folder" make "test${FULL:+-full}"
}

test_built() {
    local release=$1 how=$2 prefix=/opt/pgsql-${version_in[$1]}-$2
    tools/chroot.sh in_folder "$folders/$release" tools/chroot.sh build_source "$how" "${version_in[$release]}" "$prefix"
    FULL='' PG_CONFIG=$prefix/bin/pg_config tools/chroot.sh in_folder "$folders/$release" make test
}

# Emulated, a server is some twenty times slower.
test_port() {
    local release=bookworm
    [[ $1 != riscv64 ]] || release=trixie
    export TEST=${TEST:-regress isolation t/crash/kill.pl t/crash/altered.pl} PG_TEST_TIMEOUT_DEFAULT=3600 PGCTLTIMEOUT=3600
    DEBIAN_PORT=$1 prepare "$release" "$folders/$release-$1" build platform
    tools/chroot.sh in_folder "$folders/$release-$1" env IN_MEMORY=1 tools/sandbox.sh tools/test.sh
}

releases=${RELEASES:-bookworm trixie sid experimental}
[[ -z ${PLATFORMS:-} ]] || releases=
for port in ${PLATFORMS:-}; do
    try "$port" test_port "$port"
done
for release in $releases; do
    name="PostgreSQL ${version_in[$release]} ($release)"
    try "$name" test_release "$release"
    [[ -n ${TEST:-} ]] || try "packages for $name" env RELEASES="$release" CACHE="$folders" tools/deb.sh
    [[ -z ${SOURCE:-} ]] || try "$name, with assertions" test_built "$release" assertions
    [[ -z ${SOURCE:-} || $release != bookworm ]] || try "$name, with ASan" test_built "$release" asan
done

echo
printf '%s\n' "${lines[@]}"
exit "$status"
