#!/usr/bin/env bash
# pg_regress: the topics of sql/.
set -euo pipefail
# shellcheck source=t/suite/topics.sh
source t/suite/topics.sh
topics=$(named_topics sql/*.sql)
run_topics ISOLATION= ${topics:+REGRESS="$topics"}
