#!/usr/bin/env bash
# What the libraries import is in the server, libc or, for leases, in libpq and the library shardid, not in libstdc++.
# What they export with C names is called by SQL, or by PostgreSQL when it loads them and starts the worker.
set -euo pipefail
folder=$(dirname "$(find "$SANDBOX/inst" -name shardid.so)")

# exports LIBRARY SCRIPT [NAME...]
exports() {
    local library=$folder/$1.so functions
    mapfile -t functions < <(sed -nE "s/.*'MODULE_PATHNAME', '([a-z0-9_]+)'.*/\1/p" "$2")
    diff <(nm -D --defined-only "$library" | awk '$3 !~ /^_Z/ { print $3 }' | sort) \
        <(printf '%s\n' "${functions[@]}" "${functions[@]/#/pg_finfo_}" Pg_magic_func _PG_init "${@:3}" | sort -u)
}

stray=$(nm -D -u "$folder/shardid.so" | grep -E ' (_Z|__cxa_)' | grep -v ' w __cxa_finalize') || true
stray+=$(readelf -d "$folder/shardid.so" | grep 'NEEDED.*libpq') || true
for other in lease readers; do
    stray+=$(nm -D -u "$folder/shardid_$other.so" | grep -E ' (_Z|__cxa_)' | grep -vE ' w __cxa_finalize| _ZN7shardid') || true
    stray+=$(comm -13 <(nm -D --defined-only "$folder/shardid.so" | awk '{ print $3 }' | sort) \
        <(nm -D -u "$folder/shardid_$other.so" | awk '/ _ZN7shardid/ { print $2 }' | sort))
done
[[ -z $stray ]] || { echo "$stray"; exit 1; }
exports shardid shardid--*.sql
exports shardid_lease contrib/lease/shardid_lease--*.sql shardid_lease_keeper shardid_lease_worker
exports shardid_readers contrib/readers/shardid_readers--*.sql
echo 'ok symbols'
