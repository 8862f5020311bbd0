-- Makes the id of add.sql the primary key of its table, in the place of the one that it has:
--
--     psql -d shop -v table=orders -f examples/add-id/primary_key.sql
\set ON_ERROR_STOP on
\ir table.sql
SELECT pg_temp.added_column() AS added \gset
SET statement_timeout = 0;
DO $$
DECLARE
    of_table regclass := current_setting('add_id.table')::regclass;
    found text;
BEGIN
    IF NOT (SELECT attnotnull FROM pg_attribute WHERE attrelid = of_table AND attname = pg_temp.added_column()) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('ids of table "%s" are not complete', of_table),
            HINT = 'Run add.sql again.';
    END IF;
    SELECT string_agg(format('"%s" of table %s', f.conname, f.conrelid::regclass), ', ') INTO found
    FROM pg_constraint f JOIN pg_constraint p ON p.conindid = f.conindid AND p.contype = 'p'
    WHERE f.confrelid = of_table AND f.contype = 'f' AND p.conrelid = of_table;
    IF found IS NOT NULL THEN
        RAISE dependent_objects_still_exist USING
            MESSAGE = format('primary key of table "%s" is referenced by foreign keys', of_table),
            DETAIL = format('The foreign keys are: %s.', found),
            HINT = 'Leave the primary key as it is: the unique index on the id is enough for new foreign keys.';
    END IF;
    IF EXISTS (
        SELECT FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
        WHERE conrelid = of_table AND contype = 'p' AND attname = pg_temp.added_column())
    THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the id of table "%s" is already its primary key', of_table);
    END IF;
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = of_table AND contype = 'p' AND condeferrable) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('primary key of table "%s" is deferrable', of_table),
            HINT = 'Leave the primary key as it is: the unique index on the id is enough for new foreign keys.';
    END IF;
    IF EXISTS (
        SELECT FROM pg_class c LEFT JOIN pg_index ON indexrelid = c.oid
        WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = of_table)
          AND relname = current_setting('add_id.kept_key') AND indrelid IS DISTINCT FROM of_table)
    THEN
        RAISE duplicate_table USING MESSAGE = format('relation "%s" already exists', current_setting('add_id.kept_key')),
            HINT = 'The unique index on the old key needs this name: rename the other relation.';
    END IF;
END
$$;

SELECT count(*) = 1 AS has_key FROM pg_constraint WHERE conrelid = :relation_oid AND contype = 'p' \gset
\if :has_key
SELECT conname AS old_key, (
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY place)
    FROM unnest(conkey) WITH ORDINALITY k (attnum, place) JOIN pg_attribute a USING (attnum) WHERE attrelid = conrelid) AS columns,
    CASE WHEN indisreplident THEN format(', REPLICA IDENTITY USING INDEX %I', :'kept_key') ELSE '' END AS identity
FROM pg_constraint JOIN pg_index ON indexrelid = conindid WHERE conrelid = :relation_oid AND contype = 'p' \gset
-- Queries and ON CONFLICT need it, and undo.sql makes it the primary key again.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS :"kept_key" ON :relation (:columns);
BEGIN;
SET LOCAL lock_timeout = '3s';
ALTER TABLE :relation DROP CONSTRAINT :"old_key", ADD CONSTRAINT :"by_id" PRIMARY KEY USING INDEX :"by_id" :identity;
UPDATE ids.added_ids SET old_primary_key = :'old_key' WHERE relation = :relation_oid;
COMMIT;
\else
SET lock_timeout = '3s';
ALTER TABLE :relation ADD CONSTRAINT :"by_id" PRIMARY KEY USING INDEX :"by_id";
\endif
