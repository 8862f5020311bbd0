# shellcheck shell=bash
# The output and the counts of a test run, and the selection of its parts. To be sourced.
passed=0
failed=0

# Every part of a test run must use this or count.
step() {
    local name=$1 log
    shift
    log=$(mktemp "$SANDBOX/step.XXXXXX")
    if "$@" >"$log" 2>&1; then
        echo "ok      $name"
        passed=$((passed + 1))
    else
        echo "FAILED  $name"
        sed 's/^/        /' "$log"
        failed=$((failed + 1))
    fi
    rm "$log"
}

# A step that takes minutes.
long_step() {
    if [[ -n ${FULL:-} ]]; then
        step "$@"
    else
        echo "skipped $1: takes long, see make test-full"
    fi
}

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

counts() {
    echo "$passed $failed"
}

wanted() {
    [[ -z ${TEST:-} || " $TEST " == *" $1 "* ]]
}

# The files that TEST names, without directory and suffix.
named() {
    local file name
    for file in "$@"; do
        name=$(basename "${file%.*}")
        [[ -n ${TEST:-} ]] && wanted "$name" && printf ' %s' "$name"
    done
}

# The tests' lines in $SANDBOX/faults: name, rounds, ids received and violations of a fault, with tabs
# between them. Sorted, since tests run at the same time.
fault_table() {
    [[ -s $SANDBOX/faults ]] || return 0
    LC_ALL=C sort "$SANDBOX/faults" | awk -F '\t' '
        BEGIN { print "\n| fault | rounds | ids received | violations |\n| --- | ---: | ---: | ---: |" }
        { printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }'
    echo
}

# Seconds and CPU seconds of each part with its servers, the largest first.
spent_table() {
    sort -k 2,2nr "$SANDBOX/spent" | awk -v seconds="$SECONDS" '
        BEGIN { print "| part | seconds | CPU seconds |\n| --- | ---: | ---: |" }
        { name = $0; sub(/^[^ ]* [^ ]* /, "", name); printf "| %s | %s | %s |\n", name, $1, $2; cpu += $2 }
        END { printf "| together | %d | %d |\n\n", seconds, cpu }'
}

# For a machine that does nothing else. Seconds are those of a part while others run.
within_budgets() {
    awk '{ name = $0; sub(/^[^ ]* [^ ]* /, "", name); sub(/ +$/, "", name) }
        /^#/ || name ~ /^echo / { next }
        FILENAME == ARGV[1] { seconds[name] = $1; cpu[name] = $2; next }
        !(name in cpu) { print name ": has no budget"; bad = 1; next }
        $1 > 2 * seconds[name] || $2 > 2 * cpu[name] { print name ": " $1 " s and " $2 " s CPU of " seconds[name] " and " cpu[name]; bad = 1 }
        END { exit bad }' test/budgets.txt "$SANDBOX/spent"
}
