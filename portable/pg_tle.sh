#!/usr/bin/env bash
# Prints the SQL that installs shardid.sql, uuids_and_text.sql, partitions.sql and migrating.sql as an extension by
# pg_tle (Trusted Language Extensions), where a service has that: portable/pg_tle.sh | psql, as a role with
# pgtle_admin. Then CREATE EXTENSION shardid_portable SCHEMA ids.
set -euo pipefail
cd "$(dirname "$0")"

readonly name=shardid_portable version=1.0
# shellcheck disable=SC2016 # a quote of PostgreSQL's
readonly quote='$_pgtle_$'

# CREATE EXTENSION has a transaction and a search_path of its own: psql's commands and ours for these are left out.
script() {
    sed -E '/^\\set /d; /^BEGIN;$/d; /^COMMIT;$/d' shardid.sql uuids_and_text.sql partitions.sql migrating.sql
}

if script | grep -qF "$quote"; then
    echo "the functions have $quote in them" >&2
    exit 1
fi
printf "SELECT pgtle.install_extension('%s', '%s', 'ids in 64 bits: time, shard, sequence',\n%s\n" \
    "$name" "$version" "$quote"
script
# A dump of an extension's sequence carries no position but so.
echo "SELECT pg_catalog.pg_extension_config_dump('shardid_seq', '');"
printf '%s);\n' "$quote"
