#!/usr/bin/env bash
# make bench: a throwaway cluster with default durability, all contenders, one table and one chart; or another program
# of bench/ with these contenders: run.sh portable.py. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

# The number, as the pages teach it: a setting.
export PGOPTIONS="${PGOPTIONS:--c shardid.shard_id=5}"

# No just-in-time compiler: whether it is used depends on the number of rows, and it would be measured too.
start_cluster <<'CONF'
jit = off
max_connections = 80
CONF
psql -X -q -v ON_ERROR_STOP=1 -f bench/setup.sql
python3 "bench/${1:-run.py}" --rounds "${ROUNDS:-5}" --seconds "${SECONDS_EACH:-3}" --out "$SANDBOX/out"
stop_cluster
