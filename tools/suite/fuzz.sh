#!/usr/bin/env bash
# The pure headers under libFuzzer with ASan and UBSan, for some seconds or, with FULL, some minutes.
# To be run by sandbox.sh. Findings are printed; "fuzz FILE" runs that input again.
set -euo pipefail
seconds=2
[[ -z ${FULL:-} ]] || seconds=300
folder=$SANDBOX/fuzz
mkdir "$folder"

clang++ -std=c++20 -O1 -g -Wall -Wextra -Werror -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -Isrc test/unit/fuzz.cpp -o "$folder/fuzz"
if ! "$folder/fuzz" -max_total_time="$seconds" -max_len=512 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$folder/" >"$folder/log" 2>&1; then
    cat "$folder/log"
    echo -e "libFuzzer over the pure headers\t1\t\t1" >>"$SANDBOX/faults"
    exit 1
fi
runs=$(sed -nE 's/^stat::number_of_executed_units: *//p' "$folder/log")
echo -e "libFuzzer over the pure headers\t1\t$runs inputs\t0" >>"$SANDBOX/faults"
((runs > 0))
