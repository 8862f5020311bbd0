#!/usr/bin/env bash
# Takes 1 min: 2,000 logical shards in two databases, and PL/Proxy, which routes each call to its shard.
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"
needs plproxy

make_databases() {
    on one -f "$here/database.sql"
    on two -f "$here/database.sql"
    on one -c 'CALL make_shards(0, 999)' &
    on two -c 'CALL make_shards(1000, 1999)'
    wait $!
}

# The proxy has no rows, so it can be on any server; here it is on server one.
make_proxy() {
    on one -c 'CREATE DATABASE proxy'
    in_proxy proxy.sql
}

# in_proxy FILE: runs it in the proxy, with the addresses of the two databases.
in_proxy() {
    on one/proxy -f "$here/$1" -v one="host=$(host_of one) dbname=postgres user=postgres" \
        -v two="host=$(host_of two) dbname=postgres user=postgres"
}

# Four sessions. The ids that they receive go to a file, then into a table, and the rows found by them into another.
write_for_many() {
    local first writers=()
    for first in 1 2 3 4; do
        ask one/proxy "SELECT add_photo(user_id, 'one of many') FROM generate_series($first, 2000, 4) user_id" \
            >"$folder/told.$first" &
        writers+=($!)
    done
    wait_for "${writers[@]}"
    cat "$folder"/told.* >"$folder/told"
    on one/proxy -c 'CREATE TABLE told (id bigint)' -c "\\copy told FROM '$folder/told'" \
        -c 'CREATE TABLE found AS SELECT * FROM photos(ARRAY(TABLE told))'
}

wait_for() {
    local pid
    for pid in "$@"; do
        wait "$pid"
    done
}

say '== 2,000 logical shards, a schema each, in two databases'
start_server one </dev/null
start_server two </dev/null
make_databases
make_proxy
show one/proxy -c 'SELECT database, min(shard), max(shard), count(*) FROM shard_map GROUP BY database ORDER BY database'
expect 'shards that are not where the map says' "$(ask one/proxy 'SELECT count(*) FROM misplaced_shards')" 0

say '== Writes go by user, reads by user or by id'
lighthouse=$(ask one/proxy "SELECT add_photo(31341, 'lighthouse')")
harbour=$(ask one/proxy "SELECT add_photo(42, 'harbour')")
show one/proxy -c "SELECT id_shard(id), user_id, caption FROM photo($lighthouse)" \
    -c "SELECT id_shard(id), user_id, caption FROM photos(ARRAY[$lighthouse, $harbour]) ORDER BY id"
expect 'who reads by user' "$(ask one/proxy 'SELECT id, caption FROM photos_of(42)')" "$harbour|harbour"

say '== Four sessions write for 2,000 users. All that they were told is there, in the shards of its users:'
write_for_many
show one/proxy -c 'SELECT count(*), count(DISTINCT id) FROM told' \
    -c 'SELECT count(*), count(*) FILTER (WHERE id_shard(id) = user_id % 2000) AS in_its_shard FROM found'
expect 'ids that were told' "$(ask one/proxy 'SELECT count(*), count(DISTINCT id) FROM told')" '2000|2000'
expect 'those found in the shards of their users' \
    "$(ask one/proxy 'SELECT count(*) FROM found WHERE id_shard(id) = user_id % 2000')" 2000

say '== The map raises an error for a shard that nobody has,'
fails one/proxy 'SELECT * FROM photo(5000::bigint << 10)' 'no database has shard 5000'
fails one/proxy "SELECT * FROM photos(ARRAY[$harbour, 5000::bigint << 10])" 'no database has shard 5000'

say '== the database for one that is not there, should the map be wrong,'
on one/proxy -c 'UPDATE shard_map SET database = 0 WHERE shard = 1341'
fails one/proxy "SELECT * FROM photo($lighthouse)" 'shard 1341 is not in this database'
fails one/proxy "SELECT add_photo(31341, 'late')" 'shard 1341 is not in this database'
show one/proxy -c 'SELECT * FROM misplaced_shards'
expect 'shards that are not where the map says' "$(ask one/proxy 'SELECT * FROM misplaced_shards')" '1341|0|1'
on one/proxy -c 'UPDATE shard_map SET database = 1 WHERE shard = 1341'
expect 'with the map right again' "$(ask one/proxy "SELECT caption FROM photo($lighthouse)")" lighthouse

say '== and CHECK for a row that is written into the wrong shard.'
fails two "INSERT INTO shard1341.photos (id, user_id) VALUES ($harbour, 31341)" photos_id_check
fails two 'INSERT INTO shard1341.photos (user_id) VALUES (42)' photos_user_id_check
verdict='each call reaches the database that has the shard of its id, and errors where none has it'
