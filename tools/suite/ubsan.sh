#!/usr/bin/env bash
# pg_regress and, with FULL, every call with every boundary, with the extension built under UBSan and with
# PostgreSQL's assertions on: those in its headers, as the server has none. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/suite/server_logs.sh
source tools/suite/server_logs.sh
# shellcheck source=tools/suite/variant.sh
source tools/suite/variant.sh
folder=$SANDBOX/ubsan

# A session that meets undefined behaviour says so in the server's log, which $1 names, and ends.
runs_clean() {
    local logs=$1 status=0
    shift
    "$@" >"$folder/output" 2>&1 || status=$?
    [[ $status == 0 ]] || cat "$folder/output"
    # shellcheck disable=SC2086 # a pattern
    no_crash '' $logs || status=1
    return "$status"
}

build_variant "$folder" '-O1 -g -fsanitize=undefined -fno-sanitize-recover=undefined -DUSE_ASSERT_CHECKING' \
    SHLIB_LINK=-lubsan
cd "$folder/tree"
runs_clean log/postmaster.log make -s installcheck ISOLATION= \
    EXTRA_REGRESS_OPTS="--temp-instance=$folder/ti --temp-config=$folder/temp.conf" ||
    { cat regression.diffs; exit 1; }
# make test makes these calls without UBSan.
[[ -n ${FULL:-} ]] || exit 0
runs_clean 'tmp_check/log/*' env -u SANDBOX TEMP_CONFIG="$folder/temp.conf" \
    make -s installcheck REGRESS= REGRESS_OPTS= ISOLATION= TAP_TESTS=1 PROVE_TESTS=t/generator/every_call.pl
