#!/usr/bin/env bash
# pg_regress on a server under valgrind's memcheck. An error counts if a frame of ours is on its stack:
# Debian's server is not built for valgrind, and has errors of its own. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh
SANDBOX=$TEST_DIR
folder=$SANDBOX/build
reports=$SANDBOX/reports

# Replaces the server's program, for pg_ctl.
write_wrapper() {
    cat >"$SANDBOX/postgres" <<WRAPPER
#!/bin/sh
exec valgrind --quiet --trace-children=yes --error-limit=no --num-callers=50 \
    --suppressions="$PWD/t/suite/memcheck.supp" --xml=yes --xml-file="$reports/%p" \
    "$(dirname "$(command -v pg_ctl)")/postgres" "\$@"
WRAPPER
    chmod +x "$SANDBOX/postgres"
}

# All errors except leaks: a session's memory is freed at its end only.
errors() {
    cat "$reports"/* | awk 'BEGIN { RS = "</error>" } /<error>/ && !/<kind>Leak_/ { sub(/.*<error>/, ""); print $0 RS }'
}

# The kind and stack of each error on whose stack is a frame of ours.
our_errors() {
    errors | awk 'BEGIN { RS = "</error>" } /\/shardid(_lease|_readers)?\.so/' |
        sed -nE 's/.*<(what|text)>(.*)<\/.*/\2/p; s/.*<(fn|file|line)>(.*)<\/.*/    \2/p'
}

mkdir "$reports"
build_variant "$folder" '-O1 -g -fno-omit-frame-pointer -fwrapv'
write_wrapper
export TEMP_CONFIG=$folder/temp.conf SERVER_PROGRAM=$SANDBOX/postgres
start_cluster <<'CONF'
max_prepared_transactions = 2
autovacuum = off
jit = off
shardid_lease.timeout = '1min'
CONF
status=0
make -s -C "$folder/tree" installcheck ISOLATION= \
    EXTRA_REGRESS_OPTS="--host=$SANDBOX --port=$PGPORT --user=$PGUSER" || status=1
[[ $status == 0 ]] || cat "$folder/tree/regression.diffs" || true
stop_cluster

processes=$(find "$reports" -type f | wc -l)
ours=$(our_errors)
echo "$ours"
echo "$processes processes under valgrind, $(errors | grep -c '</error>') errors that are not ours"
[[ $status == 0 && $processes -gt 10 && -z $ours ]]
echo 'ok no memory error'
