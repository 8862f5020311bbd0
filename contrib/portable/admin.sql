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

\ir own_schema.sql
\ir beside_shardid.sql
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'shardid_admin') THEN
        RAISE duplicate_object USING MESSAGE = 'the extension shardid_admin is in this database',
            HINT = 'Run DROP EXTENSION shardid_admin.';
    END IF;
END
$$;

\ir ../admin/shardid_admin--1.0.sql
-- Others could have created it until now.
SET LOCAL search_path = shardid_admin, pg_temp;
\ir own_schema.sql
\ir owners.sql
COMMIT;
