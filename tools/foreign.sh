#!/usr/bin/env bash
# Runs PostgreSQL's own suites, regress and isolation, on servers built from Debian's sources with assertions: first
# without shardid; then with it in template1, in the database of the tests and in session_preload_libraries. The results
# of each test must be the same. With JEPSEN, runs t/judge/unique_ids.pl, too. Settings:
#   RELEASES="bookworm sid"   whose sources of PostgreSQL (15 and 18; trixie has 17)
#   CACHE=FOLDER              keeps the servers there, so that the next run is fast
#   MIRROR=URL                where Debian's sources come from; default: this machine's own mirror
#   JEPSEN=CLASSPATH          see proof/judge/jepsen.clj
set -euo pipefail
cd "$(dirname "$0")/.."

# Runs one suite on a server of its own, with shardid or without. Results go to $SANDBOX/SUITE-HOW.
run_suite() {
    local suite=$1 how=$2 out=$SANDBOX/$1-$2 bin program=pg_regress tests schedule options=()
    bin=$("$PG_CONFIG" --bindir)
    tests=$bin/../test/$suite
    schedule=("$tests"/*_schedule)
    [[ $suite == regress ]] || program=pg_isolation_regress
    ! "$tests/$program" --help | grep -q expecteddir || options+=(--expecteddir="$tests")
    mkdir "$out"
    initdb -D "$out/data" -A trust --no-sync --locale=C --encoding=UTF8 >/dev/null
    {
        printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$out'" 'fsync = off' \
            'max_prepared_transactions = 10'
        [[ $how == without ]] || { cat "$TEMP_CONFIG"; echo "session_preload_libraries = 'shardid'"; }
    } >>"$out/data/postgresql.conf"
    pg_ctl -s -w -D "$out/data" -l "$out/log" start
    if [[ $how == with ]]; then
        psql -qh "$out" -d template1 -c 'CREATE EXTENSION shardid'
        options+=(--load-extension=shardid)
    fi
    # Its exit status is not needed: results are compared.
    "$tests/$program" --host="$out" --inputdir="$tests" --outputdir="$out" --dlpath="$tests" --bindir="$bin" \
        --schedule="${schedule[0]}" --max-concurrent-tests=20 "${options[@]}" >"$out/told" 2>&1 || true
    [[ $how == without ]] || has_shardid "$out" "$suite"
    pg_ctl -s -D "$out/data" stop
    if grep -E 'TRAP:|PANIC:|terminated by signal' "$out/log"; then return 1; fi
}

# Whether the database of the tests has the extension, and a session its library.
has_shardid() {
    local database=${2/isolation/isolation_regression}
    [[ $(psql -XAth "$1" -d "${database/#regress/regression}" -c "SELECT count(*) FROM pg_extension
        WHERE extname = 'shardid' AND EXISTS (SELECT FROM pg_settings WHERE name = 'shardid.max_lead')") == 1 ]]
}

# Every test must have the same result; shows those that differ.
compare() {
    local suite=$1 tests differing=() name
    run_suite "$suite" without
    run_suite "$suite" with
    cd "$SANDBOX"
    tests=$(find "$suite-with/results" -name '*.out' | wc -l)
    ((tests > 100))
    mapfile -t differing < <(diff -rq {"$suite-without","$suite-with"}/results | sed -E 's/.*\/([^/]*)\.out .*/\1/')
    echo "PostgreSQL $version, $suite: $((tests - ${#differing[@]})) of $tests tests have the same results with shardid"
    for name in "${differing[@]}"; do
        diff -U2 {"$suite-without","$suite-with"}/"results/$name.out" || true
    done
    [[ ${#differing[@]} == 0 ]]
}

if [[ -n ${SANDBOX:-} ]]; then
    version=$("$PG_CONFIG" --version | sed 's/^PostgreSQL //')
    (compare regress)
    (compare isolation)
    exit
fi

# shellcheck source=tools/chroot.sh
source tools/chroot.sh
make_work
chmod a+rx "$folders"
status=0
ran=0
for release in ${RELEASES:-bookworm sid}; do
    version=${version_in[$release]}
    server=$folders/pgsql-$version
    built=0
    SOURCES="$MIRROR $release main" tools/chroot.sh build_source assertions "$version" "$server" >"$work/build" 2>&1 ||
        built=$?
    if [[ $built == 3 ]]; then
        echo "PostgreSQL $version ($release): skipped, $(tail -n 1 "$work/build")"
        continue
    elif [[ $built != 0 ]]; then
        tail -n 20 "$work/build"
        exit 1
    fi
    ran=1
    logged "$work/log" +1 env PG_CONFIG="$server/bin/pg_config" tools/sandbox.sh tools/foreign.sh
    [[ $failed == 1 ]] || cat "$work/log"
done
if [[ -n ${JEPSEN:-} ]]; then
    TEST=t/judge/unique_ids.pl tools/sandbox.sh tools/test.sh || status=1
else
    echo "skipped Jepsen's checker: JEPSEN is not set"
fi
[[ $ran == 1 && $status == 0 ]]
