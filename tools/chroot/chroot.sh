#!/usr/bin/env bash
# Runs a command as root in a folder that holds a Debian release: chroot.sh FOLDER COMMAND...
# The folder's tree of this project, /shardid, is the working folder there. Mounts and processes live in
# namespaces of this command's own: nobody else sees them, and with the command they are gone.
set -euo pipefail

if [[ $1 != --inside ]]; then
    exec unshare --mount --pid --fork --kill-child -- "$0" --inside "$@"
fi
folder=$2
shift 2

# The first process of a namespace gets no signal that it does not catch.
trap 'exit 130' INT
trap 'exit 143' TERM
mount -t proc proc "$folder/proc"
mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
status=0
# No exec: bash has to stay and wait for what killed servers leave behind.
# shellcheck disable=SC2016 # expanded inside
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" MIRROR="${MIRROR:-}" TEST="${TEST:-}" FULL="${FULL:-}" ROUNDS="${ROUNDS:-}" \
    ROWS="${ROWS:-}" SECONDS_EACH="${SECONDS_EACH:-}" PG="${PG:-}" \
    UPGRADE_FROM="${UPGRADE_FROM:-}" POSTGRESQL_VERSION="${POSTGRESQL_VERSION:-}" \
    PG_CONFIG="${PG_CONFIG:-pg_config}" ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    chroot "$folder" sh -c 'cd /shardid && exec "$@"' sh "$@" || status=$?
exit "$status"
