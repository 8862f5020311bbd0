-- The other scripts include this: the table, and what add.sql has recorded of it.
--
-- Variables: relation, relation_oid and schema; by_id, by_time and kept_key are names of indexes; records is the table that
-- the view pg_temp.added_ids shows. Each owner has one in each schema: nothing runs code of another role.
\set QUIET on
\set ON_ERROR_ROLLBACK off
\set AUTOCOMMIT on
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- No name is found in a schema of search_path, except that of the table, and no value depends on how a session writes it.
SELECT pg_catalog.current_setting('search_path') AS caller_path, pg_catalog.current_schemas(true) AS caller_schemas \gset
SET search_path = pg_catalog, pg_temp;
SET quote_all_identifiers = off;
SET standard_conforming_strings = on;
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET extra_float_digits = 1;
SET default_transaction_isolation = 'read committed';
\if :{?table} \else \set table '' \endif
-- The name as \d prints it, or as SQL would quote it. Names of indexes: type name cuts to 63 bytes between characters, here
-- to 50 of the table's.
SELECT COALESCE(max(c.oid), 0) AS relation_oid, max(nspname) AS schema, COALESCE(max(format('%I.%I', nspname, relname)), '') AS relation,
       concat(max(start), '_by_id') AS by_id, concat(max(start), '_add_id_time') AS by_time, concat(max(start), '_add_id_key') AS kept_key,
       format('%s.%I', quote_ident(max(nspname)), ('added_ids_of_' || current_user)::name) AS records
FROM (SELECT * FROM pg_class JOIN pg_namespace n (namespace, nspname) ON namespace = relnamespace,
           array_position(:'caller_schemas'::name[], nspname) place
      WHERE place > 0 AND :'table' IN (relname, quote_ident(relname)) OR :'table' IN (nspname || '.' || relname, format('%I.%I', nspname, relname))
      ORDER BY place LIMIT 1) c,
     substr((repeat('-', 13) || relname)::name::text, 14) start \gset
SELECT set_config('add_id.' || name, value, false)
FROM (VALUES ('table', :'table'), ('relation', :'relation'), ('path', :'caller_path'), ('records', :'records'),
      ('by_id', :'by_id'), ('by_time', :'by_time'), ('kept_key', :'kept_key')) v (name, value) \g /dev/null

-- Functions in indexes, defaults and triggers of a table run as the role that plans a query of it. After SET ROLE they can
-- become its session's user again.
DO $$
DECLARE
    of_table regclass := to_regclass(NULLIF(current_setting('add_id.relation'), ''));
    records text := current_setting('add_id.records');
    other record;
BEGIN
    IF of_table IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('table "%s" does not exist', current_setting('add_id.table')),
            HINT = 'Name a table as \d prints it, by the option -v, as in "psql -v table=orders".';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('add_id'), 0);
    IF to_regclass(records) IS NULL THEN
        EXECUTE format($table$
            CREATE TABLE %s (
                relation regclass PRIMARY KEY,
                added name NOT NULL,        -- the column, by its present name
                shard int NOT NULL,         -- the one in the ids of old rows
                time_column name NOT NULL,
                key_columns name[] NOT NULL,
                last_time timestamptz NOT NULL DEFAULT '-infinity',    -- the row that was filled last
                last_key text[],
                last_id bigint NOT NULL DEFAULT 0,
                old_primary_key name,       -- its constraint, if the id has replaced it
                old_comment text)           -- of this constraint
            $table$, records);
    END IF;
    SELECT relname, o.rolname AS owner, l.rolname AS session, is_above INTO other
    FROM pg_class c JOIN pg_roles o ON o.oid = relowner, pg_stat_get_activity(pg_backend_pid()) JOIN pg_roles l ON l.oid = usesysid,
         LATERAL (SELECT EXISTS (SELECT FROM pg_roles s WHERE s.rolsuper AND pg_has_role(l.oid, s.oid, 'MEMBER')
                                 AND current_user NOT IN (l.rolname, s.rolname))) a (is_above)
    WHERE c.oid IN (of_table, to_regclass(records)) AND (o.rolname <> current_user OR is_above);
    IF FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table "%s"', other.relname),
            DETAIL = format('Its owner is %I, and the current user is %I%s.', other.owner, current_user,
                CASE WHEN other.is_above THEN format(' in a session of %I, a superuser or a member of one', other.session) END),
            HINT = format('Connect as %I.', other.owner);
    END IF;
    IF NOT pg_try_advisory_lock(hashtext('add_id'), hashtext(current_setting('add_id.relation'))) THEN
        RAISE object_in_use USING MESSAGE = format('another session runs one of these scripts for table "%s"', current_setting('add_id.table')),
            HINT = 'Wait until that session has ended.';
    END IF;
    EXECUTE format('CREATE OR REPLACE TEMPORARY VIEW added_ids AS TABLE %s', records);
END
$$;

-- What these commands of CREATE INDEX CONCURRENTLY have left behind if they were interrupted.
SET lock_timeout = 0;
SELECT format('DROP INDEX CONCURRENTLY %s', indexrelid::regclass)
FROM pg_index JOIN pg_class i ON i.oid = indexrelid
WHERE indrelid = :relation_oid AND NOT indisvalid AND relname IN (:'by_id', :'by_time', :'kept_key') \gexec

-- The column that was added here. It is neither of another type nor the one whose default is a sequence: names can have
-- been swapped.
CREATE OR REPLACE FUNCTION pg_temp.added_column() RETURNS name LANGUAGE plpgsql AS $$
DECLARE
    of_table regclass := current_setting('add_id.relation')::regclass;
    found name;
BEGIN
    SELECT added INTO found FROM pg_temp.added_ids JOIN pg_attribute ON attrelid = relation AND attname = added
        LEFT JOIN pg_attrdef ON adrelid = relation AND adnum = attnum
    WHERE relation = of_table AND atttypid = 'bigint'::regtype AND attidentity = ''
      AND COALESCE(pg_get_expr(adbin, adrelid), '') NOT LIKE '%nextval(%';
    IF found IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('table "%s" has no id column of add.sql', current_setting('add_id.table')),
            DETAIL = 'Either add.sql was not run for it, or the column was renamed or changed by other commands.',
            HINT = format('After undo.sql there is nothing to do. Otherwise give the column its name in %s again.', current_setting('add_id.records'));
    END IF;
    RETURN found;
END
$$;
