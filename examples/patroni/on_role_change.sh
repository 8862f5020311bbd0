#!/bin/sh
# on_role_change.sh ACTION ROLE CLUSTER
case $2 in
primary | master) ;;
*) exit 0 ;;
esac
export PGDATABASE=shop
# Patroni calls this when the promotion has begun: the server may still be a standby for a moment.
tries=60
until psql -X -v ON_ERROR_STOP=1 <<'SQL'
SELECT shardid_lease.take_over_shards();
SQL
do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || exit 1
    sleep 1
done
