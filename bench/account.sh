#!/usr/bin/env bash
# make bench-account: the purposes of the instructions of one next_id, next to those of nextval. To be run
# by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster </dev/null
psql -X -q -v ON_ERROR_STOP=1 -f bench/setup.sql
stop_cluster
python3 bench/account.py --folder "$SANDBOX"
