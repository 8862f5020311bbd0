-- From contrib/portable/shardid.sql to the extension, while sessions draw: see contrib/portable/README.md.
--
--     psql -f contrib/portable/to_extension.sql   with the schema of the portable functions first in search_path, as its owner
--
-- The extension gets a schema of its own, "shardid", if it is not there. Each portable function stays what defaults,
-- indexes and checks refer to, and becomes a call of the extension's, which is put in its place when a statement is
-- planned. The generators stay the same, and so does the default one.
--
-- Altering the marks waits for every transaction that has generated ids with the portable functions. Sessions that
-- generate ids meanwhile wait for a mark, find that it is empty and has CYCLE, and generate them with the extension. It is
-- tried again and again: a transaction that uses several generators does not have to give way.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\set ON_ERROR_ROLLBACK off
BEGIN;

-- No name is looked up but in pg_catalog, whatever there is in that schema and in search_path.
SELECT pg_catalog.set_config('shardid_portable.schema', pg_catalog.quote_ident(pg_catalog.current_schema()), true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true) \g /dev/null
-- Defaults of arguments are read as text.
SET LOCAL datestyle = 'ISO';
SET LOCAL timezone = 'UTC';
SET LOCAL standard_conforming_strings = on;

SELECT current_setting('shardid_portable.schema') AS portable \gset
SELECT count(*) = 0 AS is_missing FROM pg_extension WHERE extname = 'shardid' \gset
\if :is_missing
CREATE SCHEMA shardid;
SELECT format('REVOKE ALL ON SCHEMA shardid FROM %s', COALESCE(quote_ident(rolname), 'PUBLIC'))
FROM pg_namespace, aclexplode(nspacl) LEFT JOIN pg_roles r ON r.oid = grantee WHERE nspname = 'shardid' AND grantee <> nspowner \gexec
CREATE EXTENSION shardid SCHEMA shardid;
\endif

DO $$
DECLARE
    portable text := current_setting('shardid_portable.schema');
    extension text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'shardid');
    owner oid := (SELECT relowner FROM pg_class WHERE oid = to_regclass(portable || '.shardid_mark_0'));
    is_done boolean := false;
    f record;
BEGIN
    IF owner IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('schema %s has no portable functions', portable),
            HINT = 'Set search_path to their schema.';
    ELSIF owner <> quote_ident(current_user)::regrole THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of the portable functions in schema %s', portable),
            HINT = format('Run this as %s.', owner::regrole);
    END IF;

    -- What a session calls that has found a mark so.
    EXECUTE format($replace$
        CREATE OR REPLACE FUNCTION %1$s.shardid_draw_any(
            shard int, generator regclass, epoch timestamptz, shard_bits int, sequence_bits int,
            wanted bigint, raise_to bigint, caller text)
        RETURNS bigint LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
        BEGIN ATOMIC
            SELECT CASE WHEN wanted > 0 THEN %2$s.next_id(shard, generator, epoch, shard_bits, sequence_bits)
                        ELSE %2$s.raise_generator(generator,
                                                  (raise_to >> sequence_bits) << (shard_bits + sequence_bits),
                                                  epoch, shard_bits, sequence_bits) END;
        END$replace$, portable, extension);
    FOR f IN
        SELECT p.oid, p.proname, p.proretset, p.proargmodes IS NOT NULL AS is_row,
               CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' ELSE 'VOLATILE' END
               || CASE p.proparallel WHEN 's' THEN ' PARALLEL SAFE' WHEN 'r' THEN ' PARALLEL RESTRICTED'
                  ELSE ' PARALLEL UNSAFE' END
               || CASE WHEN p.proretset THEN ' ROWS 1000' ELSE '' END AS labels,
               (SELECT string_agg('$' || n, ', ' ORDER BY n) FROM generate_series(1, p.pronargs) n) AS arguments
        FROM pg_proc p JOIN pg_proc e ON e.proname = p.proname AND e.proargtypes = p.proargtypes
        WHERE p.pronamespace = portable::regnamespace AND e.pronamespace = extension::regnamespace
          AND p.proowner = owner AND p.prokind = 'f'
          AND EXISTS (SELECT FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = e.oid AND d.deptype = 'e'
                        AND x.extname = 'shardid')
          -- The extension's owner, who can be any role, can add functions to it.
          AND (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = e.proowner)
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE sql %s %s',
                       portable, f.proname, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid), f.labels,
                       format(CASE WHEN f.is_row THEN 'BEGIN ATOMIC SELECT * FROM %s.%I(%s); END'
                                   WHEN f.proretset THEN 'BEGIN ATOMIC SELECT %s.%I(%s); END'
                                   ELSE 'RETURN %s.%I(%s)' END, extension, f.proname, f.arguments));
    END LOOP;

    -- This takes a lock on each mark.
    PERFORM set_config('lock_timeout', '200ms', true);
    FOR try IN 1 .. 100 LOOP
        BEGIN
            FOR n IN 0 .. 63 LOOP
                EXECUTE format('ALTER SEQUENCE %s.shardid_mark_%s RESTART CYCLE', portable, n);
            END LOOP;
            is_done := true;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05 + random() / 10);
        END;
    END LOOP;
    IF NOT is_done THEN
        RAISE lock_not_available USING MESSAGE = 'a transaction that has generated ids does not end',
            DETAIL = 'Nothing is changed.', HINT = 'Run this again later.';
    END IF;
END
$$;

-- What was found by its name must not be another's.
SET LOCAL search_path = :portable, pg_temp;
\ir owners.sql
COMMIT;

-- No statement that begins now knows the marks, nor what only the portable functions call. Those that have begun do.
BEGIN;
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
       pg_catalog.set_config('shardid_portable.schema', :'portable', true) \g /dev/null
DO $$
DECLARE
    others text[] := ARRAY(SELECT l.virtualxid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                           WHERE l.locktype = 'virtualxid' AND a.datname = current_database() AND a.usesysid IS NOT NULL
                             AND l.pid <> pg_backend_pid());
    f record;
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'virtualxid' AND l.virtualxid = ANY (others)) LOOP
        PERFORM pg_sleep(0.05);
    END LOOP;
    -- Nothing depends on the rest but itself, or this fails and says what does.
    FOR f IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = current_setting('shardid_portable.schema')::regnamespace
          AND p.proname IN ('shardid_draw_at_once', 'shardid_draw_locked', 'shardid_mark_of', 'shardid_mark_head',
                            'shardid_mark_zero', 'shardid_ms_bits', 'shardid_grant_marks')
        ORDER BY p.oid DESC
    LOOP
        EXECUTE format('DROP ROUTINE %s', f.name);
    END LOOP;
END
$$;
SELECT format('DROP SEQUENCE %s.shardid_mark_%s', :'portable', n) FROM generate_series(0, 63) n \gexec
COMMIT;
