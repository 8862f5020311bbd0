-- Partitions by time, and ids for a whole schema, where the extension shardid_admin cannot be installed: the functions are those of
-- its script. Load it after contrib/portable/shardid.sql, as the same role:
--
--     psql -f contrib/portable/shardid.sql -f contrib/portable/admin.sql
--
-- It creates the schema shardid_admin, if it is missing, and functions in it, which call those of the schema that is first in
-- search_path. To undo it, run DROP SCHEMA shardid_admin CASCADE. An error leaves nothing.
--
-- Run again, it brings the functions of an older file up to date.
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;

DO $$
DECLARE
    bound pg_catalog.pg_proc;
    of_schema pg_catalog.pg_namespace;
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
BEGIN
    SELECT p.* INTO bound FROM pg_catalog.pg_proc p
    WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure(pg_catalog.quote_ident(pg_catalog.current_schema())
          OPERATOR(pg_catalog.||) '.id_lower_bound(pg_catalog.timestamptz, pg_catalog.timestamptz, int, int)');
    IF bound.oid IS NULL THEN
        RAISE undefined_function USING
            MESSAGE = pg_catalog.format('schema %I has no portable functions', pg_catalog.current_schema()),
            HINT = 'Load contrib/portable/shardid.sql first.';
    ELSIF bound.proowner OPERATOR(pg_catalog.<>) me THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('must be owner of the portable functions in schema %I',
                                        pg_catalog.current_schema()),
            HINT = pg_catalog.format('Run this as %s.', bound.proowner::pg_catalog.regrole);
    END IF;
    SELECT n.* INTO of_schema FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) 'shardid_admin';
    IF NOT FOUND THEN
        CREATE SCHEMA shardid_admin;
    ELSIF of_schema.nspowner OPERATOR(pg_catalog.<>) me THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'must be owner of schema shardid_admin',
            HINT = pg_catalog.format('Run this as %s, or rename that schema.', of_schema.nspowner::pg_catalog.regrole);
    ELSIF EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extnamespace OPERATOR(pg_catalog.=) of_schema.oid) THEN
        RAISE duplicate_object USING
            MESSAGE = 'the extension shardid_admin is in this database',
            HINT = 'Run DROP EXTENSION shardid_admin.';
    END IF;
    PERFORM pg_catalog.set_config('client_min_messages', 'warning', true);
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('%I, pg_temp', pg_catalog.current_schema()), true);
END
$$;

\ir ../admin/shardid_admin--1.0.sql
SET LOCAL search_path = shardid_admin, pg_temp;

-- Not in the extension. A transaction that created something before CREATE was revoked may have ended after this began.
-- What is above may have found that, wherever it has been moved since then.
DO $$
DECLARE
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    other pg_catalog.text;
BEGIN
    SELECT pg_catalog.pg_describe_object(o.classid, o.objid, 0) INTO other
    FROM (SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.proowner
          FROM pg_catalog.pg_proc p
          WHERE p.pronamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.oprowner
          FROM pg_catalog.pg_operator p
          WHERE p.oprnamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          -- What this transaction has made uses it.
          SELECT d.refclassid, d.refobjid, COALESCE(p.proowner, q.oprowner, t.typowner, c.relowner)
          FROM pg_catalog.pg_depend d
          LEFT JOIN pg_catalog.pg_proc p
              ON d.refclassid OPERATOR(pg_catalog.=) p.tableoid AND d.refobjid OPERATOR(pg_catalog.=) p.oid
          LEFT JOIN pg_catalog.pg_operator q
              ON d.refclassid OPERATOR(pg_catalog.=) q.tableoid AND d.refobjid OPERATOR(pg_catalog.=) q.oid
          LEFT JOIN pg_catalog.pg_type t
              ON d.refclassid OPERATOR(pg_catalog.=) t.tableoid AND d.refobjid OPERATOR(pg_catalog.=) t.oid
          LEFT JOIN pg_catalog.pg_class c
              ON d.refclassid OPERATOR(pg_catalog.=) c.tableoid AND d.refobjid OPERATOR(pg_catalog.=) c.oid
          WHERE d.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid
         ) o (classid, objid, owner)
    WHERE o.owner OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(current_user)::pg_catalog.regrole::pg_catalog.oid
      AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('another role has created %s', other), HINT = 'Use another schema, or drop it.';
    END IF;
END
$$;

COMMIT;
