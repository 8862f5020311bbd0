#!/usr/bin/env bash
# make bench: a throwaway cluster with default durability, all contenders, one table and one chart; or what another
# program of bench/ measures of them: run.sh portable.py. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# No just-in-time compiler: it comes and goes with the number of rows, and would be measured too.
start_cluster <<'CONF'
jit = off
max_connections = 80
CONF
psql -X -q -v ON_ERROR_STOP=1 -f bench/setup.sql
python3 "bench/${1:-run.py}" --rounds "${ROUNDS:-5}" --seconds "${SECONDS_EACH:-3}" --out "$SANDBOX/out"
stop_cluster
