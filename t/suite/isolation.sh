#!/usr/bin/env bash
# pg_isolation_regress: the specs of specs/.
set -euo pipefail
# shellcheck source=t/suite/topics.sh
source t/suite/topics.sh
topics=$(named_topics specs/*.spec)
run_topics REGRESS= ${topics:+ISOLATION="$topics"}
