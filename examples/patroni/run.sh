#!/usr/bin/env bash
# Takes 4 min: failovers of three nodes under Patroni and etcd, under load.
# All ids that clients received are checked.
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../servers.sh"
# shellcheck source=examples/patroni/cluster.sh
source "$here/cluster.sh"
# shellcheck source=t/suite/judge.sh
source "$here/../../t/suite/judge.sh"

needs_program etcd patroni patronictl

# --- Clients, which insert rows and generate ids, and record the ids outside the servers.

start_clients() {
    local table call
    rm -rf "$folder/told"
    mkdir "$folder/told"
    clients=()
    for table in photos leased_photos; do
        [[ $table == photos ]] && call='next_id(5)' || call="next_id(generator => 'leased_seq')"
        "$SANDBOX/judge/record" --sessions 4 --pause-ms 10 --seconds 400 --reconnect --tolerate 25006,55000 "$folder/told/$table" \
            "host=127.0.0.1,127.0.0.2,127.0.0.3 dbname=shop connect_timeout=2 target_session_attrs=read-write" \
            "INSERT INTO $table SELECT FROM generate_series(1, 10) RETURNING id" \
            "SELECT $call FROM generate_series(1, 200)" >/dev/null &
        clients+=($!)
    done
}

lines_told() {
    cat "$folder/told/$1".* 2>/dev/null | wc -l || true
}

# Waits until both tables' clients receive ids, and two seconds more.
wait_for_ids() {
    local table
    for table in photos leased_photos; do
        told_before=$(lines_told "$table")
        wait_until "ids of $table" more_of "$table"
    done
    sleep 2
}

more_of() {
    (($(lines_told "$1") > told_before + 1000))
}

stop_clients() {
    local pid
    kill "${clients[@]}"
    for pid in "${clients[@]}"; do
        wait "$pid" || { echo 'FAILED  a statement of the clients' >&2; exit 1; }
    done
    clients=()
}

# Prints "IDS DUPLICATES PAUSE" of the clients of a table; the pause is the longest time without an id, in seconds.
judge() {
    local verdict=$folder/verdict pause status=0
    "$SANDBOX/judge/check" --one-space "$folder/told/$1".* >"$verdict" || status=$?
    ((status <= 1)) || exit "$status"
    pause=$(awk '{ print $3 }' "$folder/told/$1".* | sort -nu | awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { printf "%.1f", most / 1e9 }')
    awk -v pause="$pause" '$1 == "ids" { ids = $2 } $1 == "duplicates" { twice = $2 } END { print ids, twice, pause }' "$verdict"
}

# event TEXT COMMAND...: runs it under load, and prints a line of the table. Sets twice to the duplicates of the plain
# ids; of the leased ids there must be none.
event() {
    local text=$1 plain leased leased_twice
    shift
    start_clients
    wait_for_ids
    "$@"
    wait_for_ids
    stop_clients
    read -ra plain < <(judge photos)
    read -ra leased < <(judge leased_photos)
    twice=${plain[1]}
    leased_twice=${leased[1]}
    printf '    %-46s %9s %7s %7s s %10s %7s %7s s\n' "$text" "${plain[@]}" "${leased[@]}"
    expect "$text: leased ids twice" "$leased_twice" 0
}

# --- The events. Each ends with a new leader, which clients have found.

fail_over() {
    local old=$leader
    kill_leader
    wait_until 'a new leader' find_leader
    [[ $leader != "$old" ]]
}

switch_over_to_n1() {
    operator switchover --force --candidate n1
    wait_until 'n1 leads' is_primary n1
    leader=n1
}

fail_over_unsent() {
    stop_senders
    sleep 3
    fail_over
}

bring_back() {
    run_node n1
    wait_until 'n1 is back' streams 2
}

set_config() {
    operator edit-config --force "$@" shop
}

# --- The example.

[[ -e $SANDBOX/judge/check ]] || compile_judge -Wall &
judge_build=$!
choose_ports
start_etcd
make_node n1
make_node n2 25
make_node n3 25
run_node n1
start_server registry </dev/null
on registry -f "$here/registry.sql" >/dev/null
wait_until 'n1 leads' find_leader
run_node n2
run_node n3
on "$leader" -c 'CREATE DATABASE shop'
on "$leader/shop" -v registry="$(host_of registry)" -v port="$PGPORT" -f "$here/database.sql" >/dev/null
wait_until 'two standbys stream' streams 2
wait "$judge_build"

echo "Three nodes of $(patroni --version) on $(pg_config --version). The clocks of n2 and n3 are 25 s behind."
echo 'Ids that clients were told, how many of them twice, and for how long nobody got one:'
echo
printf '    %-46s %26s   %26s\n' '' 'shard 5, told by the call' 'leased shard'
event 'kill -9 of n1, asynchronous' fail_over
expect 'ids twice' "$twice" 0
bring_back
event "switchover from $leader to n1" switch_over_to_n1
expect 'ids twice' "$twice" 0
set_config -s synchronous_mode=true
wait_until 'a synchronous standby' is_synchronous
event 'synchronous_mode, 3 s unsent, kill -9 of n1' fail_over_unsent
expect 'ids twice' "$twice" 0
set_config -s synchronous_mode=false -s maximum_lag_on_failover=1073741824
bring_back
switch_over_to_n1
wait_until 'two standbys stream' streams 2
event 'asynchronous, 3 s unsent, kill -9 of n1' fail_over_unsent
expect 'asynchronous failover repeats ids' "$((twice > 0))" 1
verdict='no id twice but by asynchronous failover of a shard without a lease, which repeats what was not sent'
