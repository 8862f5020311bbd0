#!/usr/bin/env bash
# make bench-copy: COPY by next_id, uuid_v1 and objectid beside the server's own, and how late waits end.
# To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# Checkpoints come only where copy_rows.py asks for them, and leave WAL files enough for the next COPY.
start_cluster <<'CONF'
jit = off
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 8GB
min_wal_size = 1GB
CONF
python3 bench/copy_rows.py --rounds "${ROUNDS:-7}" --rows "${ROWS:-500000}" --out "$SANDBOX/out"
stop_cluster
