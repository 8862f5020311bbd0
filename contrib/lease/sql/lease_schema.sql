-- The schema of shardid_lease has a fixed name: if another role can create objects in it, or has, it is refused.
\a \t on

\set SHOW_CONTEXT never
CREATE EXTENSION dblink;
CREATE ROLE regress_shardid_mallory;
CREATE ROLE regress_shardid_admin SUPERUSER;

-- Another role's schema, with code that could be called instead of the extension's.
CREATE SCHEMA shardid_lease AUTHORIZATION regress_shardid_mallory;
SET ROLE regress_shardid_mallory;
CREATE FUNCTION shardid_lease.grant_shards(text) RETURNS jsonb LANGUAGE sql RETURN '[]'::jsonb;
RESET ROLE;
CREATE EXTENSION shardid_lease;
ALTER SCHEMA shardid_lease OWNER TO regress_shardid_admin;
CREATE EXTENSION shardid_lease;
DROP FUNCTION shardid_lease.grant_shards(text);
CREATE FUNCTION shardid_lease.planted(int DEFAULT 0) RETURNS void LANGUAGE sql AS '';
ALTER FUNCTION shardid_lease.planted(int) OWNER TO regress_shardid_mallory;
CREATE EXTENSION shardid_lease;
DROP FUNCTION shardid_lease.planted(int);

-- Each kind of object.
CREATE TYPE shardid_lease.planted AS ENUM ();
ALTER TYPE shardid_lease.planted OWNER TO regress_shardid_mallory;
CREATE EXTENSION shardid_lease;
DROP TYPE shardid_lease.planted;
CREATE VIEW shardid_lease.planted AS SELECT 1;
ALTER VIEW shardid_lease.planted OWNER TO regress_shardid_mallory;
CREATE EXTENSION shardid_lease;
DROP VIEW shardid_lease.planted;
CREATE OPERATOR shardid_lease.= (FUNCTION = int48eq, LEFTARG = int, RIGHTARG = bigint);
ALTER OPERATOR shardid_lease.= (int, bigint) OWNER TO regress_shardid_mallory;
CREATE EXTENSION shardid_lease;
DROP OPERATOR shardid_lease.= (int, bigint);

-- Open to others.
GRANT CREATE ON SCHEMA shardid_lease TO PUBLIC;
CREATE EXTENSION shardid_lease;
REVOKE CREATE ON SCHEMA shardid_lease FROM PUBLIC;
GRANT CREATE ON SCHEMA shardid_lease TO regress_shardid_mallory;
CREATE EXTENSION shardid_lease;
REVOKE CREATE ON SCHEMA shardid_lease FROM regress_shardid_mallory;

-- A superuser's schema, as a dump creates it, with superusers' objects; USAGE of other roles is no problem.
GRANT USAGE ON SCHEMA shardid_lease TO PUBLIC;
GRANT CREATE ON SCHEMA shardid_lease TO regress_shardid_admin;
CREATE TABLE shardid_lease.own ();
ALTER DEFAULT PRIVILEGES FOR ROLE regress_shardid_mallory IN SCHEMA shardid_lease GRANT ALL ON TABLES TO PUBLIC;
CREATE EXTENSION shardid_lease;

-- DROP EXTENSION leaves the schema; the extension can be created there again.
DROP EXTENSION shardid_lease;
CREATE EXTENSION shardid_lease;
SELECT count(*) AS uncommented
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'shardid_lease'
WHERE d.deptype = 'e' AND d.classid <> 'pg_type'::regclass AND obj_description(d.objid, d.classid::regclass::name) IS NULL;

DROP EXTENSION shardid_lease;
DROP SCHEMA shardid_lease CASCADE;
CREATE EXTENSION shardid_lease;
SELECT nspowner = current_user::regrole AS own_schema FROM pg_namespace WHERE nspname = 'shardid_lease';
CREATE SCHEMA elsewhere;
ALTER EXTENSION shardid_lease SET SCHEMA elsewhere;
DROP EXTENSION shardid_lease, dblink;
DROP SCHEMA shardid_lease, elsewhere;
DROP OWNED BY regress_shardid_admin, regress_shardid_mallory;
DROP ROLE regress_shardid_admin, regress_shardid_mallory;
