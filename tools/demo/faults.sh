# shellcheck shell=bash
# Instagram's PL/pgSQL function (called the recipe) and next_id at the same time, under load and with faults: the programs
# of the tests record outside the server what clients receive, and count duplicates afterwards. To be sourced, after
# cluster.sh and judge.sh.

# The least number of ids of each before a fault, and after it; load without a fault has twenty times as many.
demo_ids=${DEMO_IDS:-25000}
ids_at_once=${DEMO_IDS_AT_ONCE:-1000}

contenders=(recipe next_id)
declare -A call=([recipe]='baseline.next_id()' [next_id]='ids.next_id()') received=() repeated=() recorder=()

# --- A server that follows the clock in a file, as t/lib/ShardidTest.pm has one.

set_clock() {
    echo "$1" >"$SANDBOX/clock.new"
    mv "$SANDBOX/clock.new" "$SANDBOX/clock"
}

start_with_clock() {
    local library=(/usr/lib/*/faketime/libfaketime.so.1)
    [[ -e ${library[0]} ]] || { echo 'libfaketime is not installed' >&2; return 1; }
    env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD }${library[0]}" FAKETIME_TIMESTAMP_FILE="$SANDBOX/clock" FAKETIME_NO_CACHE=1 \
        FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_RESET=1 \
        pg_ctl -D "$SANDBOX/data" -l "$SANDBOX/server.log" -w start >>"$SANDBOX/start.log" 2>&1
}

# Kills the postmaster, which starts none once it is stopped, and all its processes at once; some may just have ended.
kill_server() {
    local postmaster processes
    postmaster=$(head -n 1 "$SANDBOX/data/postmaster.pid")
    kill -STOP "$postmaster" && until grep -q ') T ' "/proc/$postmaster/stat"; do sleep 0.01; done
    mapfile -t processes < <(ps -o pid= --ppid "$postmaster" | tr -d ' ')
    kill -KILL "$postmaster" "${processes[@]}" 2>/dev/null || true
    while kill -0 "${processes[@]}" 2>/dev/null; do sleep 0.02; done
}

# Killed processes may hold shared memory for a moment.
start_again() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        ! start_with_clock || return 0
        sleep 0.1
    done
    tail -n 20 "$SANDBOX/server.log" >&2
    return 1
}

# --- Clients of both functions, at the same time.

# The limit of seconds ends clients whose demo was killed.
start_clients() {
    local name folder
    for name in "${contenders[@]}"; do
        folder=$SANDBOX/received/$name
        rm -rf "$folder"
        mkdir -p "$folder"
        "$SANDBOX/judge/record" --sessions 16 --reconnect --seconds 1800 --pause-ms "${DEMO_PAUSE_MS:-0}" "$folder/session" "host=$PGHOST" \
            "SELECT ${call[$name]} FROM generate_series(1, $ids_at_once)" >/dev/null &
        recorder[$name]=$!
    done
}

# wait_for_ids IDS: waits for this number of further ids of each function. A receipt has 60 bytes or more.
wait_for_ids() {
    local name
    declare -A size
    for name in "${contenders[@]}"; do
        size[$name]=$(du -sb "$SANDBOX/received/$name" | cut -f 1)
    done
    for name in "${contenders[@]}"; do
        while (($(du -sb "$SANDBOX/received/$name" | cut -f 1) < size[$name] + 60 * $1)); do
            kill -0 "${recorder[$name]}" 2>/dev/null || { echo "no ids of $name any more" >&2; return 1; }
            sleep 0.05
        done
    done
}

stop_clients() {
    local name
    for name in "${!recorder[@]}"; do
        kill -TERM "${recorder[$name]}" 2>/dev/null || true
        wait "${recorder[$name]}" || { echo "the clients of $name failed" >&2; return 1; }
    done
    recorder=()
}

# count_repeated FILE...: "IDS REPEATED" of what clients received. Fails if a file cannot be read.
count_repeated() {
    local status=0
    "$SANDBOX/judge/check" --lead-ms -1 "$@" >"$SANDBOX/verdict" || status=$?
    ((status <= 1)) || return "$status"
    awk '$1 == "ids" { ids = $2 } $1 == "duplicates" { duplicates = $2 } END { print ids, duplicates }' "$SANDBOX/verdict"
}

with_commas() {
    sed -E ':again; s/\B[0-9]{3}\b/,&/; t again' <<<"$1"
}

# side_by_side FAULT COMMAND...: prints a line of the table. The command returns when the fault is over.
side_by_side() {
    local fault=$1 name counts ids duplicates
    shift
    start_clients
    "$@"
    stop_clients
    printf '    %-36s' "$fault"
    for name in "${contenders[@]}"; do
        counts=$(count_repeated "$SANDBOX/received/$name"/*)
        read -r ids duplicates <<<"$counts"
        received[$name]=$((${received[$name]:-0} + ids))
        repeated[$name]=$((${repeated[$name]:-0} + duplicates))
        printf '%14s%12s' "$(with_commas "$ids")" "$(with_commas "$duplicates")"
    done
    echo
}

load_alone() {
    wait_for_ids "$((20 * demo_ids))"
}

# For a second, to which the clock is then set back.
load_before() {
    sleep 1.2
    wait_for_ids "$demo_ids"
}

# Whether ids that the recipe returned so far repeat; the last lines may not be whole.
recipe_has_repeated() {
    local file so_far=$SANDBOX/so_far
    rm -rf "$so_far"
    mkdir "$so_far"
    for file in "$SANDBOX/received/recipe"/*; do
        sed '$d' "$file" >"$so_far/${file##*/}"
    done
    [[ $(count_repeated "$so_far"/*) != *' 0' ]]
}

# To the same second again, if a slow machine made so few ids in it that none repeats.
clock_steps_back() {
    local back
    load_before
    for back in {1..20}; do
        set_clock "-$back"
        sleep 1
        wait_for_ids "$demo_ids"
        ! recipe_has_repeated || break
    done
}

# The server starts again with the clock set to two seconds before the load, so that time repeats; again, if none of the
# few ids of a slow machine did.
crash_and_clock_back() {
    local began=${EPOCHREALTIME/[.,]/} tries
    load_before
    kill_server
    for tries in {1..20}; do
        set_clock "-$(((${EPOCHREALTIME/[.,]/} - began) / 1000000 + 2))"
        ((tries > 1)) || start_again
        sleep 3
        wait_for_ids "$demo_ids"
        ! recipe_has_repeated || break
    done
}
