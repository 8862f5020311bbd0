#!/usr/bin/env bash
# Some tests on a server with assertions, which is built from Debian's source package; ASSERTIONS can name the pg_config
# of an existing one. Then some on one that throws its caches away.
set -euo pipefail
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh
if [[ -z ${ASSERTIONS:-} ]]; then
    built=0
    tools/chroot.sh build_source assertions "$("$PG_CONFIG" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')" \
        "$TEST_DIR/pgsql" >"$TEST_DIR/source" 2>&1 || built=$?
    if [[ $built == 3 ]]; then
        echo "ok assertions # skip $(tail -n 1 "$TEST_DIR/source")"
        exit
    fi
    [[ $built == 0 ]] || { cat "$TEST_DIR/source"; exit 1; }
    ASSERTIONS=$TEST_DIR/pgsql/bin/pg_config
fi
export PG_CONFIG=$ASSERTIONS FULL=''
PATH=$("$PG_CONFIG" --bindir):$PATH
[[ $("$PG_CONFIG" --configure) == *--enable-cassert* ]]

copy_variant "$TEST_DIR" "${without_objects[@]}"
install_variant "$TEST_DIR"
test_variant "$TEST_DIR" \
    "regress isolation $(echo contrib/*/t/topics.sh) t/generator/every_call.pl t/crash/standby.pl t/generator/ended_waits.pl"
echo 'ok assertions'
echo 'debug_discard_caches = 1' >>"$TEST_DIR/temp.conf"
test_variant "$TEST_DIR" 'rollback status ids interplay'
echo 'ok assertions, without caches'
