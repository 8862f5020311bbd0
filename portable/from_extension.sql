-- Back from the extension to portable/shardid.sql, after portable/to_extension.sql: see docs/portable.md.
--
--     psql -f portable/from_extension.sql     with the schema of the portable functions first in search_path, as a role that
--                                             owns it and the generators
--
-- Nobody may draw by the extension while others draw by the portable functions, which have another lock. So the generators
-- get CYCLE, with which both refuse to draw (55000), until all transactions that may yet draw by the extension have ended.
\set ON_ERROR_STOP on

-- Those that defaults of columns pass to next_id, the default one, and what has the last_value of one. Waits for all who have drawn from them.
CREATE TEMPORARY TABLE generators AS
SELECT DISTINCT s.oid::regclass AS generator
FROM pg_class s
WHERE s.relkind = 'S' AND s.relpersistence = 'p' AND s.relname !~ '^shardid_mark_[0-9]+$'
  AND (s.oid = to_regclass('shardid_seq')
       OR EXISTS (SELECT FROM pg_depend d JOIN pg_depend f USING (classid, objid) JOIN pg_proc p ON p.oid = f.refobjid
                  WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid AND classid = 'pg_attrdef'::regclass
                    AND f.refclassid = 'pg_proc'::regclass AND p.proname = 'next_id'
                    AND p.pronamespace = current_schema()::regnamespace)
       OR EXISTS (SELECT FROM pg_sequences q WHERE format('%I.%I', q.schemaname, q.sequencename)::regclass = s.oid
                  AND q.last_value > 1000000000000));

-- Whoever may draw by the extension, with USAGE, is to draw afterwards; but to UPDATE is not this script's to give.
CREATE TEMPORARY TABLE drawers AS
SELECT generator, CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee) END AS grantee,
       bool_or(privilege_type = 'UPDATE') AS may_update
FROM generators JOIN pg_class c ON c.oid = generator, aclexplode(COALESCE(relacl, acldefault('s', relowner))) a
WHERE privilege_type IN ('USAGE', 'UPDATE')
GROUP BY 1, 2 HAVING bool_or(privilege_type = 'USAGE');

DO $$
DECLARE
    missing text := string_agg(format('GRANT UPDATE ON SEQUENCE %s TO %s;', generator,
                                      CASE grantee WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(grantee) END), ' ' ORDER BY 1)
                    FROM drawers WHERE NOT may_update;
BEGIN
    IF missing <> '' THEN
        RAISE insufficient_privilege USING MESSAGE = 'roles that draw ids have no UPDATE on their generators',
            DETAIL = 'The extension asks for USAGE, the portable functions for USAGE and UPDATE.',
            HINT = 'Run ' || missing;
    END IF;
END
$$;

SELECT format('ALTER SEQUENCE %s CYCLE', generator) FROM generators \gexec

\ir shardid.sql

SELECT DISTINCT format('CALL shardid_grant_marks(%L)', grantee) FROM drawers \gexec

-- pg_locks shows them to everybody, pg_stat_activity does not.
CREATE TEMPORARY TABLE others AS
SELECT l.pid, l.virtualxid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'virtualxid' AND a.datname = current_database() AND l.pid <> pg_backend_pid();

DO $$
BEGIN
    WHILE EXISTS (SELECT FROM pg_locks l JOIN others USING (pid, virtualxid) WHERE l.locktype = 'virtualxid') LOOP
        PERFORM pg_sleep(0.05);
    END LOOP;
END
$$;

SELECT format('ALTER SEQUENCE %s NO CYCLE', generator) FROM generators \gexec
DROP TABLE generators, drawers, others;
