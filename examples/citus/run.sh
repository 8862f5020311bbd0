#!/usr/bin/env bash
# Takes 40 s: a coordinator and two workers of Citus, with a shard number and with a lease for each node.
# Runs the SQL of README.md, on a server that has Citus.
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"
needs citus

# --- The servers.

start_node() {
    start_server "$1" <<END
shared_preload_libraries = 'citus'
wal_level = logical
citus.node_conninfo = 'sslmode=disable' # the nodes connect by unix sockets
citus.local_hostname = '$(host_of "$1")'
END
    on "$1" -c 'CREATE DATABASE shop'
    on "$1/shop" -c 'CREATE EXTENSION citus'
}

add_worker() {
    start_node "$1"
    quietly "SELECT citus_add_node('$(host_of "$1")', 5432)"
}

quietly() {
    on coordinator/shop -c "$1" >/dev/null
}

# --- The page's SQL.

# page NAME: prints a block of README.md.
page() {
    "$here/../../tools/page_block.sh" "$here/README.md" "$1"
}

# The registry of contrib/lease/RUNBOOK.md, in an existing database, with one role for all members.
registry_block() {
    "$here/../../tools/page_block.sh" "$here/../../contrib/lease/RUNBOOK.md" registry |
        sed -e '/^CREATE DATABASE/d' -e '/^\\c /d' -e '/^CREATE ROLE \(lisbon\|cairo\)_member/d' \
            -e 's/, lisbon_member, cairo_member//' -e "s/, lease => '10 minutes'//" -e 's/oslo_member/shop_member/' -e 's/secret1/secret/'
}

# run NAME: runs this block.
run() {
    page "$1" | sed "s#'registry.example'#'$(host_of registry)'#" | on coordinator/shop >"$folder/said"
}

# answers NAME ANSWER: runs block NAME and shows the output, whose end must be block ANSWER.
answers() {
    local said wanted
    run "$1"
    said=$(trimmed <"$folder/said")
    wanted=$(page "$2" | trimmed)
    said=$(tail -n "$(wc -l <<<"$wanted")" <<<"$said")
    indented <<<"$said"
    expect "$1" "$said" "$wanted"
}

trimmed() {
    sed 's/ *$//; /^$/d'
}

by_function() {
    page each_draws | on coordinator/shop -At -F ' ' | cut -d ' ' -f 3 | sort | paste -sd ' '
}

# --- A shard number per node.

start_node coordinator
quietly "SELECT citus_set_coordinator_host('$(host_of coordinator)', 5432)"
add_worker worker1
add_worker worker2

say 'A coordinator and two workers. Each takes its shard from the number that Citus gave to it.'
page extension | indented
run extension
answers each_draws each_draws_answer

page tables | on coordinator/shop >/dev/null
say 'The node that evaluates the default draws: where the client is, or the workers that hold the rows.'
page inserts | indented
answers inserts inserts_answer
on worker1/shop -c "INSERT INTO photos (user_id, name) VALUES (1, 'worker'), (2, 'worker')"
expect 'the shard of a client of worker1' \
    "$(ask coordinator/shop "SELECT DISTINCT ids.id_shard(id) FROM photos WHERE name = 'worker'")" 1
on coordinator/shop -c 'ALTER TABLE photos ADD COLUMN mark bigint DEFAULT next_shop_id()'
expect 'a column that is added to a distributed table' \
    "$(ask coordinator/shop 'SELECT count(*) = count(DISTINCT mark), array_agg(DISTINCT ids.id_shard(mark)) FROM photos')" 't|{1,2}'
on coordinator/shop -c 'ALTER TABLE photos DROP COLUMN mark'

# --- Grants.

run grants
for node in coordinator worker2; do
    PGUSER=shop_app on $node/shop -c "INSERT INTO photos (user_id, name) VALUES (3, 'app')" \
        -c "INSERT INTO photos (user_id, name) SELECT user_id, 'app' FROM photos"
done

on coordinator/shop -c 'ALTER FUNCTION next_shop_id SECURITY DEFINER' -c 'CREATE ROLE shop_guest LOGIN' \
    -c 'GRANT SELECT, INSERT ON photos TO shop_guest' \
    -c 'REVOKE EXECUTE ON FUNCTION next_shop_id FROM PUBLIC' -c 'GRANT EXECUTE ON FUNCTION next_shop_id TO shop_guest'
expect 'who may call it on a worker' "$(ask worker2/shop "SELECT has_function_privilege('shop_guest', 'next_shop_id()', 'EXECUTE'),
    has_function_privilege('shop_app', 'next_shop_id()', 'EXECUTE')")" 't|f'
PGUSER=shop_guest on worker1/shop -c "INSERT INTO photos (user_id, name) SELECT user_id, 'guest' FROM photos WHERE user_id < 9"
expect 'ids of all these' "$(ask coordinator/shop 'SELECT count(*) - count(DISTINCT id) FROM photos')" 0

# --- Own generators, a new node.

say 'A generator that a default names is narrowed on the workers.'
page trap | sed '$d' | on coordinator/shop >/dev/null
fails coordinator/shop "$(page trap | tail -n 1)" "$(page trap_error | sed -n '1s/^ERROR:  //p')" | cut -c 1-120
fails coordinator/shop 'ALTER SEQUENCE ids.orders_id_seq NO MAXVALUE' >/dev/null

say 'One that is named in a text is not.'
answers own own_answer

say 'A new worker has its number by the function:'
add_worker worker3
expect 'shards by the function, with a new node' "$(by_function)" '0 1 2 3'
quietly "$(page own | sed '/^CREATE FUNCTION/,$d')"

# --- Mistakes that raise no error, and how to prevent them.

say 'A literal shard: two workers that come to one millisecond, as they do under load, repeat each other'"'"'s ids.'
on coordinator/shop >/dev/null <<'SQL'
CREATE TABLE literals (user_id bigint, id bigint DEFAULT ids.next_id(5));
SELECT create_distributed_table('literals', 'user_id');
SELECT ids.id_lower_bound(now() + interval '1 min') AS soon \gset
SELECT run_command_on_workers(format('SELECT ids.raise_generator(''ids.shardid_seq'', %s)', :soon));
INSERT INTO literals (user_id) SELECT user_id FROM photos;
SQL
expect 'defaults with a literal shard' "$(page literals | on coordinator/shop -At)" 'literals|ids.next_id(5)'
show coordinator/shop -c 'SELECT count(*) - count(DISTINCT id) > 0 AS ids_twice FROM literals'
expect 'ids are twice' "$(ask coordinator/shop 'SELECT count(*) > count(DISTINCT id) FROM literals')" t

say 'With a lease a node a literal shard is refused.'
start_server registry </dev/null
on registry -c 'CREATE DATABASE registry'
registry_block | on registry/registry >/dev/null
run leases
fails coordinator/shop 'INSERT INTO literals VALUES (1)' 'has a lease for another shard'
quietly "INSERT INTO photos (user_id, name) SELECT user_id, 'leased' FROM photos"
expect 'ids by leases' \
    "$(ask coordinator/shop "SELECT count(*) - count(DISTINCT id) FROM photos")" 0
expect 'shards that are held' \
    "$(ask registry/registry "SELECT count(DISTINCT port) FROM shardid_lease.id_space_shards WHERE state = 'held'")" 4
verdict='no id twice with a number or a lease for each node; a literal shard repeats ids'
