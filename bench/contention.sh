#!/usr/bin/env bash
# make bench-contention: sessions that draw from one generator at once. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster <<'CONF'
jit = off
max_connections = 100
CONF
python3 bench/contention.py --rounds "${ROUNDS:-3}" --seconds "${SECONDS_EACH:-2}" --out "$SANDBOX/out"
stop_cluster
