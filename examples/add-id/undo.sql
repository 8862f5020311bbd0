-- Drops the column of add.sql with all its ids, at any step, and makes the old primary key one again:
--
--     psql -d shop -v table=orders -f examples/add-id/undo.sql
\set ON_ERROR_STOP on
\ir table.sql
DO $$
DECLARE of_table regclass := current_setting('add_id.table')::regclass;
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = of_table AND attname = 'old_id') AND pg_temp.added_column() = 'id' THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('names of table "%s" are swapped', of_table),
            HINT = 'Run swap.sql with -v back=yes first.';
    END IF;
END
$$;
SELECT pg_temp.added_column() AS added \gset
SELECT CASE WHEN old_primary_key IS NULL THEN '' ELSE
    format(', ADD CONSTRAINT %I PRIMARY KEY USING INDEX %I', old_primary_key, :'kept_key') END AS old_key
FROM ids.added_ids WHERE relation = :relation_oid \gset
BEGIN;
SET LOCAL lock_timeout = '3s';
ALTER TABLE :relation DROP COLUMN :"added" :old_key;
DELETE FROM ids.added_ids WHERE relation = :relation_oid;
COMMIT;
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS :by_time_of_schema;
SELECT :'old_key' = '' AS is_not_needed \gset
\if :is_not_needed
DROP INDEX CONCURRENTLY IF EXISTS :kept_key_of_schema;
\endif
