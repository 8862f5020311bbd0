#!/usr/bin/env bash
# Tries the library on other processors, by Debian's ports to them, and ends with a line a port. On i386, s390x, arm64,
# riscv64 and ppc64el pg_regress, the isolation tests and crashes under load are run, in a folder of bookworm, or of trixie
# for riscv64: by the processor itself where it can, else by qemu-user-static, which Linux registers for one command alone
# from 6.7 on. For armel, armhf, mips64el and mipsel the library is compiled. Settings:
#   PLATFORMS="i386"        only these
#   TEST="regress"          only this, see tools/test.sh
#   CACHE, MIRROR           as for make matrix
# Needs root: debootstrap and chroot do.
# shellcheck disable=SC2317,SC2329 # functions are called by logged
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot/debian_folder.sh
source tools/chroot/debian_folder.sh
as_root PLATFORMS,TEST tools/platforms.sh
make_work
export TEST=${TEST:-regress isolation t/crash/kill.pl t/crash/altered.pl}
# Emulated, a server is some twenty times slower.
export PG_TEST_TIMEOUT_DEFAULT=3600 PGCTLTIMEOUT=3600

# The oldest that has the port.
release_of() {
    if [[ $1 == riscv64 ]]; then echo trixie; else echo bookworm; fi
}

run_on() {
    local port=$1 release
    release=$(release_of "$port")
    DEBIAN_PORT=$port prepare "$release" "$folders/$release-$port" build platform
    tools/chroot/chroot.sh "$folders/$release-$port" env IN_MEMORY=1 tools/sandbox.sh tools/test.sh
}

compile_for() {
    local port=$1 headers=$work/$1 version=${version_in[bookworm]} compiler source
    compiler=$(dpkg-architecture -a "$port" -q DEB_HOST_GNU_TYPE)-g++
    DEBIAN_PORT=$port tools/chroot/unpack-packages.sh "$headers" bookworm "postgresql-server-dev-$version" libpq-dev
    for source in src/*.cpp src/*/*.cpp; do
        "$compiler" -std=c++20 -O2 -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wall -Wextra -Werror -Isrc \
            -isystem "$headers/usr/include/postgresql/$version/server" -isystem "$headers/usr/include/postgresql" \
            -c "$source" -o "$work/object"
    done
}

status=0
lines=()
for port in ${PLATFORMS:-i386 s390x arm64 riscv64 ppc64el armel armhf mips64el mipsel}; do
    since=$SECONDS
    echo "== $port"
    case $port in
    i386 | s390x | arm64 | riscv64 | ppc64el)
        logged "$work/log" 100 run_on "$port"
        result=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$work/log") || result='did not run to its end'
        ;;
    *)
        logged "$work/log" 100 compile_for "$port"
        result='compiles, not run'
        [[ $failed == 0 ]] || result='does NOT compile'
        ;;
    esac
    # The table of the faults, and what was not run.
    grep -E '^(\| | *skipped)' "$work/log" || true
    lines+=("$port: $result, $(((SECONDS - since + 30) / 60)) min")
done

echo
printf '%s\n' "${lines[@]}"
exit "$status"
