# shellcheck shell=bash
# Tests that the suites fail where they should: the functions that judge them are given invented output and logs.
# To be sourced, after suites.sh.

# Each is a line of a server's log.
innocent_lines=(
    'LOG:  server process (PID 42) was terminated by signal 9: Killed'
    'LOG:  server process (PID 42) exited with exit code 2'
    'FATAL:  terminating connection due to unexpected postmaster exit'
    "LOG:  statement: SELECT 'PANIC, TRAP: terminated by signal'")
crash_lines=(
    'TRAP: failed Assert("SyncRepQueueIsOrderedByLSN(mode)"), File: "syncrep.c", Line: 276, PID: 42'
    '2026-01-02 03:04:05.678 UTC [42] PANIC:  cannot abort transaction 7, it was already committed'
    'LOG:  server process (PID 42) was terminated by signal 6: Aborted'
    'LOG:  startup process (PID 42) was terminated by signal 11: Segmentation fault'
    '==42==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010'
    'advance.hpp:12:3: runtime error: shift exponent 64 is too large'
    'WARNING:  problem in alloc set ExprContext: detected write past chunk end in block 0x5581, chunk 0x5590')

# make_up DIRECTORY OUTPUT [LOG]: makes the files that a suite leaves.
make_up() {
    local folder=$1
    rm -rf "$folder"
    mkdir -p "$folder"/{log,tmp_check/log}
    printf '%s\n' "$2" >"$folder/make.log"
    [[ $# == 2 ]] || printf '%s\n' 'LOG:  starting' "$3" 'LOG:  ready' |
        tee "$folder/log/postmaster.log" >"$folder/tmp_check/log/x_node.log"
}

# expect PASSED FAILED COMMAND...: the command must result in these counts.
expect() {
    local expected="$1 $2" passed=0 failed=0
    shift 2
    "$@" >"$SANDBOX/self_test/output" 2>&1
    [[ "$passed $failed" == "$expected" ]] ||
        { echo "$*: $passed passed, $failed failed, not $expected:"; cat "$SANDBOX/self_test/output"; return 1; }
}

judges_see_failures() {
    local made=$SANDBOX/self_test/made file=$SANDBOX/self_test/x.pl ok=$'ok 1 - one\nok 2 - two\n1..2' line
    local of_topics=(judge_topics regress "$made/make.log" "$made") of_tap=(judge_tap "$file" "$made")
    mkdir -p "$SANDBOX/self_test"
    echo 'use Test::More;' >"$file"

    for line in "${innocent_lines[@]}"; do
        make_up "$made" "$ok" "$line"
        expect 2 0 "${of_tap[@]}" 0 || return 1
        expect 2 0 "${of_topics[@]}" || return 1
    done
    for line in "${crash_lines[@]}"; do
        make_up "$made" "$ok" "$line"
        expect 2 1 "${of_tap[@]}" 0 || return 1
        expect 2 1 "${of_topics[@]}" || return 1
    done

    # A missing log.
    make_up "$made" "$ok"
    expect 2 1 "${of_tap[@]}" 0 || return 1
    expect 2 1 "${of_topics[@]}" || return 1

    # A crash that the test expects; and another one with it.
    echo '# Wanted in the log of a server: TRAP: .*SyncRepQueue|terminated by signal 6' >>"$file"
    make_up "$made" "$ok" "${crash_lines[0]}"$'\n'"${crash_lines[2]}"
    expect 2 0 "${of_tap[@]}" 0 || return 1
    make_up "$made" "$ok" "${crash_lines[0]}"$'\n'"${crash_lines[1]}"
    expect 2 1 "${of_tap[@]}" 0 || return 1

    # A test that did not run has not passed; a skipped test gives its reason.
    make_up "$made" 'TAP tests not enabled. Try configuring with --enable-tap-tests'
    expect 0 1 "${of_tap[@]}" 0 || return 1
    make_up "$made" 't/x.pl .. skipped: no replication of sequences before PostgreSQL 19'
    expect 0 0 "${of_tap[@]}" 0 || return 1
    make_up "$made" $'ok 1 # skip no such function\n1..1'
    expect 0 0 "${of_tap[@]}" 0 || return 1
    make_up "$made" $'ok 1 - one\nDubious, test returned 255' ''
    expect 1 1 "${of_tap[@]}" 255 || return 1
    make_up "$made" $'ok 1 - one\nnot ok 2 - two\n1..2' ''
    expect 1 1 "${of_tap[@]}" 1 || return 1
    make_up "$made" 'make: Nothing to be done'
    expect 0 2 "${of_topics[@]}"
}
