#!/usr/bin/env bash
# Runs one program of bench/ on a throwaway cluster: run.sh calls. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# No just-in-time compiler: whether it is used depends on the number of rows, and it would be measured too. Checkpoints
# occur only when a program requests them.
start_cluster <<CONF
jit = off
autovacuum = off
max_connections = 100
checkpoint_timeout = 1h
max_wal_size = 8GB
min_wal_size = 1GB
$([[ $1 != portable ]] || echo 'synchronous_commit = off')
CONF
"bench/$1.py" ${ROUNDS:+--rounds "$ROUNDS"} ${SECONDS_EACH:+--seconds "$SECONDS_EACH"} --out "$SANDBOX/out"
[[ $1 == instructions ]] || stop_cluster # that program has stopped it
