#!/usr/bin/env bash
# Every test, with a line each and the sum at the end. To be run by sandbox.sh. TEST picks some:
# a step's name (version, build, symbols, unit, lint), a pg_regress topic (ids) or a TAP file
# (t/001_load.pl).
set -uo pipefail

passed=0
failed=0

# Everything of which a test run consists has to pass through here or through count.
step() {
    local name=$1 log
    shift
    log=$SANDBOX/step.log
    if "$@" >"$log" 2>&1; then
        echo "ok      $name"
        passed=$((passed + 1))
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$log"
        failed=$((failed + 1))
    fi
}

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

wanted() {
    [[ -z ${TEST:-} || " $TEST " == *" $1 "* ]]
}

versions_agree() {
    local control meta
    control=$(sed -nE "s/^default_version = '(.*)'/\1/p" shardid.control)
    meta=$(python3 -c 'import json; print(json.load(open("META.json"))["version"])')
    [[ -f shardid--$control.sql && $meta == "$control.0" ]] ||
        { echo "shardid.control says $control, META.json says $meta, scripts: $(echo shardid--*.sql)"; false; }
}

meta_is_valid() {
    python3 tools/check_meta.py META.json
}

# Warnings are errors here, and only here: a user's newer compiler may know more of them.
compiles_with() {
    local compiler=$1 includes source
    shift
    includes=$("$PG_CONFIG" --includedir-server)
    for source in src/*.cpp; do
        "$compiler" -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -O2 -fPIC \
            -Wall -Wextra -Werror "$@" -isystem "$includes" \
            -c "$source" -o "$SANDBOX/werror.o" || return 1
    done
}

# What the library asks of others must be in the server or libc: nothing of libstdc++. Every object
# name it gives must be an entry point or PostgreSQL's own.
symbols_are_clean() {
    local library stray
    library=$(find "$SANDBOX/inst" -name shardid.so)
    stray=$(nm -D -u "$library" | grep -E ' (_Z|__cxa_)' | grep -v ' w __cxa_finalize')
    [[ -z $stray ]] || { echo "$stray"; false; }
}

# The tripwire of the pure headers: each compiles alone, none after PostgreSQL's.
headers_are_pure() {
    local header
    for header in src/*.hpp; do
        [[ $header == src/core_only.hpp ]] && continue
        echo "#include \"$header\"" |
            g++ -std=c++20 -Wall -Wextra -Werror -I. -x c++ -fsyntax-only - || return 1
        if echo "#define POSTGRES_H
                 #include \"$header\"" | g++ -std=c++20 -I. -x c++ -fsyntax-only - 2>/dev/null; then
            echo "$header compiles after postgres.h"
            return 1
        fi
    done
}

brute_force() {
    g++ -std=c++20 -O1 -g -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover=all \
        -Isrc unit/brute_force.cpp -o "$SANDBOX/brute_force" && "$SANDBOX/brute_force" | tee "$SANDBOX/unit.log"
}

is_formatted() {
    clang-format --dry-run -Werror src/*.h src/*.hpp src/*.cpp unit/*.cpp
}

# The configuration, with its reasons, is .clang-tidy.
is_tidy() {
    clang-tidy --quiet src/*.cpp unit/*.cpp -- -std=c++20 -fno-exceptions -fno-rtti -Isrc \
        -isystem "$("$PG_CONFIG" --includedir-server)" -Wno-deprecated-volatile
}

shell_is_clean() {
    shellcheck -x tools/*.sh bench/*.sh .ci/run
}

# pg_regress prints a line a topic; its own cluster is made and removed by it.
regress() {
    local topics=$1 log=$SANDBOX/regress.log
    make -s installcheck TAP_TESTS= ${topics:+REGRESS="$topics"} \
        EXTRA_REGRESS_OPTS="--temp-instance=$SANDBOX/ti --temp-config=$TEMP_CONFIG" >"$log" 2>&1
    local ok not_ok
    ok=$(grep -cE '^(test .*\.\.\. ok|ok [0-9]+)' "$log")
    not_ok=$(grep -cE '^(test .*\.\.\. FAILED|not ok [0-9]+)' "$log")
    grep -E '^(test .*\.\.\.|ok [0-9]+|not ok [0-9]+)' "$log" |
        sed -E 's/^(not )?ok [0-9]+ +- +/\1ok /; s/ +[0-9]+ ms$//; s/^/regress  /'
    [[ $((ok + not_ok)) -gt 0 ]] || { cat "$log"; not_ok=1; }
    [[ $not_ok == 0 || ! -f regression.diffs ]] || cat regression.diffs
    count "$ok" "$not_ok"
}

# prove prints a line an assertion; on failure the logs say the rest.
tap() {
    local file=$1 log=$SANDBOX/tap.log
    make -s installcheck REGRESS= REGRESS_OPTS= PROVE_TESTS="$file" PROVE_FLAGS=--verbose >"$log" 2>&1
    local status=$? ok not_ok
    ok=$(grep -cE '^ok [0-9]+' "$log")
    not_ok=$(grep -cE '^not ok [0-9]+' "$log")
    [[ $status == 0 || $not_ok -gt 0 ]] || not_ok=1
    echo "tap      $file: $ok ok, $not_ok not ok"
    if [[ $not_ok -gt 0 ]]; then
        cat "$log"
        tail -n 50 tmp_check/log/*
    fi
    count "$ok" "$not_ok"
}

wanted version && step 'versions agree' versions_agree
wanted version && step 'META.json is valid' meta_is_valid
wanted build && step 'builds without a warning: g++' compiles_with g++
# PostgreSQL's START_CRIT_SECTION, and PG_MODULE_MAGIC of 18, of which older clangs do not know the name.
wanted build && step 'builds without a warning: clang++' compiles_with clang++ \
    -Wno-deprecated-volatile -Wno-unknown-warning-option -Wno-missing-designated-field-initializers
wanted build && step 'pure headers are pure' headers_are_pure
wanted symbols && step 'no symbol of libstdc++' symbols_are_clean
wanted unit && step 'brute force over the pure headers' brute_force
wanted lint && step 'clang-format' is_formatted
wanted lint && step 'clang-tidy' is_tidy
wanted lint && step 'shellcheck' shell_is_clean

topics=
for file in sql/*.sql; do
    topic=$(basename "$file" .sql)
    [[ -n ${TEST:-} ]] && wanted "$topic" && topics+=" $topic"
done
if [[ -z ${TEST:-} || -n $topics ]]; then
    regress "$topics"
fi
for file in t/*.pl; do
    wanted "$file" && tap "$file"
done

echo "$passed passed, $failed failed"
[[ $failed == 0 && $passed -gt 0 ]]
