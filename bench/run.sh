#!/usr/bin/env bash
# Runs one program of bench/ on a throwaway cluster: run.sh calls. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# No just-in-time compiler: whether it is used depends on the number of rows, and it would be measured too. Checkpoints
# occur only when a program requests them. Instructions are counted in a server of its own defaults: what its last
# checkpoint does depends on the WAL that is kept.
settings() {
    [[ $1 != instructions ]] || return 0
    if [[ $1 == soak ]]; then
        printf '%s\n' 'max_worker_processes = 16' 'checkpoint_timeout = 1min' 'log_checkpoints = off'
        return
    fi
    cat <<CONF
jit = off
autovacuum = off
max_connections = 100
checkpoint_timeout = 1h
max_wal_size = 8GB
min_wal_size = 1GB
$([[ $1 != portable && $1 != cores ]] || echo 'synchronous_commit = off')
$([[ $1 != cores ]] || echo "max_connections = $((4 * $(nproc) + 20))")
$([[ $1 != new_rows ]] || printf '%s\n' 'max_connections = 120' 'wal_level = logical' 'track_commit_timestamp = on')
CONF
}

start_cluster < <(settings "$1")
"bench/$1.py" ${ROUNDS:+--rounds "$ROUNDS"} ${SECONDS_EACH:+--seconds "$SECONDS_EACH"} --out "$SANDBOX/out"
[[ $1 == instructions ]] || stop_cluster # that program has stopped it
