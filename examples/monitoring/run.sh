#!/usr/bin/env bash
# Takes 2 min: each alert on ids fires and clears again, in Prometheus, for what an exporter reads from a server.
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"

needs_program prometheus promtool prometheus-sql-exporter

# --- The processes. They end with the example.

running=()

# shellcheck disable=SC2317,SC2329 # called by a trap
stop_all() {
    ((${#running[@]} == 0)) || kill "${running[@]}" || true
    wait || true
    stop_servers
}
trap '{ status=$?; stop_all; } 2>/dev/null; end "$status"' EXIT # bash would tell of each that was killed

# Its clock is that of the machine, and what the file says.
start_shop() {
    local library=(/usr/lib/*/faketime/libfaketime.so.1)
    [[ -e ${library[0]} ]] || { echo 'libfaketime is not installed' >&2; return 1; }
    make_server shop </dev/null
    set_clock +0
    (
        export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD }${library[0]}" FAKETIME_TIMESTAMP_FILE=$folder/clock \
            FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1
        run_server shop
    )
}

set_clock() {
    echo "$1" >"$folder/clock.new"
    mv "$folder/clock.new" "$folder/clock"
}

# An application. It goes on after errors.
start_writer() {
    while sleep 0.2; do
        echo 'INSERT INTO photos DEFAULT VALUES; INSERT INTO orders DEFAULT VALUES;'
    done | psql -X -q -h "$(host_of shop)" -d shop >"$folder/writer.log" 2>&1 &
    running+=($!)
}

# The files as they are, with this database's connection, and every second.
start_exporter() {
    exporter_port=$(free_ports 1)
    sed -E "s#postgres://.*#postgres://shardid_monitor@/shop?host=$(host_of shop)\&sslmode=disable#; s/interval: .*/interval: 1s/" \
        "$here/sql_exporter.yml" >"$folder/sql_exporter.yml"
    LOGLEVEL=warn prometheus-sql-exporter -config.file "$folder/sql_exporter.yml" -web.listen-address "127.0.0.1:$exporter_port" \
        >"$folder/exporter.log" 2>&1 &
    running+=($!)
    wait_until 'the exporter answers' answers_at "$exporter_port"
}

# The same alerts, after two seconds instead of minutes.
start_prometheus() {
    prometheus_port=$(free_ports 1)
    sed -E 's/^( +for:) .*/\1 2s/' "$here/alerts.yml" >"$folder/alerts.yml"
    sed -E "s/_interval: .*/_interval: 1s/; s/localhost:9237/127.0.0.1:$exporter_port/" "$here/prometheus.yml" >"$folder/prometheus.yml"
    prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/prometheus" --log.level=warn \
        --web.listen-address="127.0.0.1:$prometheus_port" >"$folder/prometheus.log" 2>&1 &
    running+=($!)
    wait_until 'Prometheus answers' answers_at "$prometheus_port"
}

# --- What Prometheus says.

# values EXPRESSION: a line for each.
values() {
    promtool query instant "http://127.0.0.1:$prometheus_port" "$1" 2>/dev/null
}

holds() {
    [[ -n $(values "$1") ]]
}

fires() {
    holds "ALERTS{alertname=\"$1\", alertstate=\"firing\"}"
}

is_clear() {
    ! holds "ALERTS${1:+{alertname=\"$1\"\}}" && holds 'up == 1'
}

# event TEXT REMEDY ALERT CAUSE CURE: a line of the table. The two last are functions.
events=()
event() {
    local text=$1 remedy=$2 alert=$3 since fired
    wait_until "$alert is clear at first" is_clear "$alert"
    since=$SECONDS
    "$4"
    wait_until "$alert fires" fires "$alert"
    fired=$SECONDS
    "$5"
    wait_until "$alert clears" is_clear "$alert"
    printf '    %-36s %-24s %4s s  %-40s %4s s\n' "$text" "$alert" $((fired - since)) "$remedy" $((SECONDS - fired))
    events+=("$alert")
}

# --- What happens, and what is done about it.

set_back_two_hours() { set_clock -7200; }
set_back_two_days() { set_clock -172800; }
set_right() { set_clock +0; }

# end_in_200_days BITS: the layout was chosen so long ago that so many bits of milliseconds have nearly passed.
end_in_200_days() {
    on shop/shop >/dev/null <<SQL
SET client_min_messages = error;
CREATE SEQUENCE old_ids;
SELECT ids.next_id(1, 'old_ids', date_trunc('second', now()) + interval '200 days' - (1::bigint << $1) * interval '1 ms');
SQL
}
turn_negative_soon() { end_in_200_days 40; }
end_soon() { end_in_200_days 41; }
replace_generator() { on shop/shop -c 'DROP SEQUENCE old_ids'; }

# A transaction whose only id is two hours old.
hold_back() {
    set_back_two_hours
    on shop/shop -c 'CREATE SEQUENCE ids.held_ids CACHE 2'
    psql -X -q -h "$(host_of shop)" -d shop -c BEGIN -c "SELECT ids.next_id(1, 'ids.held_ids')" -c 'SELECT pg_sleep(600)' \
        >"$folder/held.log" 2>&1 &
    running+=($!)
    wait_until 'readers are held back' holds 'sql_shardid_generator{col="lead_seconds", generator="ids.held_ids"}'
    set_right
}
let_go() {
    on shop/shop -c "SELECT pg_terminate_backend(held_back_by) FROM ids.id_generator_status('ids.held_ids')" >/dev/null
    on shop/shop -c 'DROP SEQUENCE ids.held_ids'
}

own() { on shop/shop -c 'CREATE TABLE carts (id bigserial)' -c "SELECT ids.next_id(1, 'carts_id_seq')" >/dev/null; }
disown() { on shop/shop -c 'ALTER SEQUENCE carts_id_seq OWNED BY NONE'; }

revoke() { on shop/shop -c 'REVOKE SELECT ON ALL SEQUENCES IN SCHEMA ids, public FROM shardid_monitor'; }
grant() { on shop/shop -f "$here/role.sql"; }

stop_registry() { pg_ctl -D "$folder/registry/data" -m fast -w stop >/dev/null; }
start_registry() { run_server registry; }

# A second database leases the same shard, which was taken from the first by mistake.
evict() {
    on registry -c "SELECT shardid_lease.evict_shard('shop', 0)" >/dev/null
    on shop -c 'CREATE DATABASE other'
    on shop/other >/dev/null <<SQL
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$(host_of registry)', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'postgres');
SELECT shardid_lease.lease_shard('shop', 'registry', shard => 0);
SQL
}
take_over() {
    on shop/other -c 'SELECT shardid_lease.release_shard()' >/dev/null
    on shop/shop -c "SELECT shardid_lease.take_over_shard('ids.order_ids')" >/dev/null
}

# --- The example.

start_server registry </dev/null
on registry -f "$here/registry.sql" >/dev/null
start_shop
on shop -c 'CREATE DATABASE shop'
on shop/shop -v registry="$(host_of registry)" -f "$here/shop.sql" >/dev/null
on shop/shop -f "$here/role.sql"
start_writer
start_exporter
start_prometheus
wait_until 'ids of both generators are measured' holds 'count(rate(sql_shardid_generator{col="rows_inserted"}[10s]) > 0) == 2'
wait_until 'the lease is measured' holds 'sql_shardid_lease{col="seconds_left"} > 0'

say '== What happens, and the alerts. Intervals are a second, and for: is 2 s'
printf '    %-36s %-24s %-7s %-40s %s\n' 'what happens' alert 'fires' 'what is done' 'clears'
event 'the clock is set back by 2 hours' 'it is set right' ShardidGeneratorAhead set_back_two_hours set_right
event 'the clock is set back by 2 days' 'it is set right' ShardidGeneratorFarAhead set_back_two_days set_right
event 'ids turn negative in 200 days' 'another generator replaces it' ShardidIdsTurnNegative turn_negative_soon replace_generator
event 'a generator ends in 200 days' 'another generator replaces it' ShardidGeneratorEnds end_soon replace_generator
event 'a transaction is open for two hours' 'it is ended' ShardidReadersHeldBack hold_back let_go
event 'a column owns the generator' 'OWNED BY NONE' ShardidGeneratorOwned own disown
event 'SELECT is revoked' 'role.sql' ShardidNotMeasured revoke grant
event 'the registry is stopped' 'it is started' ShardidLeaseNotRenewed stop_registry start_registry
event 'the registry is stopped' 'it is started' ShardidLeaseEnds stop_registry start_registry
event 'another database leases the shard' 'release_shard there, take_over_shard here' ShardidRegistryRefuses evict take_over
wait_until 'all alerts are clear' is_clear ''

echo
expect 'alerts that were shown' "$(printf '%s\n' "${events[@]}" | sort)" "$(sed -n 's/^ *- alert: //p' "$here/alerts.yml" | sort)"
verdict="${#events[@]} of ${#events[@]} alerts fired and cleared"
