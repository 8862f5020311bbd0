# shellcheck shell=bash
# Runs the extension's pg_regress topics in a database with the files of portable/ instead of the extension. To be
# sourced, after suites.sh.
#
# The expected output is the extension's, changed by test/portable/TOPIC.patch if it exists; its first lines give the
# reasons. CONTEXT is not shown: functions in PL/pgSQL have one, those in C do not.

# Topics that are not run, and what the portable functions lack:
#   extension, leases, lease_schema, uuid_v1_generated, objectid   the extension itself, leases, uuid_v1() and objectid()
#   ranges                             nextval_range
#   interplay, rollback, cost, two_phase                           traces of nextval and rollbacks in a sequence's page,
#                                      which SQL cannot read
#   one_layout, jumps, privileges      the layout in a page, and USAGE alone: they call setval, which needs UPDATE
portable_topics=(ids layouts uuid_v1 uuid_v6 errors moved raise batches status usage layouts_of_others partitioning partition_commands whole_schema)
# In make test-full: many thousand calls of functions that are slower than C.
portable_long_topics=(inspection scatter short_text)

settings_of() {
    echo '\set SHOW_CONTEXT never'
    # HINTs about missing functions differ between servers.
    [[ $1 != moved ]] || echo '\set VERBOSITY terse'
}

# Changes a topic: a millisecond, and so a sequence, begins in the second eighth of its numbers; a move within the
# running millisecond is not noticed, so the millisecond ends before a move; after 20 ms without an id the numbers begin
# anew; INCREMENT and CACHE are refused; how many
# values nextval has logged ahead depends on when the millisecond began.
as_portable() {
    local within_pause="AND id_timestamp(id) <= id_timestamp(previous) + interval '20 ms'"
    sed -e "s/(id_sequence(previous) + 1) % 256/128 + (id_sequence(previous) + 1) % 128 $within_pause/" \
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
        "\\set file :source '/portable/"{shardid,uuids_and_text,partitions,migrating}".sql'"$'\n\\i :file' "CALL shardid_grant_marks('public');" |
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
