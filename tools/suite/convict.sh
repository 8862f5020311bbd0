#!/usr/bin/env bash
# Builds the deliberately broken extension test/mutants/NAME.patch and runs the test that the patch names,
# which must fail: convict.sh NAME. To be run in a sandbox.
set -euo pipefail
name=$1
folder=$SANDBOX/mutants/$name
test=$(sed -n 's/^Convicted by: //p' "test/mutants/$name.patch")

tools/suite/build_mutant.sh "$name" "$folder"
ln -s "$SANDBOX/judge" "$folder/judge"
cd "$folder/tree"
if SANDBOX=$folder TEMP_CONFIG=$folder/temp.conf TEST=$test FULL='' ROUNDS=1 PG_TEST_TIMEOUT_DEFAULT=60 \
    timeout --foreground 600 tools/test.sh >"$folder/log" 2>&1; then
    echo "$test passes with this build:"
    cat "$folder/log"
    exit 1
fi
grep -E '^not ok|FAILED|[1-9][0-9]* not ok' "$folder/log"
rm -rf "$folder"
