#!/usr/bin/env bash
# pg_regress, isolation, two loads and, with FULL, every call with every boundary, with the extension built with UBSan
# and assertions: its own and those in PostgreSQL's headers. The server itself has none, but has the function that
# reports a failed one. To be run by sandbox.sh, with the judge's programs.
set -euo pipefail
# shellcheck source=tools/suite/server_logs.sh
source tools/suite/server_logs.sh
# shellcheck source=tools/suite/variant.sh
source tools/suite/variant.sh
folder=$SANDBOX/ubsan

# A session with undefined behaviour reports it in the server's log, which $1 names, and ends.
runs_clean() {
    local logs=$1 status=0
    shift
    "$@" >"$folder/output" 2>&1 || status=$?
    [[ $status == 0 ]] || cat "$folder/output"
    # shellcheck disable=SC2086 # a pattern
    no_crash '' $logs || status=1
    return "$status"
}

build_variant "$folder" '-O1 -fsanitize=undefined -fno-sanitize-recover=undefined -DUSE_ASSERT_CHECKING' \
    SHLIB_LINK=-lubsan
nm -D -u "$(find "$folder/inst" -name shardid.so)" | grep ' ExceptionalCondition$' >/dev/null
ln -s "$SANDBOX/judge" "$folder/judge"
cd "$folder/tree"
runs_clean 'log/postmaster.log output_iso/log/postmaster.log' make -s installcheck \
    EXTRA_REGRESS_OPTS="--temp-instance=$folder/ti --temp-config=$folder/temp.conf" ||
    { cat regression.diffs output_iso/regression.diffs; exit 1; }
tests='t/generator/load.pl t/generator/moved.pl'
[[ -z ${FULL:-} ]] || tests="$tests t/generator/every_call.pl t/lease/every_call.pl"
runs_clean 'tmp_check/log/*' env SANDBOX="$folder" TEMP_CONFIG="$folder/temp.conf" FULL= \
    make -s installcheck REGRESS= REGRESS_OPTS= ISOLATION= TAP_TESTS=1 PROVE_TESTS="$tests"
