# shellcheck shell=bash
# shellcheck disable=SC2154 # folder and here are set by servers.sh
# etcd, three nodes of Patroni on loopback addresses, and their faults. To be sourced after servers.sh; the processes
# end with the example.

nodes=(n1 n2 n3)
addresses=([1]=127.0.0.1 [2]=127.0.0.2 [3]=127.0.0.3)
declare -A patroni=() # the process of each node
etcd=()
clients=()

# shellcheck disable=SC2317,SC2329 # called by a trap
stop_cluster() {
    local running=("${clients[@]}" "${patroni[@]}" "${etcd[@]}")
    ((${#running[@]} == 0)) || kill -KILL "${running[@]}" || true
    wait || true
    stop_servers
}
trap '{ status=$?; stop_cluster; } 2>/dev/null; end "$status"' EXIT # bash would report each killed process

choose_ports() {
    PGPORT=$(free_ports 4)
    export PGPORT
    etcd_port=$((PGPORT + 1)) peer_port=$((PGPORT + 2)) rest_port=$((PGPORT + 3))
}

start_etcd() {
    local client=http://127.0.0.1:$etcd_port peer=http://127.0.0.1:$peer_port
    etcd --name etcd --data-dir "$folder/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "etcd=$peer" \
        >"$folder/etcd.log" 2>&1 &
    etcd=($!)
    wait_until 'etcd answers' answers_at "$etcd_port"
}

# make_node NAME [SECONDS]: makes its PostgreSQL programs, with a clock that is behind by this number of seconds.
make_node() {
    local node=$1 behind=${2:-0} bin
    mkdir -p "$folder/$node/bin"
    for bin in "$(pg_config --bindir)"/*; do
        ln -s "$bin" "$folder/$node/bin/"
    done
    ((behind == 0)) || set_back "$node" "$behind"
    { cat "$TEMP_CONFIG"; echo 'fsync = off'; } >"$folder/$node/custom.conf"
    sed "s#@name@#$node#; s#@address@#${addresses[${node#n}]}#; s#@rest_port@#$rest_port#; s#@etcd_port@#$etcd_port#
s#@port@#$PGPORT#; s#@folder@#$folder#g; s#@here@#$here#g" "$here/node.yml" |
        sed "s#@name@#$node#g; s#@address@#${addresses[${node#n}]}#g; s#@rest_port@#$rest_port#g; s#@port@#$PGPORT#g" \
            >"$folder/$node.yml"
}

# Only the server's clock: Patroni keeps the clock of this machine.
set_back() {
    local library=(/usr/lib/*/faketime/libfaketime.so.1)
    [[ -e ${library[0]} ]] || { echo 'libfaketime is not installed' >&2; return 1; }
    rm "$folder/$1/bin/postgres"
    cat >"$folder/$1/bin/postgres" <<END
#!/bin/sh
exec env LD_PRELOAD='${LD_PRELOAD:+$LD_PRELOAD }${library[0]}' FAKETIME=-$2 FAKETIME_DONT_FAKE_MONOTONIC=1 \\
    DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1 '$(pg_config --bindir)/postgres' "\$@"
END
    chmod +x "$folder/$1/bin/postgres"
}

run_node() {
    patroni "$folder/$1.yml" >>"$folder/$1.log" 2>&1 &
    patroni[$1]=$!
}

is_primary() {
    is_true "$1" 'SELECT NOT pg_is_in_recovery()' 2>/dev/null
}

# Sets leader.
find_leader() {
    local node
    for node in "${nodes[@]}"; do
        if [[ -n ${patroni[$node]:-} ]] && is_primary "$node"; then
            leader=$node
            return
        fi
    done
    return 1
}

# streams COUNT: this number of standbys follow the leader, and have all WAL.
streams() {
    [[ $(ask "$leader" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn > pg_current_wal_lsn() - 65536") == "$1" ]]
}

is_synchronous() {
    is_true "$leader" "SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'"
}

# Runs an operator's patronictl command, on any running node.
operator() {
    patronictl -c "$folder/$leader.yml" "$@" >>"$folder/patronictl.log" 2>&1 || { tail -n 5 "$folder/patronictl.log" >&2; return 1; }
}

# As if the machine failed: kills Patroni and the server at once.
kill_leader() {
    local postmaster processes
    postmaster=$(head -n 1 "$folder/$leader/data/postmaster.pid")
    mapfile -t processes < <(ps -o pid= --ppid "$postmaster" | tr -d ' ')
    {
        kill -KILL "${patroni[$leader]}" "$postmaster" "${processes[@]}"
        wait "${patroni[$leader]}"
    } 2>/dev/null || true
    unset "patroni[$leader]"
}

# From now on the leader sends no WAL.
stop_senders() {
    local senders
    mapfile -t senders < <(ask "$leader" 'SELECT pid FROM pg_stat_replication')
    kill -STOP "${senders[@]}"
}
