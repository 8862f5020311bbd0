#!/usr/bin/env bash
# make bench-index: what a primary key costs that is an id, a value of nextval or a UUID of version 4 or 7.
# To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# Nothing but the inserts themselves writes: checkpoints come only where index.py asks for them.
start_cluster <<'CONF'
jit = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 32GB
CONF
python3 bench/index.py --rounds "${ROUNDS:-3}" --rows "${ROWS:-5000000}" --out "$SANDBOX/out"
stop_cluster
