# shellcheck shell=bash
# Throwaway servers for one example, each on a unix socket in a directory of its own, and functions to show what the
# example does. To be sourced by an example's run.sh, which sandbox.sh runs; $here is the example's directory.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
example=$(basename "$here")
folder=$SANDBOX/example-$example
mkdir "$folder"
export PGUSER=postgres PGDATABASE=postgres PGTZ=UTC PGOPTIONS='-c client_min_messages=warning'

verdict=

# shellcheck disable=SC2317,SC2329 # called by a trap
stop_servers() {
    local data
    for data in "$folder"/*/data; do
        [[ ! -e $data/postmaster.pid ]] || pg_ctl -D "$data" -m immediate stop >/dev/null 2>&1 || true
    done
}

# At every end of the example: stops its servers, and prints the result as the last line.
# shellcheck disable=SC2317,SC2329 # called by a trap
end() {
    local status=${1:-$?}
    stop_servers
    case $status in
        0) [[ -n $verdict ]] || { printf '\nFAILED   %s: it came to no verdict\n' "$example"; exit 1; }
            printf '\nOK       %s: %s\n' "$example" "$verdict" ;;
        77) printf 'SKIPPED  %s: %s\n' "$example" "$verdict" ;;
        *) printf '\nFAILED   %s\n' "$example" ;;
    esac
}
trap end EXIT
trap 'trap : INT TERM; exit 130' INT
trap 'trap : INT TERM; exit 143' TERM

# The directory of a server's socket, for its clients' host. The port is 5432.
host_of() {
    echo "$folder/$1"
}

# make_server NAME: makes its data, without a start. Further settings are read from standard input.
make_server() {
    local name=$1
    mkdir "$folder/$name"
    initdb -N -D "$folder/$name/data" -U postgres -A trust --no-instructions >"$folder/$name/initdb.log"
    {
        cat "$TEMP_CONFIG"
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$folder/$name'"
        echo "fsync = off" # the example's data need not survive a crash of the machine
        cat
    } >>"$folder/$name/data/postgresql.conf"
}

# run_server NAME [OPTION...]: starts a server that was made.
run_server() {
    local name=$1
    shift
    pg_ctl -D "$folder/$name/data" -l "$folder/$name/server.log" -w "$@" start >>"$folder/$name/start.log" 2>&1 ||
        { tail -n 20 "$folder/$name/server.log" >&2; return 1; }
}

# start_server NAME: makes and starts a server; standard input as for make_server.
start_server() {
    make_server "$1"
    run_server "$1"
}

# on NAME[/DATABASE] [PSQL OPTION...]: runs SQL there, from -c or standard input; fails with the first error.
on() {
    local server=${1%%/*} database=postgres
    [[ $1 != */* ]] || database=${1#*/}
    shift
    psql -X -q -v ON_ERROR_STOP=1 -P footer=off -h "$(host_of "$server")" -d "$database" "$@"
}

# ask NAME[/DATABASE] SQL: prints the plain result of a query.
ask() {
    on "$1" -At -c "$2"
}

# is_true NAME[/DATABASE] SQL
is_true() {
    [[ $(ask "$@") == t ]]
}

# wait_until WHAT COMMAND...: until its exit status is 0.
wait_until() {
    local what=$1 since=$SECONDS
    shift
    until "$@"; do
        ((SECONDS - since < PG_TEST_TIMEOUT_DEFAULT)) || { echo "FAILED  the guard has ended the wait for: $what" >&2; tail -n 8 "$folder"/{,*/}*.log >&2; return 1; }
        sleep 0.2
    done
}

# answers_at PORT
answers_at() {
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# free_ports COUNT: prints the first of so many successive ports that are free.
free_ports() {
    local first port
    while first=$((20000 + RANDOM % 10000)); do
        for ((port = first; port < first + $1; port++)); do
            ! answers_at "$port" || continue 2
        done
        echo "$first"
        return
    done
}

# say TEXT: prints a paragraph about what comes next.
say() {
    printf '\n%s\n\n' "$*"
}

# show NAME[/DATABASE] [PSQL OPTION...]: runs SQL there and prints it with its results, indented.
show() {
    on "$@" --echo-queries | indented
}

indented() {
    sed -E 's/^(.*[^ ]) *$/    \1/'
}

# expect WHAT GOT WANTED: ends the example if they differ.
expect() {
    [[ $2 == "$3" ]] || { printf 'FAILED  %s: %s, not %s\n' "$1" "$2" "$3" >&2; exit 1; }
}

# fails NAME[/DATABASE] SQL [TEXT]: the SQL must raise an error that contains TEXT; prints the error, indented.
fails() {
    local error
    if error=$(on "$1" -v SHOW_CONTEXT=never -c "$2" 2>&1 >/dev/null); then
        echo "FAILED  no error: $2" >&2
        exit 1
    fi
    printf '%s\n' "$2" "$error" | indented
    [[ $error == *"${3:-}"* ]] || { echo "FAILED  another error than: $3" >&2; exit 1; }
}

# skip WHY: ends the example, which cannot run here.
skip() {
    verdict=$1
    exit 77
}

# needs NAME: an extension of the server.
needs() {
    [[ -e $(pg_config --sharedir)/extension/$1.control ]] || skip "$(pg_config --version) has no extension $1"
}

# needs_program NAME...
needs_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "there is no $program"
    done
}
