-- Back from the extension to portable/shardid.sql, after portable/to_extension.sql: see docs/portable.md.
--
--     psql -f portable/from_extension.sql     with the schema of the portable functions first in search_path, as a role that
--                                             owns it and the generators
--
-- Nobody may draw by the extension while others draw by the portable functions, which have another lock. So the generators
-- get CYCLE, with which both refuse to draw (55000), until all transactions that may yet draw by the extension have ended.
\set ON_ERROR_STOP on

-- Those in the defaults of columns, and the default one. Waits for all who have drawn from them.
CREATE TEMPORARY TABLE generators AS
SELECT DISTINCT s.oid::regclass AS generator
FROM pg_class s
WHERE s.relkind = 'S' AND s.relpersistence = 'p' AND s.relname !~ '^shardid_mark_[0-9]+$'
  AND (s.oid = to_regclass('shardid_seq')
       OR EXISTS (SELECT FROM pg_depend d WHERE d.refobjid = s.oid AND d.classid = 'pg_attrdef'::regclass)
       OR EXISTS (SELECT FROM pg_sequences q WHERE format('%I.%I', q.schemaname, q.sequencename)::regclass = s.oid
                  AND q.last_value > 1000000000000));
SELECT format('ALTER SEQUENCE %s CYCLE', generator) FROM generators \gexec

\ir shardid.sql

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
DROP TABLE generators, others;
