#!/usr/bin/env bash
# make demo, on a throwaway cluster: ids are decoded; next_id and Instagram's PL/pgSQL function run under load and
# with faults, and their duplicates are counted; a UUID of version 1 is built and read. Fails if next_id repeats an
# id, or a UUID's time is wrong. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh
# shellcheck source=tools/suite/judge.sh
source tools/suite/judge.sh
# shellcheck source=tools/demo/faults.sh
source tools/demo/faults.sh

trap stop_clients EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

indented() {
    sed -E 's/^(.*[^ ]) *$/    \1/'
}

run_sql() {
    psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$@"
}

[[ -e $SANDBOX/judge/check ]] || compile_judge -Wall &
judge_build=$!
start_cluster <<<"timezone = 'UTC'"
run_sql -c 'CREATE EXTENSION shardid' -f bench/baseline.sql

echo '1. Ids of 64 bits, made by the default of a column, and taken apart'
echo
run_sql --echo-queries -f tools/demo/ids.sql | indented

echo '2. Beside the PL/pgSQL recipe: 16 sessions of each at the same time, 1,000 ids a statement'
echo
printf '    %-38s%24s%24s\n' '' 'PL/pgSQL recipe' 'next_id'
printf '    %-38s%14s%10s%14s%10s\n' '' ids repeated ids repeated
wait "$judge_build"
side_by_side 'the load alone' load_alone
stop_cluster
set_clock +0
start_with_clock
side_by_side 'the clock steps back by 1 s' clock_steps_back
set_clock +0
side_by_side 'kill -9, and a clock behind after it' crash_and_clock_back
echo '    (The clock is set by libfaketime, under which each look at it takes some microseconds.)'
echo

echo '3. The other recipe: a UUID of version 1, built and read'
echo
run_sql --echo-queries -x -t -f tools/demo/uuids.sql | indented
read_times=$(run_sql -At -f tools/demo/uuid_times.sql)
IFS='|' read -r times recipe_wrong our_wrong <<<"$read_times"
stop_cluster
echo "    Of $times times, a microsecond apart, the recipe reads $recipe_wrong wrong, uuid_v1_timestamp $our_wrong."
echo

summary() {
    echo "$1 repeated $(with_commas "${repeated[$1]}") of $(with_commas "${received[$1]}") ids"
}

echo "The $(summary recipe); $(summary next_id)."
[[ ${repeated[next_id]} == 0 && $times == 1000 && $our_wrong == 0 ]]
