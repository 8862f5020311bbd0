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

\ir beside_shardid.sql
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
    of_schema pg_catalog.pg_namespace;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
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
    PERFORM set_config('search_path', own_path, true);
END
$$;

\ir ../admin/shardid_admin--1.0.sql
SET LOCAL search_path = shardid_admin, pg_temp;
\ir owners.sql
COMMIT;
