#!/usr/bin/env bash
# pg_regress, isolation, two loads and, with FULL, every call with every boundary, with the extension built with UBSan
# and assertions: its own and those in PostgreSQL's headers. The server itself has none, but has the function that
# reports a failed one. A session with undefined behaviour reports it in the server's log, and ends.
set -euo pipefail
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh
tests='regress isolation t/generator/load.pl t/generator/moved.pl'
[[ -z ${FULL:-} ]] || tests+=' t/generator/every_call.pl contrib/readers/t/topics.sh contrib/readers/t/rules.pl contrib/lease/t/topics.sh'

build_variant "$TEST_DIR" '-O1 -fsanitize=undefined -fno-sanitize-recover=undefined -DUSE_ASSERT_CHECKING' \
    LDFLAGS_SL=-lubsan
nm -D -u "$(find "$TEST_DIR/inst" -name shardid.so)" | grep ' ExceptionalCondition$' >/dev/null
FULL='' test_variant "$TEST_DIR" "$tests"
echo 'ok no undefined behaviour'
