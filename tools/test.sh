#!/usr/bin/env bash
# Runs the tests by prove, several at the same time, and ends with a line "N passed, N failed". To be run by sandbox.sh.
#   TEST="ids t/generator/clock.pl"   only these: scripts of t/suite (lint, unit, regress), topics of pg_regress,
#                                     isolation specs, TAP files, examples, mutants, or a directory of them
#   FULL=1                            also tests that take long, and more rounds of each fault
set -uo pipefail

# Those that take longest begin first, and beside those that mostly wait those that mostly compute. Examples that take
# minutes wait for FULL.
all_tests() {
    printf '%s\n' contrib/lease/t/{torture,rules,registry_moves,runbook,reach}.pl t/suite/{model,lint,portable}.sh \
        t/rights/install.pl {contrib/readers/t,t/settled}/campaign.pl t/suite/regress.sh contrib/*/t/topics.sh \
        t/pages/{install,inspect,demo,new_rows}.pl t/generator/every_call.pl \
        contrib/lease/t/{copies,restores,renewal,workers,pages,pods}.pl contrib/move/t/states.pl \
        t/crash/{kill,standby,floors}.pl t/generator/clock.pl t/suite/{unit,version,build,symbols}.sh \
        contrib/admin/t/maintain.pl t/suite/{format,isolation}.sh t/*/*.pl contrib/*/t/*.pl
    if [[ -z ${FULL:-} ]]; then
        grep -L '^# Takes .* min:' {examples,contrib}/*/run.sh
    else
        printf '%s\n' {examples,contrib}/*/run.sh t/suite/{ubsan,tidy,memcheck,sqlsmith,assertions}.sh
        tools/mutants.py list proof/mutants
    fi
}

# A topic or a spec stands for its suite, which reads TEST itself.
named_tests() {
    local word
    for word in $TEST; do
        if [[ -e t/suite/$word.sh ]]; then
            echo "t/suite/$word.sh"
        elif [[ -e sql/$word.sql ]]; then
            echo t/suite/regress.sh
        elif [[ -e specs/$word.spec ]]; then
            echo t/suite/isolation.sh
        elif compgen -G "contrib/*/s*/$word.s*" >/dev/null; then
            dirname "$(dirname contrib/*/s*/"$word".s*)" | sed 's|$|/t/topics.sh|'
        elif [[ $word == proof/mutants* ]]; then
            tools/mutants.py list "$word"
        elif [[ -d $word ]]; then
            find "$word" -path t/suite -prune -o \( -name '*.pl' -o -name run.sh -o -name topics.sh \) -print
        else
            echo "$word"
        fi
    done
}

mapfile -t tests < <({ if [[ -n ${TEST:-} ]]; then named_tests; else all_tests; fi; } | awk '!known[$0]++')
if [[ ${tests[*]} =~ \.pl|mutants|ubsan|assertions && ! -e $SANDBOX/judge/wal_gate.so ]]; then
    # shellcheck source=t/suite/judge.sh
    source t/suite/judge.sh
    if ! compile_judge -Wall -Wextra -Werror ||
        ! gcc -O2 -Wall -Wextra -Werror -shared -fPIC t/lib/wal_gate.c -o "$SANDBOX/judge/wal_gate.so"; then
        echo '0 passed, 1 failed'
        exit 1
    fi
fi

# A process group of its own, so that it can be ended as a whole. More than there are processors: most tests wait more
# than they compute. A test that ends without a plan has failed. Prove's CPU seconds of one include those of all tests that
# ended while it ran, and not those of servers.
set -m
(prove --merge --timer --jobs $((6 * $(nproc))) --exec t/suite/run.sh "${tests[@]}" </dev/null 2>&1 |
    sed -uE 's/ +\( *[0-9.]+ usr .* CPU\)$//' | tee "$SANDBOX/prove.log") &
group=$!
set +m
trap 'kill -- -$group 2>/dev/null' EXIT
trap 'trap : INT TERM; exit 130' INT
trap 'trap : INT TERM; exit 143' TERM
wait "$group"

[[ ! -e $SANDBOX/failures ]] || cat "$SANDBOX/failures"
grep -rhoE --include=output '# (skip|SKIP) .*' "$SANDBOX/run" | sed -E 's/# (skip|SKIP)/skipped:/' | sort -u
if [[ -n ${FULL:-} && -s $SANDBOX/faults ]]; then
    printf '\n| fault | rounds | ids received | violations |\n| --- | ---: | ---: | ---: |\n'
    LC_ALL=C sort "$SANDBOX/faults" | sed 's/\t/ | /g; s/.*/| & |/'
fi
# A file that broke off has failed once, and each of its assertions that failed; "Bail out!" ends the run, which prove
# then calls a success.
awk '/ \(Wstat: .* Failed: [0-9]+\)$/ { sub(/\)$/, ""); failed += $NF > 0 ? $NF : 1; wrong += $NF }
    /^Files=.* Tests=/ { sub(/.* Tests=/, ""); sub(/,.*/, ""); passed = $0 - wrong }
    /^FAILED--Further testing stopped/ { failed += 1 }
    /^Result: PASS$/ { good = 1 }
    END { failed += !good && !failed; print passed + 0 " passed, " failed + 0 " failed"; exit failed || !passed }' \
    "$SANDBOX/prove.log"
