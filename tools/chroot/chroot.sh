#!/usr/bin/env bash
# Runs a command as root in a directory that contains a Debian release: chroot.sh DIRECTORY COMMAND...
# The working directory there is its copy of this project, /shardid. Mounts and processes are in namespaces of
# this command: invisible to others, and they end with the command. qemu-user-static runs programs of
# processors that this machine does not have.
set -euo pipefail

# A user namespace in which the emulator of another processor is registered, for it alone. All users are in it, with
# their own numbers. It lasts as long as this script and its successor, which hold the pipe.
make_users() {
    exec 9> >(exec unshare --user -- cat)
    users=$!
    until [[ $(readlink "/proc/$users/ns/user") != "$(readlink /proc/self/ns/user)" ]]; do sleep 0.01; done
    echo 0 0 4294967295 | tee "/proc/$users/uid_map" >"/proc/$users/gid_map"
}

if [[ $1 != --* ]]; then
    run=(--native)
    chroot "$1" /bin/true 2>/dev/null || { make_users; run=(--emulated nsenter --user --target "$users"); }
    exec "${run[@]:1}" unshare --mount --pid --fork --kill-child -- "$0" "${run[0]}" "$@"
fi
how=$1
folder=$2
shift 2

# The first process of a namespace receives only signals that it catches.
trap 'exit 130' INT
trap 'exit 143' TERM
mount -t proc proc "$folder/proc"
mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
if [[ $how == --emulated ]]; then
    mount -t binfmt_misc binfmt_misc "$folder/proc/sys/fs/binfmt_misc"
    for format in /usr/lib/binfmt.d/qemu-*.conf; do
        grep '^:' "$format" >"$folder/proc/sys/fs/binfmt_misc/register"
    done
fi
status=0
# No exec: bash must stay to reap the processes that killed servers leave.
# shellcheck disable=SC2016 # expanded inside
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" MIRROR="${MIRROR:-}" TEST="${TEST:-}" FULL="${FULL:-}" ROUNDS="${ROUNDS:-}" \
    ROWS="${ROWS:-}" SECONDS_EACH="${SECONDS_EACH:-}" PG="${PG:-}" \
    UPGRADE_FROM="${UPGRADE_FROM:-}" POSTGRESQL_VERSION="${POSTGRESQL_VERSION:-}" \
    PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-180}" PGCTLTIMEOUT="${PGCTLTIMEOUT:-60}" \
    PG_CONFIG="${PG_CONFIG:-pg_config}" ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    chroot "$folder" sh -c 'cd /shardid && exec "$@"' sh "$@" || status=$?
exit "$status"
