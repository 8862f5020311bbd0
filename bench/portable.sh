#!/usr/bin/env bash
# make bench-portable: the portable functions beside the recipe and the extension. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster <<'CONF'
jit = off
max_connections = 50
CONF
psql -X -q -v ON_ERROR_STOP=1 -f bench/setup.sql
python3 bench/portable.py --rounds "${ROUNDS:-5}" --seconds "${SECONDS_EACH:-2}" --out "$SANDBOX/out"
stop_cluster
