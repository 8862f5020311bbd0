#!/usr/bin/env bash
# The files of this directory as one extension, shardid_portable, for services with pg_tle (Trusted Language
# Extensions). Without an argument, prints the SQL that registers it: contrib/portable/pg_tle.sh | psql, as a role with
# pgtle_admin; then CREATE EXTENSION shardid_portable SCHEMA ids. With a directory, writes there what database.dev
# publishes.
set -euo pipefail
cd "$(dirname "$0")"

readonly name=shardid_portable version=1.0.0 comment='64-bit ids of time, shard and sequence'
# shellcheck disable=SC2016 # a quote of PostgreSQL's
readonly quote='$_pgtle_$'

# CREATE EXTENSION has a transaction and a search_path of its own: psql's commands and ours for these are left out.
plain() {
    sed -E '/^\\set /d; /^BEGIN;$/d; /^COMMIT;$/d' "$@" |
        awk '/^\\ir / { for (file = $2; (getline line < file) > 0;) print line; close(file); next } { print }'
}

script() {
    plain shardid.sql uuids_and_text.sql
    # A dump of an extension's sequence carries no position but so.
    echo "SELECT pg_catalog.pg_extension_config_dump('shardid_seq', '');"
    plain admin.sql
}

if script | grep -qF "$quote"; then
    echo "the functions have $quote in them" >&2
    exit 1
fi

if (($# == 0)); then
    printf "SELECT pgtle.install_extension('%s', '%s', '%s',\n%s\n" "$name" "$version" "$comment" "$quote"
    script
    printf '%s);\n' "$quote"
else
    mkdir -p "$1"
    script >"$1/$name--$version.sql"
    printf "default_version = '%s'\ncomment = '%s'\nrelocatable = false\n" "$version" "$comment" >"$1/$name.control"
    cat >"$1/README.md" <<END
# $name

64-bit ids, unique over shards and ordered by time, generated inside the database by SQL and PL/pgSQL alone:
\`CREATE EXTENSION $name SCHEMA ids\` in a schema of your own, then \`DEFAULT ids.next_id(5)\`, where 5 is the number of
this database. What it guarantees, and what only the extension shardid does, is on the project's page "The SQL-only
version".
END
fi
