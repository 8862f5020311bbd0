#!/usr/bin/env bash
# make bench-copy: COPY with next_id, uuid_v1 and objectid, compared with the server's own functions, and how
# late waits end. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# The number, as the pages teach it: a setting.
export PGOPTIONS="${PGOPTIONS:--c shardid.shard_id=5}"

# Checkpoints occur only when copy_rows.py requests them, and leave enough WAL files for the next COPY.
start_cluster <<'CONF'
jit = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 8GB
min_wal_size = 1GB
CONF
python3 bench/copy_rows.py --rounds "${ROUNDS:-7}" --rows "${ROWS:-500000}" --out "$SANDBOX/out"
stop_cluster
