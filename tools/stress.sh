#!/usr/bin/env bash
# Runs make test N times in a clone of the last commit, beside LOAD (4) busy loops and one that writes and fsyncs, and
# prints a line for each run with the names of the tests that failed: stress.sh N. LOAD=0 runs it on the idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:?usage: tools/stress.sh N}
load=${LOAD:-4}
work=$(mktemp -d)
others=()
running=

# shellcheck disable=SC2317,SC2329 # called by a trap
end() {
    kill "$running" "${others[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT
trap 'trap : INT TERM; exit 130' INT
trap 'trap : INT TERM; exit 143' TERM

# In the background, as in sandbox.sh.
run_make() {
    set -m
    make -C "$work/tree" -s test "$@" >"$work/log" 2>&1 &
    set +m
    running=$!
    wait "$running"
}

git clone --quiet . "$work/tree"
run_make TEST=format || { cat "$work/log"; exit 1; } # installs what is missing
if ((load > 0)); then
    for ((i = 0; i < load; i++)); do
        while :; do :; done &
        others+=($!)
    done
    while :; do dd if=/dev/zero of="$work/written" bs=8k count=64 conv=fsync status=none; done &
    others+=($!)
fi

status=0
for ((run = 1; run <= runs; run++)); do
    since=$SECONDS
    run_make || status=1
    failed=$(sed -nE 's/^== (.*) failed;.*/\1/p' "$work/log" | tr '\n' ' ')
    echo "run $run of $runs, load $load: $(grep -aE '^[0-9]+ passed, ' "$work/log" || echo 'no result'), $((SECONDS - since)) s${failed:+: $failed}"
    [[ -z $failed ]] || cp "$work/log" "stress-$run.log"
done
exit "$status"
