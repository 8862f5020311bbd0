# shellcheck shell=bash
# What a test run prints and counts, and which part of it is wanted. To be sourced.
passed=0
failed=0

# Everything of which a test run consists has to pass through here or through count.
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

# What takes minutes.
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

# The files that TEST names, without folder and suffix.
named() {
    local file name
    for file in "$@"; do
        name=$(basename "${file%.*}")
        [[ -n ${TEST:-} ]] && wanted "$name" && printf ' %s' "$name"
    done
}

# What the tests wrote into $SANDBOX/faults: a line for each fault, tabs between name, rounds, ids
# received and violations. Sorted, as the tests run beside each other.
fault_table() {
    [[ -s $SANDBOX/faults ]] || return 0
    LC_ALL=C sort "$SANDBOX/faults" | awk -F '\t' '
        BEGIN { print "\n| fault | rounds | ids received | violations |\n| --- | ---: | ---: | ---: |" }
        { printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }'
    echo
}

# Each part's seconds and CPU seconds, its servers' with it; what spent most comes first.
spent_table() {
    sort -k 2,2nr "$SANDBOX/spent" | awk -v seconds="$SECONDS" '
        BEGIN { print "| part | seconds | CPU seconds |\n| --- | ---: | ---: |" }
        { name = $0; sub(/^[^ ]* [^ ]* /, "", name); printf "| %s | %s | %s |\n", name, $1, $2; cpu += $2 }
        END { printf "| together | %d | %d |\n\n", seconds, cpu }'
}

# Of a machine that does nothing else. Seconds are those of a part beside the others.
within_budgets() {
    awk '{ name = $0; sub(/^[^ ]* [^ ]* /, "", name) }
        /^#/ || name ~ /^echo / { next }
        FILENAME == ARGV[1] { seconds[name] = $1; cpu[name] = $2; next }
        !(name in cpu) { print name ": has no budget"; bad = 1; next }
        $1 > 2 * seconds[name] || $2 > 2 * cpu[name] { print name ": " $1 " s and " $2 " s CPU of " seconds[name] " and " cpu[name]; bad = 1 }
        END { exit bad }' test/budgets.txt "$SANDBOX/spent"
}
