#!/usr/bin/env bash
# The topics of sql/ and contrib/admin/sql that the SQL-only version shares with the extension, in a database with contrib/portable/*.sql instead of
# it. What stands between the two comments "Only in the extension" and "In both versions" is left out. Not shared:
#   extension, leases, uuid_v1_generated, objectid, ranges   functions that it does not have
#   interplay, rollback, cost               traces of nextval and rollbacks in a sequence's page, which SQL cannot read
#   one_layout, jumps, privileges           the layout in a page, and USAGE alone: it calls setval, which needs UPDATE
set -euo pipefail
# shellcheck source=t/suite/topics.sh
source t/suite/topics.sh
topics=(ids errors moved raise batches status usage layouts_of_others whole_schema)
# Many thousand calls of functions that are slower than C, of which contrib/portable/t/beside.pl makes some; and commands
# that the extension makes by the same SQL.
rounds=10 # moves of each kind
[[ -z ${FULL:-} ]] || { rounds=100 && topics+=(layouts uuids scatter short_text partitioning partition_commands); }
named=$(named_topics "${topics[@]/%/.sql}")
[[ -z $named ]] || read -ra topics <<<"$named"

# A millisecond, and so a sequence, begins in the second eighth of its numbers; a move within the running millisecond is
# not noticed, so the millisecond ends before a move; after 20 ms without an id the numbers begin anew; INCREMENT and
# CACHE are refused; how many values nextval has logged ahead depends on when the millisecond began. Functions in
# PL/pgSQL have a CONTEXT, those in C do not. The functions are in public.
shared_part() {
    echo '\set SHOW_CONTEXT never'
    sed -e '/^-- Only in the extension:$/,/^-- In both versions:$/d' -e "s|:source '/../..|:source '|" -e 's/\<ids\.\([a-z_]*(\)/\1/g' \
        -e "s/(id_sequence(previous) + 1) % 256/128 + (id_sequence(previous) + 1) % 128 AND id_timestamp(id) <= id_timestamp(previous) + interval '20 ms'/" \
        -e 's/ parts.sequence <> 0$/ parts.sequence <> (CASE WHEN sequence_bits >= 9 THEN 1 << (sequence_bits - 3) ELSE 0 END)/' \
        -e "s/ FOR n IN 1 .. 100 LOOP/ FOR n IN 1 .. $rounds LOOP/" -e "s/^2000|0|0$/$((20 * rounds))|0|0/" \
        -e 's/^        EXECUTE move USING before;/        PERFORM pg_sleep(0.02);\n&/' \
        -e 's/^\(ALTER SEQUENCE g\) \(INCREMENT BY\|CACHE\) [0-9]*;$/\1 NO CYCLE;/' \
        -e 's/^SELECT log_cnt FROM g;$/SELECT GREATEST(log_cnt, 32) AS log_cnt FROM g;/' "$1"
}

# No warning says that ids are negative; any role may set shardid.max_lead; setval needs UPDATE; a shard is not set.
answers() {
    shared_part "$1" | sed -e '/^WARNING:  ids of generator .* negative/d' -e 's/, as a superuser or with SET on this parameter//' \
        -e 's/has neither USAGE nor UPDATE on it/has not both USAGE and UPDATE on it/' \
        -e 's/With a number that no other database has, .* loads the library\./Pass the shard to next_id(), or call ids.new_id() of contrib\/portable\/README.md. For id_migration_commands, pass function => '"'ids.new_id()'."'/' \
        -e 's/^\(HINT: *Run \|.* | Run \|\)GRANT USAGE ON SEQUENCE \(public\.\|hard\.own\|"Shop"\)/\1GRANT USAGE, UPDATE ON SEQUENCE \2/'
}

input=$TEST_DIR/input
mkdir -p "$input/sql" "$input/expected"
cp -r contrib bench "$input/"
cp sql/try.psql "$input/sql/"
printf '%s\n' "\\getenv source PG_ABS_SRCDIR" '\set ECHO none' '\o /dev/null' \
    "\\set file :source '/contrib/portable/"{shardid,uuids_and_text,admin}".sql'"$'\n\\i :file' "CALL shardid_grant_marks('public');" |
    tee "$input/sql/load.sql" | head -n 2 >"$input/expected/load.out"
for topic in "${topics[@]}"; do
    house=.
    [[ -e sql/$topic.sql ]] || house=contrib/admin
    shared_part "$house/sql/$topic.sql" >"$input/sql/$topic.sql"
    answers "$house/expected/$topic.out" >"$input/expected/$topic.out"
done
house=.
run_topics ISOLATION= "REGRESS=load ${topics[*]}" REGRESS_OPTS="--inputdir=$input --dbname=contrib_regression"
