#!/bin/sh
# registry_on_role_change.sh ACTION ROLE CLUSTER: for the cluster of a registry, with synchronous_mode only. It confirms
# that no commit was lost: disable it before patronictl failover and before a restore.
case $2 in
primary | master) ;;
*) exit 0 ;;
esac
export PGDATABASE=registry
# Patroni calls this when the promotion has begun: the server may still be a standby for a moment.
tries=60
until psql -X -v ON_ERROR_STOP=1 -c 'SELECT shardid_lease.registry_was_moved()'
do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || exit 1
    sleep 1
done
