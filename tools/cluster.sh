# shellcheck shell=bash
# A throwaway cluster inside a sandbox, on a unix socket only. To be sourced.

# Further settings are read from standard input; SERVER_PROGRAM replaces the server's program.
start_cluster() {
    export PGHOST=$SANDBOX PGPORT=5432 PGDATABASE=postgres PGUSER=postgres
    initdb -D "$SANDBOX/data" -U postgres -A trust --no-instructions >"$SANDBOX/initdb.log"
    {
        cat "$TEMP_CONFIG"
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$SANDBOX'"
        cat
    } >>"$SANDBOX/data/postgresql.conf"
    pg_ctl -D "$SANDBOX/data" -l "$SANDBOX/server.log" ${SERVER_PROGRAM:+-p "$SERVER_PROGRAM"} -w start >"$SANDBOX/start.log"
}

stop_cluster() {
    pg_ctl -D "$SANDBOX/data" -m fast -w stop >/dev/null
}
