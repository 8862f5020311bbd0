#!/usr/bin/env bash
# Builds a mutant and runs the test that detects it, which must fail: convict.sh NAME, see tools/mutants.py.
set -euo pipefail
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh

# Copies the build, too, so that only changed files are compiled.
copy_variant "$TEST_DIR"
test=$(tools/mutants.py apply "$1" "$TEST_DIR/tree")
install_variant "$TEST_DIR" with_llvm=no COPT=-O0
export FULL='' ROUNDS=1 PG_TEST_TIMEOUT_DEFAULT=180 PGCTLTIMEOUT=180
if test_variant "$TEST_DIR" "$test" timeout --foreground 1800 >"$TEST_DIR/log" 2>&1; then
    echo "$test passes with this build:"
    cat "$TEST_DIR/log"
    exit 1
fi
grep '^== .* failed;' "$TEST_DIR/log" || {
    echo "$test has neither passed nor failed within 1800 s:"
    cat "$TEST_DIR/log"
    exit 1
}
rm -rf "$TEST_DIR/tree" "$TEST_DIR/inst" "$TEST_DIR/run"
echo "ok convicted by $test"
