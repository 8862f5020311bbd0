#!/usr/bin/env bash
# make bench-instructions: instructions of one call, by valgrind in a single-user server. Unlike times,
# counts are the same in each run. Each call is counted in a loop of 10,000 and one of 30,000; the
# difference is that of 20,000 calls. A set-returning function replaces generate_series, which makes the
# loop of all others, and is compared with it. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

readonly few=10000 many=30000

# A window of a day: a single-user server has no background worker that could request one.
readonly give_window="UPDATE shardid_lease.lease_window
    SET family = shardid_lease.window_family('leased'), moved_at = '0/0', from_ms = t - 1000, until_ms = t + 86400000,
        lease_ms = 86400000
    FROM (SELECT shardid_lease.now_ms(epoch) AS t FROM shardid_lease.id_space) clock"

# COUNT in the set is replaced by its number of rows. Statements before the call are counted in both loops.
collected() {
    local call=$1 set=$2 count=$3 before=$4 profile
    profile=$(mktemp "$SANDBOX/callgrind.XXXXXX")
    printf '%s\n' ${before:+"${before//$'\n'/ }"} \
        "SELECT count($call) FROM (SELECT o.*, ${set//COUNT/$count} AS n FROM one_of_each o) s" |
        valgrind --tool=callgrind --callgrind-out-file="$profile" \
            postgres --single -D "$SANDBOX/data" -c jit=off -c shardid.shard_id=5 postgres 2>&1 >"$SANDBOX/out.log" |
        sed -nE 's/.*Collected : ([0-9]+).*/\1/p'
    rm -f "$profile"
}

per_call() {
    local call=$1 set=${2:-generate_series(1, COUNT)} before=${3:-}
    echo $((($(collected "$call" "$set" $many "$before") - $(collected "$call" "$set" $few "$before")) / (many - few)))
}

start_cluster </dev/null
psql -X -q -v ON_ERROR_STOP=1 -f bench/setup.sql
psql -X -q -v ON_ERROR_STOP=1 -o /dev/null <<'SQL'
CREATE EXTENSION shardid_lease CASCADE;
DO $$
BEGIN
    EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host %L, port %L, dbname %L)',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user %L)', current_user);
END
$$;
CREATE SEQUENCE leased;
SELECT shardid_lease.create_id_space('bench', shard_bits => 3, sequence_bits => 20);
SELECT shardid_lease.lease_shard('bench', 'here', generator => 'leased', shard => 5);
SELECT next_id(5, 'leased', shard_bits => 3, sequence_bits => 20);
SQL
# uuidv7(), which PostgreSQL has from 18 on.
has_uuidv7=$(psql -XAtq -c "SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'")
stop_cluster

floor=$(per_call 'pg_backend_pid()')
floor_of_sets=$(per_call n)
nextval=$(per_call "nextval('plain')")
next_id=$(per_call "next_id(generator => 'roomy', shard_bits => 3, sequence_bits => 20)")
leased=$(per_call "next_id(generator => 'leased', shard_bits => 3, sequence_bits => 20)" '' "$give_window")
readonly ids="next_ids(5, COUNT, 'roomy', shard_bits => 3, sequence_bits => 20)"
of_next_ids=$(per_call n "$ids")
beside=$(per_call n "generate_series(1, COUNT) AS i, $ids")
# All other functions, in the order of docs/reference.md.
readonly others=(
    'id_generator_status()' 'id_timestamp(id)' 'id_shard(id)' 'id_sequence(id)' 'id_parts(id)' 'id_lower_bound(ts)'
    'uuid_v1_hundred_ns(u)' 'uuid_v1_clock_seq(u)' 'uuid_v1_node(u)'
    'uuid_v6_from(ts, 666, mac)' 'uuid_v6_timestamp(u6)' 'uuid_v6_hundred_ns(u6)' 'uuid_v6_clock_seq(u6)'
    'uuid_v6_node(u6)' 'uuid_v1_to_v6(u)' 'uuid_v6_to_v1(u6)'
    'scatter_digits(id)' 'gather_digits(digits)' 'scatter_bits(id, 5)' 'gather_bits(bits, 5)'
    'id_to_text(id)' 'id_from_text(short)' 'objectid_from(ts, 1, 2, 3)' 'objectid_timestamp(oid)')
report() {
    local label=$1 gross=$2 own_floor=${3:-$floor}
    awk -v l="$label" -v g="$gross" -v f="$own_floor" -v n="$((nextval - floor))" 'BEGIN {
        printf "| %s | %d | %d | %.2f |\n", l, g, g - f, (g - f) / n }'
}
# shellcheck disable=SC2016 # backquotes are Markdown here
{
    echo '| Instructions | per call | net | to `nextval` |'
    echo '| --- | ---: | ---: | ---: |'
    report '`pg_backend_pid()`, the floor' "$floor"
    report '`nextval`' "$nextval"
    report '`nextval`, CACHE 100' "$(per_call "nextval('cached')")"
    report '**`next_id`**' "$next_id"
    report '**`next_id`**, leased generator' "$leased"
    report '`generate_series(1, n)`, the floor of sets' "$floor_of_sets" "$floor_of_sets"
    report '**`next_ids`**, per id' "$of_next_ids" "$floor_of_sets"
    report '**`next_ids`** next to `generate_series`, per id' "$beside" "$floor_of_sets"
    report '`setval(s, nextval(s) + 999)`, which repeats values' "$(per_call "setval('set_on', nextval('set_on') + 999)")"
    report '**`nextval_range`**, 1,000 values' "$(per_call "nextval_range('in_ranges', 1000)")"
    report 'PL/pgSQL recipe' "$(per_call 'baseline.next_id()')"
    report '`gen_random_uuid`' "$(per_call 'gen_random_uuid()')"
    [[ $has_uuidv7 == 0 ]] || report '`uuidv7`' "$(per_call 'uuidv7()')"
    report '**`uuid_v1`**' "$(per_call 'uuid_v1()')"
    report '**`objectid`**' "$(per_call 'objectid()')"
    report '**`uuid_v1_from`**' "$(per_call 'uuid_v1_from(ts, 666, mac)')"
    report 'PL/pgSQL `form_uuid_v1`' "$(per_call 'baseline.form_uuid_v1(ts, 666, mac)')"
    report '**`uuid_v1_timestamp`**' "$(per_call 'uuid_v1_timestamp(u)')"
    report 'SQL `uuid_v1_timestamp`' "$(per_call 'baseline.uuid_v1_timestamp(u)')"
    for call in "${others[@]}"; do
        report "**\`${call%%(*}\`**" "$(per_call "$call")"
    done
} | tee "$SANDBOX/out/instructions.md"

if (((of_next_ids - floor_of_sets) * 3 > next_id - floor)); then
    echo 'an id of next_ids costs more than a third of one of next_id' >&2
    exit 1
fi
if ((leased <= floor)); then
    echo 'the leased generator draws nothing' >&2
    exit 1
fi
if (((leased - floor) * 100 > (next_id - floor) * 102)); then
    echo 'a leased next_id costs more than 2% above one that is not' >&2
    exit 1
fi
