-- Back from the extension to contrib/portable/shardid.sql, after contrib/portable/to_extension.sql: see contrib/portable/README.md.
--
--     psql -f contrib/portable/from_extension.sql   with the schema of the portable functions first in search_path, as its
--                                           owner, with the rights of those who own the generators
--     psql -v generators='a b' -f ...       with these, too
--
-- Nobody may draw by the extension while others draw by the portable functions, which have another lock. So the
-- generators get CYCLE, with which both refuse to draw (55000), until all transactions that may yet draw by the
-- extension have ended. They get it in the transaction that loads the portable functions: if that fails, nothing has
-- changed. Until they have lost it, a comment on a function names them: if this is interrupted, the next run ends it.
\set ON_ERROR_STOP on
\set AUTOCOMMIT on
\if :{?generators}
\else
\set generators ''
\endif
SELECT pg_catalog.current_setting('search_path') AS caller_path,
       pg_catalog.quote_ident(pg_catalog.current_schema()) AS portable,
       EXISTS (SELECT FROM pg_catalog.pg_proc p
               JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
               WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
                 AND p.proname OPERATOR(pg_catalog.=) 'id_to_text') AS has_text \gset

-- No name is looked up but in pg_catalog, whatever there is in that schema and in search_path.
SET search_path = pg_catalog, pg_temp;
BEGIN;
SELECT set_config('shardid_portable.schema', :'portable', true), set_config('client_min_messages', 'error', true),
       set_config('lock_timeout', '200ms', true), set_config('quote_all_identifiers', 'off', true) \g /dev/null

-- Those that defaults of columns pass to next_id, the default one, what is the owner's and has the last_value of one, but is
-- of no identity and no default nextval, and those of a run that was interrupted.
CREATE TEMPORARY TABLE shardid_generators AS
SELECT s.oid::regclass AS generator, s.relowner
FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE s.relpersistence = 'p' AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_class'::regclass
                                             AND e.objid = s.oid AND e.deptype = 'e')
  AND (s.oid = to_regclass(:'portable' || '.shardid_seq')
       OR s.oid = ANY (regexp_split_to_array(nullif(btrim(:'generators'), ''), '[[:space:]]+')::regclass[])
       OR s.oid IN (SELECT to_regclass(closed) FROM to_regprocedure(:'portable' || '.shardid_set_shard(regclass)') f,
                           unnest(obj_description(f, 'pg_proc')::text[]) closed)
       OR EXISTS (SELECT FROM pg_depend d JOIN pg_depend f USING (classid, objid) JOIN pg_proc p ON p.oid = f.refobjid
                  WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid AND classid = 'pg_attrdef'::regclass
                    AND f.refclassid = 'pg_proc'::regclass AND p.proname = 'next_id'
                    AND p.pronamespace = :'portable'::regnamespace)
       OR s.relowner = quote_ident(current_user)::regrole AND NOT q.seqcycle
       AND pg_sequence_last_value(s.oid) > 1000000000000
          AND s.relname !~ '^shardid_mark_[0-9]+$'
          -- After an undo plain numbers continue above the ids.
          AND NOT EXISTS (SELECT FROM pg_depend d LEFT JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
                          WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid
                            AND pg_get_expr(a.adbin, a.adrelid) ~ '(?<![.\w"])nextval\('
                             OR d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.deptype = 'i'));

-- Whoever may draw by the extension, with USAGE, is to draw afterwards; but to UPDATE is not this script's to give.
CREATE TEMPORARY TABLE shardid_drawers AS
SELECT generator, CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee) END AS grantee,
       bool_or(privilege_type = 'UPDATE') AS may_update
FROM shardid_generators JOIN pg_class c ON c.oid = generator,
     aclexplode(COALESCE(relacl, acldefault('s', c.relowner))) a
WHERE privilege_type IN ('USAGE', 'UPDATE')
GROUP BY 1, 2 HAVING bool_or(privilege_type = 'USAGE');

DO $$
DECLARE
    portable text := current_setting('shardid_portable.schema');
    owner oid := (SELECT proowner FROM pg_proc WHERE pronamespace = portable::regnamespace
                  AND proname = 'shardid_draw_any');
    those text;
    alteration text;
    is_done boolean := false;
BEGIN
    IF owner IS NULL THEN
        RAISE undefined_function USING MESSAGE = format('schema %s has no portable functions', portable),
            HINT = 'Set search_path to their schema.';
    ELSIF owner <> quote_ident(current_user)::regrole THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of the portable functions in schema %s', portable),
            HINT = format('Run this as %s.', owner::regrole);
    END IF;

    those := string_agg(g.generator::text, ', ' ORDER BY g.generator::text)
             FROM shardid_generators g WHERE NOT pg_has_role(current_user, g.relowner, 'USAGE');
    IF those <> '' THEN
        RAISE insufficient_privilege USING MESSAGE = 'generators belong to other roles',
            DETAIL = format('They are %s.', those),
            HINT = format('Grant their owners'' roles to %I until this is done.', current_user);
    END IF;

    -- A default that calls the extension itself would continue to use it.
    those := string_agg(DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), ', ')
             FROM pg_extension x JOIN pg_proc p ON p.pronamespace = x.extnamespace
             JOIN pg_depend d ON d.refobjid = p.oid
             WHERE x.extname = 'shardid' AND p.proname IN ('next_id', 'next_ids') AND d.refclassid = 'pg_proc'::regclass
               AND d.deptype = 'n' AND NOT (d.classid = 'pg_proc'::regclass AND d.objid IN (
                   SELECT f.oid FROM pg_proc f WHERE f.pronamespace = portable::regnamespace));
    IF those <> '' THEN
        RAISE object_in_use USING MESSAGE = 'functions of the extension itself are called',
            DETAIL = format('By %s.', those),
            HINT = format('Have them call those of schema %s first.', portable);
    END IF;

    those := string_agg(format('GRANT UPDATE ON SEQUENCE %s TO %s;', d.generator,
                               CASE d.grantee WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(d.grantee) END),
                               ' ' ORDER BY 1)
             FROM shardid_drawers d WHERE NOT d.may_update;
    IF those <> '' THEN
        RAISE insufficient_privilege USING MESSAGE = 'roles with USAGE have no UPDATE on their generators',
            DETAIL = 'The extension asks for USAGE, the portable functions for USAGE and UPDATE.',
            HINT = 'Run ' || those;
    END IF;

    FOR try IN 1 .. 100 LOOP
        BEGIN
            FOR alteration IN
                SELECT format('ALTER SEQUENCE %s CYCLE', g.generator) FROM shardid_generators g
                UNION ALL
                -- There are marks if to_extension.sql was interrupted.
                SELECT format('ALTER SEQUENCE %s NO CYCLE', m.oid::regclass) FROM pg_class m
                WHERE m.relnamespace = portable::regnamespace AND m.relname ~ '^shardid_mark_[0-9]+$'
            LOOP
                EXECUTE alteration;
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
    EXECUTE format('COMMENT ON FUNCTION %s.shardid_set_shard(regclass) IS %L', portable,
                   (SELECT array_agg(g.generator) FROM shardid_generators g));
END
$$;

-- Ends this transaction.
SET LOCAL search_path = :portable;
\ir shardid.sql

SELECT DISTINCT format('CALL %s.shardid_grant_marks(%L)', :'portable', grantee) FROM shardid_drawers \gexec

-- pg_locks shows them to everybody. Workers of autovacuum have no user, and generate no ids.
CREATE TEMPORARY TABLE shardid_others AS
SELECT l.pid, l.virtualxid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'virtualxid' AND a.datname = current_database() AND a.usesysid IS NOT NULL AND l.pid <> pg_backend_pid();

DO $$
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks l JOIN shardid_others USING (pid, virtualxid)
                  WHERE l.locktype = 'virtualxid') LOOP
        PERFORM pg_sleep(0.05);
    END LOOP;
END
$$;

SELECT format('ALTER SEQUENCE %s NO CYCLE', generator) FROM shardid_generators \gexec
COMMENT ON FUNCTION :portable.shardid_set_shard(regclass) IS NULL;
DROP TABLE shardid_generators, shardid_drawers, shardid_others;
\if :has_text
SET search_path = :portable;
\ir uuids_and_text.sql
\endif
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
