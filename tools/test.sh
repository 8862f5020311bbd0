#!/usr/bin/env bash
# Every test, with a line each and the sum at the end; several run at the same time. To be run by
# sandbox.sh. TEST selects some:
# a step's name (version, judges, build, symbols, unit, fuzz, ubsan, memcheck, sqlsmith, lint, tidy, model,
# regress, portable, isolation, upgrade, assertions, mutants), a pg_regress topic (ids), an isolation spec (revoked),
# a TAP file (t/generator/load.pl) or an example (examples/fdw). FULL=1 adds tests that take long, and more rounds of
# the others. TEST=budgets runs make test, and then fails if a part has taken twice its time in test/budgets.txt.
set -uo pipefail

# shellcheck source=tools/suite/report.sh
source tools/suite/report.sh
# shellcheck source=tools/suite/parts.sh
source tools/suite/parts.sh
# shellcheck source=tools/suite/checks.sh
source tools/suite/checks.sh
# shellcheck source=tools/suite/server_logs.sh
source tools/suite/server_logs.sh
# shellcheck source=tools/suite/judge.sh
source tools/suite/judge.sh
# shellcheck source=tools/suite/suites.sh
source tools/suite/suites.sh
# shellcheck source=tools/suite/portable.sh
source tools/suite/portable.sh
# shellcheck source=tools/suite/self_test.sh
source tools/suite/self_test.sh

wants_budgets=''
if [[ ${TEST:-} == budgets ]]; then
    wants_budgets=1 TEST=''
fi
if [[ ${1:-} == --part ]]; then
    run_part "${@:2}"
    exit
fi

trap stop_parts EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The longest tests begin first.
mapfile -t tap_files < <(for file in t/*/*.pl; do
    wanted "$file" && echo "$(sed -n "s#^\([0-9.]*\) .* tap $file\$#\1#p" test/budgets.txt) $file"
done | sort -rn | sed 's/.* //')
if ((${#tap_files[@]} > 0)) || wanted ubsan; then
    build_judge
fi

wanted version && part step 'versions agree' versions_agree
wanted version && part step 'META.json is valid' meta_is_valid
wanted version && part step 'drawings are XML' drawings_are_xml
wanted version && part step 'scripts name every schema' scripts_name_schemas
wanted version && part step 'pages show what is run' tools/check/pages.py
wanted version && part step 'each message has its remedy' tools/check/messages.py
wanted version && part step 'each test is under its promise' tools/suite/test_map.py --check
wanted version && part step 'includes go one way' tools/check/arrows.py --itself
wanted judges && part step 'the suites see what fails' judges_see_failures
wanted build && part step 'builds without a warning: g++' builds_without_warnings
# t/pages/install.pl builds the library by clang++.
wanted build && part step 'builds without a warning: clang++' compiles_with clang++ test/unit/*_proof.cpp
wanted build && part step 'pure headers are pure' headers_are_pure
wanted symbols && part step 'no symbol too many' symbols_are_clean
if has_wide_integers g++; then
    wanted unit && part in_background step 'brute force over the pure headers' brute_force
    wanted fuzz && part in_background step 'fuzzing of the pure headers' tools/suite/fuzz.sh
elif wanted unit; then
    part echo 'skipped brute force and fuzzing of the pure headers: the compiler has no integers of 128 bits'
fi
wanted ubsan && part step 'no undefined behaviour, by UBSan, and no failed assertion' tools/suite/ubsan.sh
part long_steps
wanted lint && part step 'clang-format' is_formatted
{ [[ -n ${FULL:-}${TEST:-} ]] && wanted tidy; } && part in_background step 'clang-tidy' is_tidy
wanted lint && part step 'shellcheck' shell_is_clean
wanted lint && part step 'workflows are YAML and call make' workflows_are_plain

wanted model && part in_background models

topics=$(named sql/*.sql)
if wanted regress || [[ -n $topics ]]; then
    part regress "$topics"
fi
wanted portable && part portable
topics=$(named specs/*.spec)
if wanted isolation || [[ -n $topics ]]; then
    part isolation "$topics"
fi
for file in "${tap_files[@]}"; do
    part tap "$file"
done
examples
wanted upgrade && part upgrades
wanted assertions && assertions
wanted mutants && mutants
finish_parts

[[ -z $wants_budgets ]] || step 'no part spent twice its budget' within_budgets
fault_table
spent_table
echo "$passed passed, $failed failed"
[[ $failed == 0 && $passed -gt 0 ]]
