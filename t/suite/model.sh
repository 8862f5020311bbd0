#!/usr/bin/env bash
# spin searches every state of some models, with all rules and without one; with TEST or FULL, of all models.
set -euo pipefail
few=('*')
[[ -z ${FULL:-}${TEST:-} ]] || few=()
proof/model/run.sh "${few[@]}"
