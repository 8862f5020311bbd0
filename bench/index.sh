#!/usr/bin/env bash
# make bench-index: the cost of a primary key of ids, values of nextval, or UUIDs of version 4 or 7. To be
# run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# The number, as the pages teach it: a setting.
export PGOPTIONS="${PGOPTIONS:--c shardid.shard_id=5}"

# Only the inserts write: checkpoints occur only when index.py requests them.
start_cluster <<'CONF'
jit = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 32GB
CONF
python3 bench/index.py --rounds "${ROUNDS:-3}" --rows "${ROWS:-5000000}" --out "$SANDBOX/out"
stop_cluster
