-- The other scripts include this: the table, and what add.sql has recorded of it.
--
-- Variables: relation, relation_oid and schema; by_id, by_time and kept_key are names of indexes.
\set QUIET on
\set ON_ERROR_ROLLBACK off
\set AUTOCOMMIT on
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- Functions and operators that another role has created could fit a call better, and would run as a superuser.
DO $$
BEGIN
    IF pg_catalog.current_setting('is_superuser') = 'on' AND EXISTS (
        SELECT FROM pg_catalog.pg_roles r, pg_catalog.pg_namespace n
        WHERE NOT r.rolsuper AND r.rolname <> 'pg_database_owner' AND n.nspname = ANY (pg_catalog.current_schemas(false))
          AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE'))
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser must not run this here',
            DETAIL = 'Other roles can create objects in a schema of search_path.',
            HINT = 'Run it as the owner of the table.';
    END IF;
END
$$;
\if :{?table} \else \set table '' \endif
SELECT set_config('add_id.table', :'table', false) \g /dev/null
DO $$
BEGIN
    IF to_regclass(NULLIF(current_setting('add_id.table'), '')) IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('table "%s" does not exist', current_setting('add_id.table')),
            HINT = 'Name a table by the option -v, as in "psql -v table=orders".';
    END IF;
    IF to_regclass('ids.added_ids') IS NULL THEN
        CREATE TABLE ids.added_ids (
            relation regclass PRIMARY KEY,
            added name NOT NULL,        -- the column, by its present name
            shard int NOT NULL,         -- the one in the ids of old rows
            time_column name NOT NULL,
            key_column name NOT NULL,
            last_time timestamptz NOT NULL DEFAULT '-infinity',    -- the row that was filled last
            last_key text,
            last_id bigint NOT NULL DEFAULT 0,
            old_primary_key name,       -- its constraint, if the id has replaced it
            old_comment text);          -- of this constraint
    END IF;
END
$$;
-- Names of indexes: type name cuts to 63 bytes between characters, here to 50 of the table's.
SELECT c.oid AS relation_oid, nspname AS schema, format('%I.%I', nspname, relname) AS relation,
       start || '_by_id' AS by_id, start || '_add_id_time' AS by_time, start || '_add_id_key' AS kept_key
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace,
     substr((repeat('-', 13) || relname)::name::text, 14) start
WHERE c.oid = to_regclass(:'table') \gset
SELECT set_config('add_id.' || name, value, false)
FROM (VALUES ('table', :'relation'), ('by_id', :'by_id'), ('by_time', :'by_time'), ('kept_key', :'kept_key')) v (name, value) \g /dev/null

-- What these commands of CREATE INDEX CONCURRENTLY have left behind if they were interrupted.
SET lock_timeout = 0;
SELECT format('DROP INDEX CONCURRENTLY %s', indexrelid::regclass)
FROM pg_index JOIN pg_class i ON i.oid = indexrelid
WHERE indrelid = :relation_oid AND NOT indisvalid AND relname IN (:'by_id', :'by_time', :'kept_key') \gexec

-- The column that was added here. It is neither of another type nor the one whose default is a sequence: names can have
-- been swapped.
CREATE OR REPLACE FUNCTION pg_temp.added_column() RETURNS name LANGUAGE plpgsql AS $$
DECLARE
    of_table regclass := current_setting('add_id.table')::regclass;
    found name;
BEGIN
    SELECT added INTO found FROM ids.added_ids JOIN pg_attribute ON attrelid = relation AND attname = added
        LEFT JOIN pg_attrdef ON adrelid = relation AND adnum = attnum
    WHERE relation = of_table AND atttypid = 'bigint'::regtype AND attidentity = ''
      AND COALESCE(pg_get_expr(adbin, adrelid), '') NOT LIKE '%nextval(%';
    IF found IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('table "%s" has no id column of add.sql', of_table),
            DETAIL = 'Either add.sql was not run for it, or the column was renamed or changed by other commands.',
            HINT = 'After undo.sql there is nothing to do. Otherwise give the column its name in ids.added_ids again.';
    END IF;
    RETURN found;
END
$$;
