#!/usr/bin/env bash
# Every test, with a line each and the sum at the end. To be run by sandbox.sh. TEST picks some:
# a step's name (version, build, symbols, unit, fuzz, ubsan, memcheck, sqlsmith, lint, model, upgrade,
# mutants), a pg_regress topic (ids), an isolation spec (revoked) or a TAP file (t/001_load.pl). FULL=1
# adds what takes long, and more rounds of the rest.
set -uo pipefail

# shellcheck source=tools/report.sh
source tools/report.sh
# shellcheck source=tools/checks.sh
source tools/checks.sh
# shellcheck source=tools/suites.sh
source tools/suites.sh

wanted version && step 'versions agree' versions_agree
wanted version && step 'META.json is valid' meta_is_valid
wanted version && step 'pages show what is run' tools/check_pages.py
wanted build && step 'builds without a warning: g++' compiles_with g++
# PostgreSQL's START_CRIT_SECTION, and PG_MODULE_MAGIC of 18, of which older clangs do not know the name.
wanted build && step 'builds without a warning: clang++' compiles_with clang++ \
    -Wno-deprecated-volatile -Wno-unknown-warning-option -Wno-missing-designated-field-initializers
wanted build && step 'pure headers are pure' headers_are_pure
wanted symbols && step 'no symbol of libstdc++' symbols_are_clean
wanted unit && step 'brute force over the pure headers' brute_force
wanted fuzz && step 'fuzzing of the pure headers' tools/fuzz.sh
wanted ubsan && step 'no undefined behaviour, by UBSan' tools/ubsan.sh
wanted memcheck && long_step 'no memory error, by valgrind' tools/memcheck.sh
wanted sqlsmith && long_step 'random SQL, by sqlsmith' tools/sqlsmith.sh
wanted lint && step 'clang-format' is_formatted
wanted lint && step 'clang-tidy' is_tidy
wanted lint && step 'shellcheck' shell_is_clean

wanted model && models

topics=$(named sql/*.sql)
if [[ -z ${TEST:-} || -n $topics ]]; then
    regress "$topics"
fi
topics=$(named specs/*.spec)
if [[ -z ${TEST:-} || -n $topics ]]; then
    isolation "$topics"
fi
for file in t/*.pl; do
    wanted "$file" && tap "$file"
done
wanted upgrade && upgrades
wanted mutants && mutants

fault_table
echo "$passed passed, $failed failed"
[[ $failed == 0 && $passed -gt 0 ]]
