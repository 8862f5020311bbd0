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
    own_schema pg_catalog.name := pg_catalog.current_schema();
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
    bound pg_catalog.pg_proc;
    of_schema pg_catalog.pg_namespace;
BEGIN
    -- No name is looked up but in pg_catalog, whatever there is in that schema and in search_path.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT p.* INTO bound FROM pg_proc p
    WHERE p.oid = to_regprocedure(quote_ident(own_schema) || '.id_lower_bound(timestamptz, timestamptz, int, int)');
    IF bound.oid IS NULL THEN
        RAISE undefined_function USING
            MESSAGE = format('schema %I has no portable functions', own_schema),
            HINT = 'Load contrib/portable/shardid.sql first.';
    ELSIF bound.proowner <> me THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of the portable functions in schema %I', own_schema),
            HINT = format('Run this as %s.', bound.proowner::regrole);
    END IF;
    SELECT n.* INTO of_schema FROM pg_namespace n WHERE n.nspname = 'shardid_admin';
    IF EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'shardid_admin') THEN
        RAISE duplicate_object USING MESSAGE = 'the extension shardid_admin is in this database',
            HINT = 'Run DROP EXTENSION shardid_admin.';
    ELSIF of_schema.nspowner <> me THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of schema shardid_admin',
            HINT = format('Run this as %s, or rename that schema.', of_schema.nspowner::regrole);
    ELSIF EXISTS (SELECT FROM aclexplode(of_schema.nspacl) a WHERE a.grantee <> me AND a.privilege_type = 'CREATE') THEN
        RAISE insufficient_privilege USING MESSAGE = 'others can create objects in schema shardid_admin',
            HINT = 'Drop the schema: this file creates it.';
    END IF;
    PERFORM set_config('client_min_messages', 'warning', true),
            set_config('search_path', format('%I, pg_temp', own_schema), true);
END
$$;

\ir ../admin/shardid_admin--1.0.sql
SET LOCAL search_path = shardid_admin, pg_temp;

-- Not in the extension. A transaction that created something before CREATE was revoked may have ended after this began.
-- What is above may have found that, wherever it has been moved since then.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    other pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT pg_describe_object(o.classid, o.objid, 0) INTO other
    FROM (SELECT tableoid, oid, proowner FROM pg_proc WHERE pronamespace = own_schema
          UNION ALL SELECT tableoid, oid, oprowner FROM pg_operator WHERE oprnamespace = own_schema
          UNION ALL
          -- What this transaction has made uses it.
          SELECT d.refclassid, d.refobjid, COALESCE(p.proowner, q.oprowner, t.typowner, c.relowner) FROM pg_depend d
          LEFT JOIN pg_proc p ON d.refclassid = p.tableoid AND d.refobjid = p.oid
          LEFT JOIN pg_operator q ON d.refclassid = q.tableoid AND d.refobjid = q.oid
          LEFT JOIN pg_type t ON d.refclassid = t.tableoid AND d.refobjid = t.oid
          LEFT JOIN pg_class c ON d.refclassid = c.tableoid AND d.refobjid = c.oid
          WHERE d.xmin = pg_current_xact_id()::xid
         ) o (classid, objid, owner)
    WHERE o.owner <> quote_ident(current_user)::regrole
      AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('another role has created %s', other), HINT = 'Use another schema, or drop it.';
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;

COMMIT;
