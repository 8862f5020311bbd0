#!/usr/bin/env bash
# The pure headers under libFuzzer with ASan and UBSan, for some seconds or, in make test-full, some minutes. Findings
# are printed; "fuzz FILE" runs that input again.
set -euo pipefail
renice -n 10 $$ >/dev/null
seconds=2
[[ -z ${FULL:-} ]] || seconds=300

if ! grep -qx 16 < <(clang++ -E -P -x c++ - <<<__SIZEOF_INT128__); then
    echo 'ok fuzzing # skip the compiler has no integers of 128 bits'
    exit
fi
clang++ -std=c++20 -O1 -g -Wall -Wextra -Werror -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -Isrc proof/unit/fuzz.cpp -o "$TEST_DIR/fuzz"
"$TEST_DIR/fuzz" -max_total_time="$seconds" -max_len=512 -verbosity=0 -print_final_stats=1 -artifact_prefix="$TEST_DIR/" 2>&1 |
    tee "$TEST_DIR/stats"
runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$TEST_DIR/stats")
((runs > 0))
echo -e "libFuzzer over the pure headers\t1\t$runs inputs\t0" >>"$SANDBOX/faults"
echo 'ok fuzzing'
