#!/usr/bin/env bash
# Takes 1 min: alerts on ids fire and clear again, in Prometheus, for what an exporter reads from a server. alerts_test.yml
# tests each alert, and t/pages/monitoring.pl what the queries return.
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
set_right() { set_clock +0; }

revoke() { on shop/shop -c 'REVOKE SELECT ON ALL SEQUENCES IN SCHEMA ids, public FROM shardid_monitor'; }
grant() { on shop/shop -f "$here/role.sql"; }

stop_registry() { pg_ctl -D "$folder/registry/data" -m fast -w stop >/dev/null; }
start_registry() { run_server registry; }

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
event 'SELECT is revoked' 'role.sql' ShardidNotMeasured revoke grant
event 'the registry is stopped' 'it is started' ShardidLeaseNotRenewed stop_registry start_registry
wait_until 'all alerts are clear' is_clear ''
verdict="${#events[@]} of ${#events[@]} alerts fired and cleared"
