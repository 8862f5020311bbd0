# shellcheck shell=bash
# Runs the parts of a test run at the same time, and prints their output in the order of their start, the
# lines of each part together. To be sourced, after report.sh.
#
# A part is stopped as a whole by its process group. Its directory in $SANDBOX/parts has its output, the time that it
# took and, if it has ended, its counts.

# More than there are processors, since most tests wait more than they compute.
parts_at_once=$(($(nproc) + 6))
parts=() # the process group of each, in the order of their start
parts_printed=0

# Starts a command as a part, with a step and counts of its own, when fewer parts run than may.
part() {
    local folder=$SANDBOX/parts/${#parts[@]}
    while (($(jobs -pr | wc -l) >= parts_at_once)); do
        wait -n
        print_ended_parts
    done
    mkdir -p "$folder"
    name_of_part "$@" >"$folder/name"
    set -m # gives it a process group
    tools/suite/spent.py "$folder/spent" tools/test.sh --part "$folder" "$@" >"$folder/output" 2>&1 </dev/null &
    set +m
    parts+=($!)
}

# "tap t/generator/load.pl", "clang-tidy": without the functions that run it.
name_of_part() {
    [[ $1 != in_background ]] || shift
    if [[ $1 == step ]]; then
        echo "$2"
    else
        echo "$*"
    fi
}

run_part() {
    local folder=$1
    shift
    "$@"
    counts >"$folder/counts"
}

# For parts that only compute, next to parts that measure time.
in_background() {
    renice -n 10 "$BASHPID" >/dev/null
    "$@"
}

# All parts up to the first that still runs.
print_ended_parts() {
    local running
    running=$(jobs -pr)
    while ((parts_printed < ${#parts[@]})) && ! grep -qx "${parts[parts_printed]}" <<<"$running"; do
        print_next_part
    done
}

print_next_part() {
    local folder=$SANDBOX/parts/$parts_printed part_passed part_failed
    cat "$folder/output"
    echo "$(cat "$folder/spent" 2>/dev/null || echo 0 0) $(cat "$folder/name")" >>"$SANDBOX/spent"
    if [[ -s $folder/counts ]]; then
        read -r part_passed part_failed <"$folder/counts"
        count "$part_passed" "$part_failed"
    else
        echo "FAILED  $(cat "$folder/name"): did not come to its end"
        count 0 1
        stop_group "${parts[parts_printed]}"
    fi
    parts_printed=$((parts_printed + 1))
}

# Waits for all parts.
finish_parts() {
    while ((parts_printed < ${#parts[@]})); do
        wait "${parts[parts_printed]}"
        print_next_part
    done
}

# Servers that pg_ctl has started are not in the group: sandbox.sh stops them.
stop_group() {
    local group=$1 tries
    kill -- "-$group" 2>/dev/null
    for ((tries = 0; tries < 50; tries++)); do
        kill -0 -- "-$group" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null
}

# When the run is interrupted.
stop_parts() {
    local group groups=("${parts[@]:parts_printed}")
    ((${#groups[@]} == 0)) || kill -- "${groups[@]/#/-}" 2>/dev/null
    for group in "${groups[@]}"; do
        stop_group "$group"
    done
}
