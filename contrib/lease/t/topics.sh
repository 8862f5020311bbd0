#!/usr/bin/env bash
# pg_regress and pg_isolation_regress: the topics of contrib/lease/sql and contrib/lease/specs.
set -euo pipefail
# shellcheck source=t/suite/topics.sh
source t/suite/topics.sh
house=contrib/lease
run_house
