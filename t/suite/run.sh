#!/usr/bin/env bash
# Runs one test for prove, and prints TAP: run.sh FILE. Other tests run at the same time, so it has a directory of its
# own, TEST_DIR. It fails also if a server's log there reports a crash, which the test may not notice.
set -uo pipefail
file=$1
export TEST_DIR=$SANDBOX/run/${file%.*}
mkdir -p "$TEST_DIR"

# Lines "ok NAME" and "FAILED NAME", and those of pg_regress, as TAP. A script without such a line has no plan, so it
# has failed.
as_tap() {
    awk '/^1\.\.[0-9]+$/ { next }
        sub(/^(test|ok [0-9]+ +-|ok) +/, "") && !/\.\.\. FAILED/ { print "ok " ++n " - " $0; next }
        sub(/^(not ok [0-9]+ +-|FAILED) +/, "") || /\.\.\. FAILED/ { print "not ok " ++n " - " $0; bad = 1; next }
        { print "# " $0 }
        END { if (n) print "1.." n; exit bad }'
}

tap_file() {
    local pgxs
    pgxs=$("$PG_CONFIG" --pgxs)
    pgxs=${pgxs%/makefiles/*}/test
    TESTDIR=$TEST_DIR TESTDATADIR=$TEST_DIR/tmp_check TESTLOGDIR=$TEST_DIR/tmp_check/log PG_TEST_PORT_DIR=$SANDBOX/ports \
        PG_REGRESS=$pgxs/regress/pg_regress perl -I "$pgxs/perl" -I t/lib -I "${file%/*}/lib" "$file"
}

example() {
    local status=0
    "$file" >"$TEST_DIR/text" 2>&1 || status=$?
    cat "$TEST_DIR/text"
    case $status in
        0) echo "ok $file" ;;
        77) sed -n "s|^SKIPPED *|ok $file # skip |p" "$TEST_DIR/text" ;;
        *) return 1 ;;
    esac
}

case $file in
    *.pl) tap_file ;;
    proof/mutants/*) t/suite/convict.sh "$file" | as_tap ;;
    */run.sh) example | as_tap ;;
    *) "$file" | as_tap ;;
esac >"$TEST_DIR/output" 2>&1
status=$?

# The tests end processes by other signals.
if [[ $file != proof/mutants/* ]]; then
    crashes=$(find "$TEST_DIR" "$SANDBOX/example-$(basename "${file%/*}")" -name '*.log' -exec grep -HE -e '^TRAP: |PANIC:  |AddressSanitizer' \
        -e 'terminated by signal (4|6|7|8|11):|: runtime error: |detected write past chunk end' {} + 2>/dev/null)
    [[ -z $crashes ]] || { echo "$crashes" >>"$TEST_DIR/output" && status=1; }
fi

# What TEST names to repeat it: of topics those that have failed.
to_repeat() {
    local topics=
    case $file in
        */topics.sh | t/suite/regress.sh | t/suite/isolation.sh | t/suite/portable.sh)
            topics=$(sed -nE 's/^not ok [0-9]+ - (\w+) .*/\1/p' "$TEST_DIR/output" | grep -vx load | paste -sd ' ') ;;
    esac
    [[ -z $topics || $file != */portable.sh ]] || topics="portable $topics"
    if [[ $topics == *' '* ]]; then echo "\"$topics\""; else echo "${topics:-$file}"; fi
}

# For sandbox.sh, which keeps them; test.sh shows the text when all tests have ended.
if [[ $status != 0 ]]; then
    kept=$SANDBOX/failed/${file%.*}
    mkdir -p "$kept"
    find "$TEST_DIR" "$SANDBOX/example-$(basename "${file%/*}")" \( -name '*.log' -o -name 'regress_log_*' -o -name '*.diffs' -o \
        -path '*/results/*.out' -o -path "$TEST_DIR/output" \) -exec cp -t "$kept" {} + 2>/dev/null
    {
        echo "== $file failed; its output and the logs of its servers are kept in failed/${file%.*}"
        tail -n 30 "$kept"/*.log 2>/dev/null
        grep -vE '^ok |^# (ok|test) ' "$TEST_DIR/output"
        echo "== repeat it: $(grep -oE -m1 'SHARDID_SEED=[0-9]+' "$TEST_DIR/output" | sed 's|$| |')make test TEST=$(to_repeat)"
    } >"$kept/text"
    flock "$SANDBOX/failed" cat "$kept/text" >>"$SANDBOX/failures"
fi
cat "$TEST_DIR/output"
exit "$status"
