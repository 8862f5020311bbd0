#!/usr/bin/env bash
# make bench-wrapper: the cost of next_id within a user's function, in instructions as bench/instructions.sh counts
# them: each kind of t/clients/wrappers.sql, compared with next_id itself. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

readonly few=10000 many=30000

collected() {
    local call=$1 count=$2
    echo "SELECT count($call) FROM generate_series(1, $count)" |
        valgrind --tool=callgrind --callgrind-out-file="$SANDBOX/callgrind.out" \
            postgres --single -D "$SANDBOX/data" -c jit=off postgres 2>&1 >"$SANDBOX/out.log" |
        sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
}

per_call() {
    echo $((($(collected "$1" $many) - $(collected "$1" $few)) / (many - few)))
}

start_cluster </dev/null
psql -X -q -v ON_ERROR_STOP=1 -c 'CREATE SCHEMA ids' -c 'CREATE EXTENSION shardid SCHEMA ids' -c 'CREATE SEQUENCE plain' \
    -f t/clients/wrappers.sql
stop_cluster

floor=$(per_call 'pg_backend_pid()')
readonly direct="ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20)"
next_id=$(($(per_call "$direct") - floor))

report() {
    local label=$1 net=$2
    awk -v l="$label" -v n="$net" -v f="$next_id" 'BEGIN { printf "| %s | %d | %.2f |\n", l, n, n / f }'
}

# shellcheck disable=SC2016 # backquotes are Markdown here
{
    echo '| Instructions, net | a call | to `next_id` |'
    echo '| --- | ---: | ---: |'
    report '`next_id(…)` itself' "$next_id"
    report '`LANGUAGE sql VOLATILE RETURN next_id(…)`' $(($(per_call 'by_return()') - floor))
    report "\`LANGUAGE sql VOLATILE AS 'SELECT next_id(…)'\`" $(($(per_call 'by_string()') - floor))
    report 'the first, with `SET search_path`' $(($(per_call 'with_path()') - floor))
    report 'the first, `SECURITY DEFINER`' $(($(per_call 'of_owner()') - floor))
    report 'the first, `STABLE`' $(($(per_call 'stable()') - floor))
    report '`LANGUAGE plpgsql`' $(($(per_call 'in_plpgsql()') - floor))
    report '`nextval`, for comparison' $(($(per_call "nextval('plain')") - floor))
    echo
    echo "Less the loop with \`pg_backend_pid()\`; $(postgres --version | sed -E 's/.*(PostgreSQL\) )([0-9.]+).*/PostgreSQL \2/'); \`make bench-wrapper\`."
} | tee "$SANDBOX/out/wrapper.md"
