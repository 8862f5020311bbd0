#!/usr/bin/env bash
# Runs a script of this tree in a throwaway copy of it, as an ordinary user, with the extension built
# and installed inside the copy: sandbox.sh SCRIPT [ARGUMENT...]. Nothing remains, except that
# $SANDBOX/out is copied to ./bench/out, or to the directory RESULTS, and the logs of tests that fail to ./failed.
#
# The script has: the copy as its working directory; SANDBOX, a short path for sockets and clusters;
# TEMP_CONFIG, settings by which a server finds the extension; PostgreSQL's programs in PATH.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

# initdb, pg_regress and PostgreSQL::Test::Cluster refuse to run as root.
ordinary_user() {
    if [[ $(id -u) != 0 ]]; then
        id -un
    elif id -u postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

as_ordinary_user() {
    if [[ $(id -u) == 0 ]]; then
        runuser -u "$user" -- "$@"
    else
        "$@"
    fi
}

# Every process of the script works in the sandbox, also a server that is starting. By QUIT a server removes its shared memory.
# shellcheck disable=SC2317,SC2329 # called by a trap
end_processes() {
    local attempt process processes
    cd "$top"
    for ((attempt = 0; attempt < 300; attempt++)); do
        mapfile -t processes < <(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$sandbox/*" 2>/dev/null | cut -d / -f 3)
        ((${#processes[@]} > 0)) || return 0
        for process in "${processes[@]}"; do
            case $(cat "/proc/$process/comm" 2>/dev/null) in
                postgres) kill -QUIT "$process" && kill -CONT "$process" ;;
                *) kill -KILL "$process" ;;
            esac 2>/dev/null || true
        done
        sleep 0.1
    done
}

# What libfaketime has shared between processes stays if they are killed. Of tests that run at the same time it is in use,
# also while none of their processes has it open: so only the last one removes it.
# A killed process may still be there as a zombie, which has no cwd.
# shellcheck disable=SC2317,SC2329 # called by a trap
remove_clocks() {
    local clock
    [[ -z $(find /tmp /dev/shm -maxdepth 1 -name 'shardid.??????') ]] || return 0
    while read -r clock; do
        [[ -e /proc/${clock##*_}/cwd ]] || rm -f "$clock"
    done < <(find /dev/shm -maxdepth 1 -user "$user" \( -name 'faketime_shm_*' -o -name 'sem.faketime_sem_*' \))
}

# shellcheck disable=SC2317,SC2329 # called by a trap
clean_up() {
    trap '' INT TERM
    end_processes
    # Segments of servers that a test killed, and perhaps did not start again; kill_node writes them.
    [[ ! -e $sandbox/segments ]] || xargs -n 1 ipcrm -m <"$sandbox/segments" 2>/dev/null || true
    rm -rf "$sandbox" || { sleep 1 && rm -rf "$sandbox"; }
    remove_clocks
}

# Whether /dev/shm allows programs, has eight gigabytes free, and no limit.
memory_has_room() {
    local needed=$((8 * 1024 * 1024)) limit=/sys/fs/cgroup/memory.max
    [[ $(stat -f -c %T /dev/shm 2>/dev/null) == tmpfs ]] &&
        ! findmnt -no OPTIONS -T /dev/shm | grep -qw noexec &&
        (($(df --output=avail /dev/shm | tail -n 1) > needed)) &&
        (($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) > needed)) &&
        [[ ! -e $limit || $(<"$limit") == max ]]
}

# IN_MEMORY=1 requests a sandbox in memory: the clusters of make test need two gigabytes at a time, and writing them to
# a disk took a third of the time of many tests. They run without fsync anyway.
new_sandbox() {
    local parent=/tmp
    [[ -z ${IN_MEMORY:-} || -n ${FULL:-} ]] || ! memory_has_room || parent=/dev/shm
    # One within another, whose end by a signal is its end, too.
    [[ ! -d ${SANDBOX:+$SANDBOX/tree} ]] || parent=$SANDBOX
    mktemp -d "$parent/shardid.XXXXXX"
}

# Within a sandbox, what that has built is built as here.
copy_tree() {
    local without=(--exclude='*.o' --exclude='*.bc' --exclude='*.so')
    mkdir "$sandbox/tree" "$sandbox/out" "$sandbox/tmp"
    [[ ! -d ${SANDBOX:+$SANDBOX/judge} ]] || { without=() && ln -s "$SANDBOX/judge" "$sandbox/judge"; }
    tar -C "$top" --exclude=./.git --exclude=./deb --exclude=./failed "${without[@]}" -cf - . | tar -C "$sandbox/tree" -xf -
    [[ $(id -u) != 0 ]] || chown -R "$user" "$sandbox"
}

# The server's own pg_config: Debian's is a script that searches for it in each call.
pg_config=$("${PG_CONFIG:-pg_config}" --bindir)/pg_config
user=$(ordinary_user)
sandbox=$(new_sandbox)
trap clean_up EXIT
# A second signal must not run exit within clean_up, which would end that.
trap 'trap : INT TERM; exit 130' INT
trap 'trap : INT TERM; exit 143' TERM
copy_tree
{
    PG_CONFIG=$pg_config "$top/tools/extension_config.sh" "$sandbox/inst"
    # Shared memory of a killed server is then deleted with its data.
    echo 'dynamic_shared_memory_type = mmap'
} >"$sandbox/temp.conf"
chmod a+r "$sandbox/temp.conf"

# Only these variables are passed on: PG* variables would lead the tests to another server.
clean_environment=(env -i
    HOME="$sandbox" TMPDIR="$sandbox/tmp" LANG=C.UTF-8 TERM="${TERM:-dumb}" CI="${CI:-}"
    PATH="$("$pg_config" --bindir):/usr/local/bin:/usr/bin:/bin" PG_CONFIG="$pg_config"
    SANDBOX="$sandbox" TEMP_CONFIG="$sandbox/temp.conf" MAKEFLAGS= PYTHONDONTWRITEBYTECODE=1
    ROUNDS="${ROUNDS:-}" ROWS="${ROWS:-}" SECONDS_EACH="${SECONDS_EACH:-}" TEST="${TEST:-}" FULL="${FULL:-}"
    UPGRADE_FROM="${UPGRADE_FROM:-}" SQLSMITH_SECONDS="${SQLSMITH_SECONDS:-}" SHARDID_SEED="${SHARDID_SEED:-}"
    PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-1800}" PGCTLTIMEOUT="${PGCTLTIMEOUT:-1800}"
    PG="${PG:-}" ASSERTIONS="${ASSERTIONS:-}" ASAN_OPTIONS="${ASAN_OPTIONS:-}" JEPSEN="${JEPSEN:-}")

# In the background, because bash runs a trap only when the command in the foreground has ended; with job control, because
# without it a command in the background ignores SIGINT.
in_sandbox() {
    set -m
    as_ordinary_user "${clean_environment[@]}" "$@" &
    set +m
    wait $!
}

# Bitcode is for JIT, and takes as long as the rest of the build.
quickly=with_llvm=no
[[ -z ${FULL:-} ]] || quickly=

cd "$sandbox/tree"
if ! in_sandbox \
    make -s -j "$(nproc)" install DESTDIR="$sandbox/inst" ${quickly:+"$quickly"} >"$sandbox/build.log" 2>&1; then
    cat "$sandbox/build.log" >&2
    exit 1
fi
status=0
# Killed servers leave orphans. In a container whose first process does not wait for them they would stay, as zombies that
# kill(2) takes for servers. QEMU cannot adopt them.
adopting=()
! tini -s -- true 2>/dev/null || adopting=(tini -s --)
in_sandbox "${adopting[@]}" "$@" || status=$?

rm -rf "$top/failed"
[[ ! -d $sandbox/failed ]] || { cp -r "$sandbox/failed" "$top/" && chown -R --reference="$top/tools" "$top/failed"; }
if [[ -n $(ls -A "$sandbox/out") ]]; then
    mkdir -p "${RESULTS:-$top/bench/out}"
    cp "$sandbox/out/"* "${RESULTS:-$top/bench/out}/"
    chown -R --reference="$top/bench" "${RESULTS:-$top/bench/out}"
fi
exit "$status"
