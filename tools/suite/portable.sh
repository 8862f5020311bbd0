# shellcheck shell=bash
# The extension's own topics of pg_regress, run in a database without it, into which portable/shardid.sql and portable/partitions.sql were loaded. To be
# sourced, after suites.sh.
#
# What is to come out is the extension's expected output, changed by test/portable/TOPIC.patch if there is one, whose first
# lines give the reasons. CONTEXT is not shown: functions in PL/pgSQL have one, those in C not.

# Not run: what the portable functions do not have.
#   extension, leases, lease_schema, uuid_v1_generated, objectid   the extension itself, leases, uuid_v1() and objectid()
#   ranges                             nextval_range
#   interplay, rollback, cost, two_phase                           how the extension sees nextval's and a rollback's traces
#                                      in a sequence's page, which SQL does not see
#   one_layout, jumps, privileges      the layout in a page, and USAGE alone: here setval is called, which takes UPDATE
portable_topics=(ids layouts uuid_v1 uuid_v6 errors moved raise batches status usage layouts_of_others partitioning partition_commands whole_schema)
# In make test-full: many thousand calls of functions that are slower than C.
portable_long_topics=(inspection scatter short_text)

settings_of() {
    echo '\set SHOW_CONTEXT never'
    # Hints on functions that are not there differ by server.
    [[ $1 != moved ]] || echo '\set VERBOSITY terse'
}

# A millisecond begins in the second eighth of its numbers, and so does a sequence. What was moved within the running millisecond
# is not noticed: so it ends before a move. An INCREMENT and a CACHE are refused.
# How many values nextval has logged ahead depends on when the millisecond began.
as_portable() {
    sed -e 's/(id_sequence(previous) + 1) % 256/128 + (id_sequence(previous) + 1) % 128/' \
        -e 's/ parts.sequence <> 0$/ parts.sequence <> (CASE WHEN sequence_bits >= 9 THEN 1 << (sequence_bits - 3) ELSE 0 END)/' \
        -e 's/^        EXECUTE move USING before;/        PERFORM pg_sleep(0.02);\n&/' \
        -e 's/^\(ALTER SEQUENCE g\) \(INCREMENT BY\|CACHE\) [0-9]*;$/\1 NO CYCLE;/' \
        -e 's/^SELECT log_cnt FROM g;$/SELECT GREATEST(log_cnt, 32) AS log_cnt FROM g;/' "$1"
}

make_portable_topics() {
    local folder=$1 topic
    mkdir -p "$folder/sql" "$folder/expected"
    cp -r portable bench "$folder/"
    printf '%s\n' "\\getenv source PG_ABS_SRCDIR" '\set ECHO none' '\o /dev/null' \
        "\\set file :source '/portable/"{shardid,partitions,migrating}".sql'"$'\n\\i :file' "CALL shardid_grant_marks('public');" |
        tee "$folder/sql/load.sql" | head -n 2 >"$folder/expected/load.out"
    shift
    for topic; do
        { settings_of "$topic" && as_portable "sql/$topic.sql"; } >"$folder/sql/$topic.sql" || return 1
        { settings_of "$topic" && as_portable "expected/$topic.out"; } >"$folder/expected/$topic.out" || return 1
        [[ ! -e test/portable/$topic.patch ]] ||
            patch --quiet --no-backup-if-mismatch "$folder/expected/$topic.out" "test/portable/$topic.patch" || return 1
    done
}

portable() {
    local folder=$SANDBOX/portable_topics chosen=("${portable_topics[@]}")
    [[ -z ${FULL:-} ]] || chosen+=("${portable_long_topics[@]}")
    if ! make_portable_topics "$folder/in" "${chosen[@]}"; then
        echo 'FAILED  portable: a patch of test/portable does not fit'
        count 0 1
        return
    fi
    installcheck_in "$folder" ISOLATION= "REGRESS=load ${chosen[*]}" REGRESS_OPTS="--inputdir=$folder/in --dbname=contrib_regression" \
        EXTRA_REGRESS_OPTS="--temp-instance=$folder/ti --temp-config=$TEMP_CONFIG"
    judge_topics portable "$folder/make.log" "$folder"
}
