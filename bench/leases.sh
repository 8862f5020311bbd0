#!/usr/bin/env bash
# make bench-leases: the cost of a renewal, on a registry with 10,000 leases and on a member. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster </dev/null
python3 bench/leases.py --rounds "${ROUNDS:-3}" --seconds "${SECONDS_EACH:-5}" --out "$SANDBOX/out"
stop_cluster
