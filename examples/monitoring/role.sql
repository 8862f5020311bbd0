-- The role that asks, and what it needs beyond pg_monitor: SELECT on each generator. A superuser runs this in each
-- database. Leases need nothing more.
SELECT 'CREATE ROLE shardid_monitor LOGIN' WHERE to_regrole('shardid_monitor') IS NULL \gexec
GRANT pg_monitor TO shardid_monitor;
ALTER ROLE shardid_monitor SET search_path = ids, public;
GRANT USAGE ON SCHEMA ids TO shardid_monitor;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA ids, public TO shardid_monitor;
-- And on those that the owner of the tables creates later, here the role that runs this:
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON SEQUENCES TO shardid_monitor;
