#!/usr/bin/env bash
# Takes 6 s: a shard moves from one server to another and back, while four clients write to it.
set -euo pipefail
# shellcheck source=examples/servers.sh
source "$(dirname "$0")/../../examples/servers.sh"

told=$folder/told

conninfo() {
    echo "host=$(host_of "$1") user=postgres dbname=postgres"
}

make_place() {
    start_server "$1" <<<'wal_level = logical'
    on "$1" -c 'CREATE EXTENSION shardid'
}

start_writers() {
    "$here/writer.py" "$told" "$(conninfo north)" "$(conninfo south)" &
    writers=$!
    wait_until 'ids of the north' has_ids_of 0
}

# Whether clients have received ids of the server with this place.
has_ids_of() {
    cut -d ' ' -f 5 "$told".* | grep -qx "$1"
}

stop_writers() {
    kill "$writers"
    wait "$writers"
}

# Runs the mover; its output is without the sandbox's directories.
move_shard() {
    local command=$1 from=$2 to=$3
    shift 3
    "$here/move_shard.py" "$@" "$command" shard5 --from "$(conninfo "$from")" --to "$(conninfo "$to")" 2>&1 |
        sed "s:$folder/::g" | indented
}

# Ids that a client received and no row has, and rows whose id no client received.
lost_or_untold() {
    diff <(cut -d ' ' -f 1 "$told".* | sort) <(ask "$1" 'SELECT id FROM shard5.photos' | sort) | grep -c '^[<>]' || true
}

# By the third column, the time in nanoseconds at which the row was there.
longest_wait() {
    awk 'FNR > 1 && $3 - last > longest { longest = $3 - last } { last = $3 } END { printf "%d ms", longest / 1000000 }' "$told".*
}

make_place north
make_place south
on north -f "$here/shard.sql"
start_writers

say 'The shard is in the north. What a move to the south would do (each line to its 110th character):'
move_shard switch north south --dry-run | cut -c -110

say 'The copy, for as long as it takes:'
move_shard copy north south

say 'The switch, for which writers wait:'
move_shard switch north south

say 'Who still writes in the north is refused, and told where to go:'
fails north "INSERT INTO shard5.photos (name) VALUES ('late')"
fails north "SELECT next_id(5, 'shard5.ids')"

say 'When all is well, the old rows are dropped:'
move_shard finish north south

say 'And back, in one go:'
wait_until 'ids of the south' has_ids_of 1
move_shard finish south north

stop_writers
say "$(cat "$told".* | wc -l) photos were written meanwhile, and the longest wait of a writer was $(longest_wait)."
expect 'ids that were lost, or stored untold' "$(lost_or_untold north)" 0
expect 'ids twice' "$(cut -d ' ' -f 1 "$told".* | sort | uniq -d | wc -l)" 0
expect 'servers that were written to' "$(cut -d ' ' -f 5 "$told".* | sort -u | wc -l)" 2
verdict='each row is in the shard once, with an id of its own'
