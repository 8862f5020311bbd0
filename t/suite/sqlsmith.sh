#!/usr/bin/env bash
# Random SQL with our functions by sqlsmith, as a role with few rights, for SQLSMITH_SECONDS: the server
# does not crash, and we raise no internal error. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh
faults=$SANDBOX/faults
SANDBOX=$TEST_DIR
seconds=${SQLSMITH_SECONDS:-600}

as_superuser() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# After calls with absurd layouts every later draw would be refused.
restart_generators() {
    as_superuser <<'SQL'
SELECT format('ALTER SEQUENCE %s RESTART', oid::regclass) FROM pg_class WHERE relkind = 'S' \gexec
SQL
}

# Internal errors, and where each is raised.
internal_errors() {
    awk '/ERROR:  XX[0-9A-Z]+:/ { error = $0 }
         error != "" && /LOCATION:/ { sub(/.*LOCATION:/, "at"); print error, $0; error = "" }' "$SANDBOX/server.log"
}

start_cluster <<'CONF'
log_error_verbosity = verbose
log_min_error_statement = panic
track_functions = all
CONF
PGOPTIONS="-c allow_system_table_mods=on" as_superuser -f t/suite/sqlsmith.sql >/dev/null
end=$((SECONDS + seconds))
rounds=0
seed=$RANDOM
echo "seeds from $seed"
# Some functions end sqlsmith's session, and with it sqlsmith; so it is started repeatedly.
while ((SECONDS < end)); do
    restart_generators || break
    left=$((end - SECONDS))
    timeout $((left < 60 ? left : 60)) sqlsmith --target="host=$PGHOST port=$PGPORT user=smith dbname=postgres" \
        --exclude-catalog --verbose --seed=$((seed + rounds)) >"$SANDBOX/sqlsmith.log" 2>&1 || true
    rounds=$((rounds + 1))
done

restart_generators
as_superuser -c 'SELECT next_id(5)' >/dev/null
queries=$(as_superuser -c "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'")
as_superuser -F ' ' -c 'SELECT funcname, sum(calls) FROM pg_stat_user_functions GROUP BY 1 ORDER BY 1'
calls=$(as_superuser -c 'SELECT sum(calls) FROM pg_stat_user_functions')
stop_cluster

echo "the server's errors by SQLSTATE:"
grep -oE 'ERROR:  [0-9A-Z]{5}' "$SANDBOX/server.log" | sort | uniq -c | sort -rn
internal_errors
violations=$(internal_errors | grep -cE '\.cpp:[0-9]+$') || true # raised in one of our files
echo -e "sqlsmith, $queries queries\t$rounds\t$calls calls\t$violations" >>"$faults"
((violations == 0 && calls > 100))
echo 'ok sqlsmith'
