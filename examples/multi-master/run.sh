#!/usr/bin/env bash
# Takes 10 s: two nodes that both take writes: with a shard each, with the same one, and with leases.
# By native logical replication (PostgreSQL 16 and later) or by pglogical (15).
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"

major=$(pg_config --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
if ((major >= 16)); then
    by=native
else
    by=pglogical
    needs pglogical
fi

# --- Two nodes, and the replication between them in both ways.

start_node() {
    start_server "$1" <<END
cluster_name = '$1'
wal_level = logical
track_commit_timestamp = on
max_worker_processes = 24
max_logical_replication_workers = 12
max_wal_senders = 12
$(settings_of_pglogical)
END
}

# Since updates of 2026 pglogical's plugin must be listed before it can be used.
settings_of_pglogical() {
    [[ $by == pglogical ]] || return 0
    echo "shared_preload_libraries = 'pglogical'"
    ! postgres --describe-config | grep '^output_plugin_libraries' >/dev/null ||
        echo "output_plugin_libraries = 'pgoutput, pglogical_output'"
}

address_of() {
    echo "host=$(host_of "$1") dbname=$2 user=postgres"
}

# both DATABASE SHARD_OF_LISBON SHARD_OF_OSLO: creates the database on both nodes, replicated in both directions.
both() {
    make_database lisbon "$1" "$2"
    make_database oslo "$1" "$3"
    on "lisbon/$1" -v self="$(address_of lisbon "$1")" -f "$here/${by}_publish.sql" >/dev/null
    on "oslo/$1" -v self="$(address_of oslo "$1")" -f "$here/${by}_publish.sql" >/dev/null
    subscribe lisbon "$1" oslo
    subscribe oslo "$1" lisbon
}

make_database() {
    on "$1" -c "CREATE DATABASE $2" -c "ALTER DATABASE $2 SET shardid.shard_id = $3"
    on "$1/$2" -f "$here/table.sql"
}

subscribe() {
    on "$1/$2" -v subscription="$2_to_$1" -v other="$(address_of "$3" "$2")" -f "$here/${by}_subscribe.sql" >/dev/null
}

# link enable|disable DATABASE: its replication in both directions.
link() {
    local node
    for node in lisbon oslo; do
        if [[ $by == native ]]; then
            on "$node/$2" -c "ALTER SUBSCRIPTION $2_to_$node $1"
        else
            on "$node/$2" -c "SELECT pglogical.alter_subscription_$1('$2_to_$node', true)" >/dev/null
        fi
    done
}

# --- Load, checks and faults.

# write DATABASE ROWS: this number by each node's clients, at the same time.
write() {
    local node writers=()
    echo 'INSERT INTO photos DEFAULT VALUES' >"$folder/insert.sql"
    for node in lisbon oslo; do
        pgbench -n -h "$(host_of "$node")" -c 2 -t $(($2 / 2)) -f "$folder/insert.sql" "$1" >"$folder/$node/pgbench.log" 2>&1 &
        writers+=($!)
    done
    wait "${writers[0]}"
    wait "${writers[1]}"
}

rows_of() {
    ask "$1" "SELECT count(*) || ' ' || md5(string_agg(id || taken_in, ',' ORDER BY id)) FROM photos"
}

# in_step DATABASE ROWS: both nodes have this number of rows, and the same ones.
in_step() {
    local rows
    rows=$(rows_of "lisbon/$1")
    [[ ${rows%% *} == "$2" && $rows == "$(rows_of "oslo/$1")" ]]
}

# Under load both nodes generate ids in one millisecond anyway. Here raise_generator sets both to the same one.
same_millisecond() {
    local id node
    id=$(ask "lisbon/$1" "SELECT ids.id_lower_bound(date_trunc('second', now()) + '1 hour')")
    for node in lisbon oslo; do
        on "$node/$1" -c "SELECT ids.raise_generator('ids.shardid_seq', $id)" >/dev/null
    done
}

# Output without the directories of this sandbox, and without times.
shown() {
    sed -E "s#$folder/##g; s/( is at| since| until) [0-9]{4}-[^,. ]+ [0-9:.]+\+00/\1 .../g" "$1"
}

has_stopped() {
    is_true "$1/trap" "SELECT NOT subenabled FROM pg_subscription WHERE subname = 'trap_to_$1'"
}

has_rows_of() {
    is_true "$1/trap" "SELECT count(*) = 3 FROM photos WHERE taken_in = '$2'"
}

lost_natively() {
    local node
    for node in lisbon oslo; do
        wait_until "$node stops" 60 has_stopped "$node"
        expect "rows of $node" "$(ask "$node/trap" "SELECT count(*) FROM photos WHERE taken_in = '$node'")" 3
        expect 'rows of the other' "$(ask "$node/trap" 'SELECT count(*) FROM photos')" 3
    done
    grep -m 1 -o 'ERROR:.*duplicate key value.*\|ERROR:.*conflict detected.*' "$folder/oslo/server.log" | indented
    echo '    Six rows were committed. Each node has its own three, and replication has stopped in both directions.'
}

lost_by_pglogical() {
    local rows="SELECT current_setting('cluster_name') AS node, count(*), min(taken_in) AS of FROM photos"
    wait_until 'lisbon has the rows of oslo' 60 has_rows_of lisbon oslo
    wait_until 'oslo has the rows of lisbon' 60 has_rows_of oslo lisbon
    show lisbon/trap -c "$rows"
    show oslo/trap -c "$rows"
    expect 'rows' "$(ask lisbon/trap 'SELECT count(*) FROM photos')$(ask oslo/trap 'SELECT count(*) FROM photos')" 33
    echo '    Six rows were committed. Each node has three, the other one'"'"'s: its own are overwritten.'
}

# --- The example.

echo "Two nodes that both take writes, on $(pg_config --version) by $by replication."
start_node lisbon
start_node oslo

say '1. Each node has its own shard'
both shop 1 2
write shop 1000
wait_until 'shop is in step' 60 in_step shop 2000
show oslo/shop -c 'SELECT ids.id_shard(id), taken_in, count(*) FROM photos GROUP BY 1, 2 ORDER BY 1'
expect 'ids misplaced' "$(ask oslo/shop "SELECT count(*) FROM photos WHERE (taken_in = 'lisbon') <> (ids.id_shard(id) = 1)")" 0
echo '    Both have the same 2000 rows, and no id was drawn twice.'

say '2. The trap: both have shard 1, and both draw in one millisecond (the generators are set to it, the link is down)'
both trap 1 1
link disable trap
same_millisecond trap
show lisbon/trap -c 'INSERT INTO photos SELECT FROM generate_series(1, 3)'
show oslo/trap -c 'INSERT INTO photos SELECT FROM generate_series(1, 3)'
expect 'ids' "$(ask lisbon/trap 'SELECT array_agg(id ORDER BY id) FROM photos')" "$(ask oslo/trap 'SELECT array_agg(id ORDER BY id) FROM photos')"
link enable trap
if [[ $by == native ]]; then
    lost_natively
else
    lost_by_pglogical
fi

say '3. Leases: a registry gives each node a shard of its own'
start_server registry </dev/null
on registry -f "$here/registry.sql" >/dev/null
both leased 1 1
for node in lisbon oslo; do
    on "$node/leased" -v node="$node" -v registry="$(host_of registry)" -f "$here/member.sql"
done
show lisbon/leased -c "SELECT shardid_lease.lease_shard('shop', 'registry') AS shard_of_lisbon"
fails oslo/leased "SELECT shardid_lease.lease_shard('shop', 'registry', shard => 0)" >"$folder/refused"
shown "$folder/refused"
expect 'lines that tell oslo who has shard 0' "$(grep -c 'held by.*role lisbon' "$folder/refused")" 1
show oslo/leased -c "SELECT shardid_lease.lease_shard('shop', 'registry') AS shard_of_oslo"
write leased 1000
wait_until 'leased is in step' 60 in_step leased 2000
show lisbon/leased -c 'SELECT ids.id_shard(id), taken_in, count(*) FROM photos GROUP BY 1, 2 ORDER BY 1'
expect 'shards' "$(ask oslo/leased "SELECT count(DISTINCT ids.id_shard(id)) || ' ' || count(DISTINCT (ids.id_shard(id), taken_in)) FROM photos")" '2 2'
echo '    Both databases have shardid.shard_id = 1, and nobody looks at it.'

verdict='no conflict of ids with a shard or a lease for each node; with one shard for both, replication stops'
