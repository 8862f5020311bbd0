#!/usr/bin/env bash
# Takes 5 s: one partitioned table over two servers by postgres_fdw; an id names the server of its row.
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"
needs postgres_fdw

# The front has no rows, so it can be on any server; here it is on server one.
make_servers() {
    start_server one </dev/null
    start_server two </dev/null
    on one -v shard=1 -f "$here/shard.sql"
    on two -v shard=2 -f "$here/shard.sql"
    on one -c 'CREATE DATABASE front'
    on one/front -v one="$(host_of one)" -v two="$(host_of two)" -f "$here/front.sql"
}

plan() {
    show one/front -At -c "EXPLAIN (VERBOSE, COSTS OFF) $1"
}

# sent SQL: prints what the front sends to the servers for it.
sent() {
    ask one/front "EXPLAIN (VERBOSE, COSTS OFF) $1" | sed -n 's/^ *Remote SQL: //p'
}

# servers_of SQL: prints how many servers it queries.
servers_of() {
    sent "$1" | wc -l
}

show_sent() {
    printf '%s\n  sends %s\n' "$1" "$(sent "$1")" | indented
}

say '== Where ids are drawn. By the front, for the server of the user: shards 101 and 102'
make_servers
lighthouse=$(ask one/front "SELECT add_photo(31341, 'lighthouse')")
ask one/front "SELECT add_photo(42, 'harbour')" >/dev/null
show one/front -c 'SELECT tableoid::regclass, ids.id_shard(id), user_id, caption FROM photos ORDER BY id'
expect 'the row on server two' "$(ask two 'SELECT id, caption FROM photos')" "$lighthouse|lighthouse"

say '== By the server, whose default runs where the foreign table leaves the column out: shard 1'
show one/front -c "INSERT INTO new_photos_one (user_id, caption) VALUES (42, 'pier')" \
    -c 'SELECT tableoid::regclass, ids.id_shard(id), caption, added IS NOT NULL AS has_time FROM photos WHERE user_id = 42 ORDER BY id'
expect 'what server one drew' "$(ask one "SELECT ids.id_shard(id), added IS NOT NULL FROM photos WHERE caption = 'pier'")" '1|t'

say '== The trap: a column that is there and has no default here is sent as NULL. Loud for a key,'
on one/front -c "CREATE FOREIGN TABLE trap (id bigint, user_id bigint, added timestamptz) SERVER one OPTIONS (table_name 'photos')"
fails one/front 'INSERT INTO trap (user_id) VALUES (44)' 'null value in column "id"'
echo '  and silent for others:'
show one/front -c 'INSERT INTO trap (id, user_id) VALUES (ids.next_id(101), 44)' -c 'SELECT user_id, added FROM trap WHERE user_id = 44'
expect 'rows with NULL' "$(ask one 'SELECT count(*) FROM photos WHERE added IS NULL')" 1
echo '  Closed by a default here, as photos has it, or by leaving the column out; and NOT NULL there makes it loud:'
on one -c 'UPDATE photos SET added = ids.id_timestamp(id) WHERE added IS NULL' -c 'ALTER TABLE photos ALTER added SET NOT NULL'
fails one/front 'INSERT INTO trap (id, user_id) VALUES (ids.next_id(101), 46)' 'null value in column "added"'

say '== Reads. By id alone all servers are asked; with its shard, one'
plan "SELECT caption FROM photos WHERE id = $lighthouse"
plan "SELECT caption FROM photos WHERE id = $lighthouse AND ids.id_shard(id) = ids.id_shard($lighthouse)"
expect 'servers asked by id alone' "$(servers_of "SELECT * FROM photos WHERE id = $lighthouse")" 2
expect 'servers asked by photo()' "$(servers_of "SELECT * FROM photo($lighthouse)")" 1
expect 'the photo' "$(ask one/front "SELECT caption FROM photo($lighthouse)")" lighthouse

say "== The server option extensions 'shardid': id_shard runs there. Without it, all rows come here to be looked at"
of_front='SELECT count(*) FROM photos_one WHERE ids.id_shard(id) = 101'
show_sent "$of_front"
on one/front -c 'ALTER SERVER one OPTIONS (DROP extensions)'
show_sent "$of_front"
expect 'conditions sent without extensions' "$(sent "$of_front" | grep -c WHERE || true)" 0
on one/front -c "ALTER SERVER one OPTIONS (ADD extensions 'shardid')"
expect 'counts that are sent with it' "$(sent "$of_front" | grep -c 'count.*WHERE.*id_shard')" 1
expect 'times that are sent' "$(sent "SELECT FROM photos_one WHERE ids.id_timestamp(id) < '2026-01-01'" | grep -c id_timestamp)" 1

say '== Nor is now() sent, which would be the clock there. In a subquery it is a value'
by_clock="SELECT id FROM photos_one WHERE id >= ids.id_lower_bound(now() - interval '1 hour')"
by_value="SELECT id FROM photos_one WHERE id >= ids.id_lower_bound((SELECT now() - interval '1 hour'))"
show_sent "$by_clock"
show_sent "$by_value"
expect 'conditions sent with now()' "$(sent "$by_clock" | grep -c WHERE || true)" 0
expect 'conditions sent with a subquery' "$(sent "$by_value" | grep -c 'WHERE.*id_lower_bound')" 1

say '== A thousand rows, each on the server that its id names'
on one/front -c 'INSERT INTO photos (id, user_id) SELECT ids.next_id(100 + server_of_user(n)), n FROM generate_series(1000, 1999) n'
expect 'rows, ids, rows in the wrong place' "$(ask one/front 'SELECT count(*), count(DISTINCT id),
    count(*) FILTER (WHERE ids.id_shard(id) % 100 <> server_of_user(user_id)) FROM photos')" '1004|1004|0'
expect 'ids of each generator' "$(ask one/front "SELECT string_agg(ids, ', ') FROM
    (SELECT ids.id_shard(id) || ': ' || count(*) AS ids FROM photos GROUP BY ids.id_shard(id) ORDER BY ids.id_shard(id)) s")" '1: 1, 101: 502, 102: 501'

say '== What belongs nowhere is not found, and no server asked; it cannot be written'
expect 'servers asked for a shard that nobody has' "$(servers_of 'SELECT * FROM photo(5000::bigint << 10)')" 0
fails one/front 'INSERT INTO photos (id, user_id) VALUES (ids.next_id(5), 42)' 'no partition of relation "photos"'
fails one/front 'INSERT INTO photos_one (id, user_id) VALUES (ids.next_id(102), 42)' photos_id_check
verdict='each row is on the server that its id names, each generator has a shard number of its own, and a read by id asks one server'
