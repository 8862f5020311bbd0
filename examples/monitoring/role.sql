-- The role that asks, and what it needs beyond pg_monitor: SELECT on each generator. A superuser runs this in each
-- database. Leases need nothing more. Neither of them finds a name in a schema in which other roles may create.
\set AUTOCOMMIT on
SET search_path = pg_catalog, pg_temp;
SELECT 'CREATE ROLE shardid_monitor LOGIN' WHERE to_regrole('shardid_monitor') IS NULL \gexec
GRANT pg_monitor TO shardid_monitor;
ALTER ROLE shardid_monitor SET search_path = ids;
ALTER ROLE shardid_monitor SET quote_all_identifiers = off;
-- An open ALTER SEQUENCE lets the query fail, on which there is an alert, instead of wait.
ALTER ROLE shardid_monitor SET lock_timeout = '5s';
GRANT USAGE ON SCHEMA ids TO shardid_monitor;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA ids, public TO shardid_monitor;
-- And on those that are created later by a role that owns the database, one of the schemas, or anything in them. After
-- another role has created a generator, run this file again.
SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA ids, public GRANT SELECT ON SEQUENCES TO shardid_monitor',
              owner::regrole)
FROM (SELECT datdba FROM pg_database WHERE datname = current_database()
      UNION SELECT nspowner FROM pg_namespace WHERE nspname IN ('ids', 'public')
      UNION SELECT relowner FROM pg_class WHERE relnamespace IN ('ids'::regnamespace, 'public'::regnamespace)
     ) owners (owner)
WHERE owner <> 'pg_database_owner'::regrole \gexec
