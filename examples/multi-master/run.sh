#!/usr/bin/env bash
# Takes 10 s: two nodes that both take writes: with a shard each, and with leases.
# By native logical replication (PostgreSQL 16 and later).
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"

major=$(pg_config --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
((major >= 16)) || skip "PostgreSQL $major has no origin = none"

# --- Two nodes, and the replication between them in both ways.

start_node() {
    start_server "$1" <<END
cluster_name = '$1'
wal_level = logical
track_commit_timestamp = on
max_worker_processes = 24
max_logical_replication_workers = 12
max_wal_senders = 12
END
}

address_of() {
    echo "host=$(host_of "$1") dbname=$2 user=postgres"
}

# both DATABASE SHARD_OF_LISBON SHARD_OF_OSLO: creates the database on both nodes, replicated in both directions.
both() {
    make_database lisbon "$1" "$2"
    make_database oslo "$1" "$3"
    on "lisbon/$1" -f "$here/publish.sql" >/dev/null
    on "oslo/$1" -f "$here/publish.sql" >/dev/null
    subscribe lisbon "$1" oslo
    subscribe oslo "$1" lisbon
}

make_database() {
    on "$1" -c "CREATE DATABASE $2" -c "ALTER DATABASE $2 SET shardid.shard_id = $3"
    on "$1/$2" -f "$here/table.sql"
}

subscribe() {
    on "$1/$2" -v subscription="$2_to_$1" -v other="$(address_of "$3" "$2")" -f "$here/subscribe.sql" >/dev/null
}

# --- Load and checks.

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

# Output without the directories of this sandbox, and without times.
shown() {
    sed -E "s#$folder/##g; s/( is at| since| until) [0-9]{4}-[^,. ]+ [0-9:.]+\+00/\1 .../g" "$1"
}

# --- The example.

echo "Two nodes that both take writes, on $(pg_config --version)."
start_node lisbon
start_node oslo

say '1. Each node has its own shard'
both shop 1 2
write shop 1000
wait_until 'shop is in step' in_step shop 2000
show oslo/shop -c 'SELECT ids.id_shard(id), taken_in, count(*) FROM photos GROUP BY 1, 2 ORDER BY 1'
expect 'ids misplaced' "$(ask oslo/shop "SELECT count(*) FROM photos WHERE (taken_in = 'lisbon') <> (ids.id_shard(id) = 1)")" 0
echo '    Both have the same 2000 rows, and no id was drawn twice.'

say '2. Leases: a registry gives each node a shard of its own'
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
wait_until 'leased is in step' in_step leased 2000
show lisbon/leased -c 'SELECT ids.id_shard(id), taken_in, count(*) FROM photos GROUP BY 1, 2 ORDER BY 1'
expect 'shards' "$(ask oslo/leased "SELECT count(DISTINCT ids.id_shard(id)) || ' ' || count(DISTINCT (ids.id_shard(id), taken_in)) FROM photos")" '2 2'
echo '    Both databases have shardid.shard_id = 1, and nobody looks at it.'

verdict='no conflict of ids with a shard or a lease for each node'
