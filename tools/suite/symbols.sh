#!/usr/bin/env bash
# What the libraries import is in the server or libc, not in libstdc++, and only the lease worker uses libpq. What they
# export with C names is called by SQL, or by PostgreSQL when it loads them and starts the worker.
set -euo pipefail
folder=$(dirname "$(find "$SANDBOX/inst" -name shardid.so)")

stray=$(nm -D -u "$folder/shardid.so" "$folder/shardid_libpq.so" | grep -E ' (_Z|__cxa_)' | grep -v ' w __cxa_finalize') || true
stray+=$(readelf -d "$folder/shardid.so" | grep 'NEEDED.*libpq') || true
[[ -z $stray ]] || { echo "$stray"; exit 1; }
mapfile -t functions < <(sed -nE "s/.*'MODULE_PATHNAME', '([a-z0-9_]+)'.*/\1/p" shardid--*.sql contrib/lease/*--*.sql)
diff <(nm -D --defined-only "$folder/shardid.so" | awk '$3 !~ /^_Z/ { print $3 }' | sort) \
    <(printf '%s\n' "${functions[@]}" "${functions[@]/#/pg_finfo_}" Pg_magic_func _PG_init shardid_lease_worker | sort -u)
echo 'ok symbols'
