#!/usr/bin/env bash
# pg_regress: the topics of contrib/readers/sql.
set -euo pipefail
# shellcheck source=t/suite/topics.sh
source t/suite/topics.sh
house=contrib/readers
run_house
