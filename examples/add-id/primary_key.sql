-- Makes the id of add.sql the primary key of its table, in the place of the one that it has:
--
--     psql -d shop -v table=orders -f examples/add-id/primary_key.sql
\set ON_ERROR_STOP on
\ir table.sql
SELECT pg_temp.added_column() AS added \gset
SET statement_timeout = 0;
DO $$
DECLARE
    of_table regclass := current_setting('add_id.relation')::regclass;
    table_name text := current_setting('add_id.table');
    found text;
BEGIN
    IF NOT (SELECT attnotnull FROM pg_attribute WHERE attrelid = of_table AND attname = pg_temp.added_column()) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('ids of table "%s" are not complete', table_name),
            HINT = 'Run add.sql again.';
    END IF;
    SELECT string_agg(format('"%s" of table %s', f.conname, f.conrelid::regclass), ', ') INTO found
    FROM pg_constraint f JOIN pg_constraint p ON p.conindid = f.conindid AND p.contype = 'p'
    WHERE f.confrelid = of_table AND f.contype = 'f' AND p.conrelid = of_table;
    IF found IS NOT NULL THEN
        RAISE dependent_objects_still_exist USING
            MESSAGE = format('primary key of table "%s" is referenced by foreign keys', table_name),
            DETAIL = format('The foreign keys are: %s.', found),
            HINT = 'Leave the primary key as it is: the unique index on the id is enough for new foreign keys.';
    END IF;
    IF EXISTS (
        SELECT FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
        WHERE conrelid = of_table AND contype = 'p' AND attname = pg_temp.added_column())
    THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the id of table "%s" is already its primary key', table_name);
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = of_table AND contype = 'p' AND condeferrable) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('primary key of table "%s" is deferrable', table_name),
            HINT = 'Leave the primary key as it is: the unique index on the id is enough for new foreign keys.';
    END IF;
END
$$;

SELECT count(*) = 1 AS has_key FROM pg_constraint WHERE conrelid = :relation_oid AND contype = 'p' \gset
\if :has_key
SELECT conname AS old_key, COALESCE(obj_description(c.oid, 'pg_constraint'), '') AS old_comment,
       COALESCE(obj_description(conindid, 'pg_class'), '') AS index_comment,
       replace(pg_get_indexdef(conindid), format('CREATE UNIQUE INDEX %I ON %s ', relname, :'relation'), '')
           || COALESCE(' TABLESPACE ' || quote_ident(spcname), '') AS definition,
       CASE WHEN indisreplident THEN format(', REPLICA IDENTITY USING INDEX %I', :'kept_key') ELSE '' END
           || CASE WHEN indisclustered THEN format(', CLUSTER ON %I', :'kept_key') ELSE '' END AS marks,
       EXISTS (SELECT FROM pg_index k JOIN pg_class i ON i.oid = k.indexrelid
               WHERE k.indrelid = conrelid AND i.relname = :'kept_key') AS is_kept
FROM pg_constraint c JOIN pg_index ON indexrelid = conindid JOIN pg_class i ON i.oid = conindid
    LEFT JOIN pg_tablespace t ON t.oid = reltablespace WHERE conrelid = :relation_oid AND contype = 'p' \gset
-- Queries and ON CONFLICT need it, and undo.sql makes it the primary key again.
\if :is_kept
\else
CREATE UNIQUE INDEX CONCURRENTLY :"kept_key" ON :relation :definition;
\endif
BEGIN;
SET LOCAL lock_timeout = '3s';
COMMENT ON INDEX :"schema".:"kept_key" IS :'index_comment';
ALTER TABLE :relation DROP CONSTRAINT :"old_key", ADD CONSTRAINT :"by_id" PRIMARY KEY USING INDEX :"by_id" :marks;
UPDATE pg_temp.added_ids SET old_primary_key = :'old_key', old_comment = :'old_comment' WHERE relation = :relation_oid;
COMMIT;
\else
SET lock_timeout = '3s';
ALTER TABLE :relation ADD CONSTRAINT :"by_id" PRIMARY KEY USING INDEX :"by_id";
\endif
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
