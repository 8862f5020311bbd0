#!/bin/sh
# same_number.sh CONNECTION...: prints each shard number that two of these databases use, such as
#   same_number.sh 'host=oslo.example dbname=shop' 'host=lisbon.example dbname=shop'
# Fails, and prints no number, if it cannot ask one of them. The role watcher needs USAGE on the schema ids, its password
# is in ~/.pgpass. If a default passes the number, write (SELECT ids.id_shard(max(id)) FROM photos) for the setting, twice.
set -e
numbers=$(for database; do
    psql -XAt -v ON_ERROR_STOP=1 -U watcher -d "$database" <<'SQL' || exit
SELECT current_setting('shardid.shard_id', true), system_identifier, database, place, started
FROM ids.shard_fingerprint() WHERE NOT pg_is_in_recovery() AND current_setting('shardid.shard_id', true) <> '-1';
SQL
done)
echo "$numbers" | sort -u | cut -d '|' -f 1 | sort | uniq -d
