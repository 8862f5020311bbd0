# shellcheck shell=bash
# The suites of tests that print and count lines of their own. To be sourced, after report.sh and
# server_logs.sh.

# make installcheck in a new directory, where the tests write all their files: others run at the same time.
installcheck_in() {
    local folder=$1 tree=$PWD
    shift
    mkdir -p "$folder"
    (cd "$folder" && make -s -f "$tree/Makefile" installcheck "$@") >"$folder/make.log" 2>&1
}

# pg_regress and pg_isolation_regress make and remove one cluster for all topics. The arguments for make
# select one of them.
topics_of() {
    local name=$1 output=$2 folder=$SANDBOX/$1
    shift 2
    installcheck_in "$folder" "$@" \
        EXTRA_REGRESS_OPTS="--temp-instance=$folder/ti --temp-config=$TEMP_CONFIG"
    judge_topics "$name" "$folder/make.log" "$folder/$output"
}

# They print a line per topic.
judge_topics() {
    local name=$1 log=$2 output=$3 ok not_ok
    ok=$(grep -cE '^(test .*\.\.\. ok|ok [0-9]+)' "$log")
    not_ok=$(grep -cE '^(test .*\.\.\. FAILED|not ok [0-9]+)' "$log")
    grep -E '^(test .*\.\.\.|ok [0-9]+|not ok [0-9]+)' "$log" |
        sed -E "s/^(not )?ok [0-9]+ +- +/\1ok /; s/ +[0-9]+ ms\$//; s/^/$name  /"
    [[ $((ok + not_ok)) -gt 0 ]] || { cat "$log"; not_ok=1; }
    [[ $not_ok == 0 || ! -f $output/regression.diffs ]] || cat "$output/regression.diffs"
    count "$ok" "$not_ok"
    judge_logs "$name" '' "$output"/log/*.log
}

# judge_logs SUITE WANTED LOG...: counts a failure where no_crash finds one.
judge_logs() {
    local suite=$1
    shift
    no_crash "$@" || { echo "FAILED  $suite: the log of a server tells of a crash"; count 0 1; }
}

regress() {
    topics_of regress . ISOLATION= ${1:+REGRESS="$1"}
}

isolation() {
    topics_of isolation output_iso REGRESS= ${1:+ISOLATION="$1"}
}

# Programs of the TAP tests.
compile_tap_programs() {
    compile_judge -Wall -Wextra -Werror &&
        gcc -O2 -Wall -Wextra -Werror -shared -fPIC t/lib/wal_gate.c -o "$SANDBOX/judge/wal_gate.so"
}

# Before all TAP files, which run at the same time.
build_judge() {
    [[ -e $SANDBOX/judge/wal_gate.so ]] || step 'the judge builds' compile_tap_programs
}

tap() {
    local file=$1 folder=$SANDBOX/${1%.pl} status=0
    installcheck_in "$folder" REGRESS= REGRESS_OPTS= ISOLATION= TAP_TESTS=1 PROVE_TESTS="$file" \
        PROVE_FLAGS=--verbose || status=$?
    judge_tap "$file" "$folder" "$status"
}

# prove prints a line per assertion; after a failure the logs have the details. A file without an assertion
# has tested nothing, unless it gives the reason.
judge_tap() {
    local file=$1 folder=$2 status=$3 log=$2/make.log ok not_ok skipped
    ok=$(grep -E '^ok [0-9]+' "$log" | grep -vc '# skip')
    not_ok=$(grep -cE '^not ok [0-9]+' "$log")
    skipped=$(sed -nE 's/^(ok [0-9]+ # skip|.* \.+ skipped:)/         skipped:/ip' "$log" | sort -u)
    [[ $status == 0 && ($ok -gt 0 || -n $skipped) || $not_ok -gt 0 ]] || not_ok=1
    echo "tap      $file: $ok ok, $not_ok not ok"
    [[ -z $skipped ]] || echo "$skipped"
    if [[ $not_ok -gt 0 ]]; then
        grep -v '^ok ' "$log"
        tail -n 30 "$folder"/tmp_check/log/*
    fi
    count "$ok" "$not_ok"
    [[ $ok == 0 ]] || judge_logs "$file" "$(wanted_crashes_of "$file")" "$folder"/tmp_check/log/*.log
}

# A test that expects a server to crash has a line with a regular expression.
wanted_crashes_of() {
    sed -n 's/^# Wanted in the log of a server: //p' "$1"
}

# Examples whose run.sh says that they take minutes run in make test-full.
examples() {
    local run name
    for run in examples/*/run.sh; do
        name=$(dirname "$run")
        wanted "$name" || continue
        if [[ -z ${FULL:-} ]] && grep -q '^# Takes .* min:' "$run"; then
            part echo "skipped $name: takes long, see make test-full"
        else
            part example "$name"
        fi
    done
}

example() {
    local log=$SANDBOX/${1//\//-}.log
    step "$1" keeping "$log" "$1/run.sh" 77
    if grep -q '^SKIPPED' "$log"; then
        sed -n 's/^SKIPPED */skipped /p' "$log"
    else
        judge_logs "$1" '' "$SANDBOX/${1//\//-}"/*/server.log
    fi
}

# keeping FILE COMMAND STATUS: writes the command's output to the file, too. Exit status 0 and STATUS are no failure.
keeping() {
    local status=0
    "$2" 2>&1 | tee "$1" || status=$?
    ((status == 0 || status == $3))
}

# UPGRADE_FROM is the pg_config of an older server, which make matrix has.
upgrades() {
    local mode
    if [[ -z ${UPGRADE_FROM:-} ]]; then
        echo 'skipped pg_upgrade: UPGRADE_FROM names no pg_config of an older server; make matrix has one'
        return
    fi
    for mode in $(tools/suite/upgrade.sh modes); do
        step "pg_upgrade $mode from $("$UPGRADE_FROM" --version)" tools/suite/upgrade.sh "$mode"
    done
}

# One after the other, since both use the sandbox's one cluster.
long_steps() {
    wanted memcheck && long_step 'no memory error, by valgrind' tools/suite/memcheck.sh
    wanted sqlsmith && long_step 'random SQL, by sqlsmith' tools/suite/sqlsmith.sh
}

# spin prints a line per model. TEST=model and make test-full run all of them.
models() {
    local log=$SANDBOX/model.log few=(--few)
    [[ -z ${FULL:-}${TEST:-} ]] || few=()
    test/model/run.sh "${few[@]}" 2>&1 | tee "$log"
    local status=${PIPESTATUS[0]} not_ok
    not_ok=$(grep -c '^FAILED' "$log")
    [[ $status == 0 || $not_ok -gt 0 ]] || not_ok=1
    count "$(grep -c '^ok' "$log")" "$not_ok"
}

# ASSERTIONS can name the pg_config of an existing server with assertions.
assertions() {
    local prefix=$SANDBOX/pgsql version built=0 run
    if [[ -z ${FULL:-} ]]; then
        part echo 'skipped a server with assertions: takes long, see make test-full'
        return
    fi
    if [[ -z ${ASSERTIONS:-} ]]; then
        version=$("$PG_CONFIG" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
        tools/chroot/build-source.sh assertions "$version" "$prefix" >"$SANDBOX/build-source.log" 2>&1 || built=$?
        if [[ $built == 3 ]]; then
            part echo "skipped a server with assertions: $(tail -n 1 "$SANDBOX/build-source.log")"
            return
        fi
    fi
    build_judge
    run=(tools/suite/assertions.sh "${ASSERTIONS:-$prefix/bin/pg_config}")
    part step 'a server with assertions' "${run[@]}" '' \
        regress isolation t/generator/every_call.pl t/lease/every_call.pl t/crash/standby.pl t/generator/ended_waits.pl
    part step 'a server with assertions that throws its caches away' "${run[@]}" 'debug_discard_caches = 1' \
        rollback two_phase status ids interplay
}

# Each deliberately broken build must fail the test that its patch names.
mutants() {
    local patch
    if [[ -z ${FULL:-} ]]; then
        part echo "skipped $(find test/mutants -name '*.patch' | wc -l) mutants: take long, see make test-full"
        return
    fi
    build_judge
    for patch in test/mutants/*.patch; do
        part step "convicted: $(basename "$patch" .patch)" tools/suite/convict.sh "$(basename "$patch" .patch)"
    done
}
