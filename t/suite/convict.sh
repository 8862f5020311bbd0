#!/usr/bin/env bash
# Builds a mutant and runs the test that its patch names, which must fail: convict.sh PATCH.
set -euo pipefail
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh
test=$(sed -n 's/^Convicted by: //p' "$1")

t/suite/build_mutant.sh "$1" "$TEST_DIR"
export FULL='' ROUNDS=1 PG_TEST_TIMEOUT_DEFAULT=60
if test_variant "$TEST_DIR" "$test" timeout --foreground 1800 >"$TEST_DIR/log" 2>&1; then
    echo "$test passes with this build:"
    cat "$TEST_DIR/log"
    exit 1
fi
# It has failed, not been missing.
grep '^== .* failed;' "$TEST_DIR/log"
rm -rf "$TEST_DIR/tree" "$TEST_DIR/inst" "$TEST_DIR/run"
echo "ok convicted by $test"
