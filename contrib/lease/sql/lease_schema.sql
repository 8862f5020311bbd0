-- The schema of shardid_lease has a fixed name, and comes and goes with it: one that exists, in which other roles may
-- have code, is refused.
\a \t on

CREATE EXTENSION dblink;
CREATE SCHEMA shardid_lease;
CREATE EXTENSION shardid_lease;
DROP SCHEMA shardid_lease;
CREATE EXTENSION shardid_lease;
SELECT nspowner = current_user::regrole AS own_schema FROM pg_namespace WHERE nspname = 'shardid_lease';
SELECT count(*) AS uncommented
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'shardid_lease'
WHERE d.deptype = 'e' AND d.classid NOT IN ('pg_type'::regclass, 'pg_namespace'::regclass)
    AND obj_description(d.objid, d.classid::regclass::name) IS NULL;
CREATE SCHEMA elsewhere;
ALTER EXTENSION shardid_lease SET SCHEMA elsewhere;
DROP EXTENSION shardid_lease, dblink;
SELECT to_regnamespace('shardid_lease') IS NULL AS is_gone;
DROP SCHEMA elsewhere;
