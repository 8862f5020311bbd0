-- Drops the column of add.sql with all its ids, at any step, and makes the old primary key one again:
--
--     psql -d shop -v table=orders -f examples/add-id/undo.sql
\set ON_ERROR_STOP on
\ir table.sql
DO $$
DECLARE
    of_table regclass := current_setting('add_id.relation')::regclass;
    table_name text := current_setting('add_id.table');
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = of_table AND attname = 'old_id') AND pg_temp.added_column() = 'id' THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('names of table "%s" are swapped', table_name),
            HINT = 'Run swap.sql with -v back=yes first.';
    END IF;
END
$$;
SELECT pg_temp.added_column() AS added \gset
SELECT old_primary_key AS old_key, COALESCE(old_comment, '') AS old_comment, old_primary_key IS NOT NULL AS has_old_key
FROM pg_temp.added_ids WHERE relation = :relation_oid \gset
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS :"schema".:"by_time";
\if :has_old_key
\else
DROP INDEX CONCURRENTLY IF EXISTS :"schema".:"kept_key";
\endif
BEGIN;
SET LOCAL lock_timeout = '3s';
ALTER TABLE :relation DROP COLUMN :"added";
\if :has_old_key
ALTER TABLE :relation ADD CONSTRAINT :"old_key" PRIMARY KEY USING INDEX :"kept_key";
COMMENT ON CONSTRAINT :"old_key" ON :relation IS :'old_comment';
\endif
DELETE FROM pg_temp.added_ids WHERE relation = :relation_oid;
SELECT format('DROP TABLE %s CASCADE', :'records') WHERE NOT EXISTS (SELECT FROM pg_temp.added_ids) \gexec
COMMIT;
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
