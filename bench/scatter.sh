#!/usr/bin/env bash
# make bench-scatter: how evenly scattered ids spread over partitions, and the cost of scattering and short
# text. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster <<'CONF'
jit = off
CONF
psql -X -q -v ON_ERROR_STOP=1 -f bench/scatter.sql
python3 bench/scatter.py --rounds "${ROUNDS:-5}" --out "$SANDBOX/out"
stop_cluster
