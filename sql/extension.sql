-- The extension as an object: schemas, owners, DROP, re-create, dump settings.
\set ECHO none
\a \t on

\echo -- Its objects, and that each has a comment.
SELECT count(*) AS uncommented
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'shardid'
WHERE d.deptype = 'e' AND obj_description(d.objid, d.classid::regclass::name) IS NULL;
SELECT extversion, extrelocatable, extconfig = ARRAY['shardid_seq', 'shardid_uuid_seq', 'shardid_objectid_seq']::regclass[]::oid[] AS position_is_dumped
FROM pg_extension WHERE extname = 'shardid';

\echo -- A default uses it: it is not dropped without CASCADE.
CREATE TABLE photos (id bigint DEFAULT next_id(5));
\set VERBOSITY terse
DROP EXTENSION shardid;
DROP SEQUENCE shardid_seq;
\set VERBOSITY default

\echo -- Moved to another schema; the default still works.
CREATE SCHEMA "Odd schema";
ALTER EXTENSION shardid SET SCHEMA "Odd schema";
INSERT INTO photos DEFAULT VALUES RETURNING "Odd schema".id_shard(id);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'photos'::regclass;
SET search_path = pg_catalog;
INSERT INTO public.photos DEFAULT VALUES RETURNING "Odd schema".id_shard(id);
RESET search_path;
DROP TABLE photos;
DROP EXTENSION shardid;
DROP SCHEMA "Odd schema";

\echo -- Installed by a role that may create objects in the database, without being superuser. The sequences are the database
\echo '-- owner''s.'
CREATE ROLE regress_shardid_installer;
CREATE ROLE regress_shardid_grantee;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_shardid_installer', current_database()) \gexec
CREATE SCHEMA app AUTHORIZATION regress_shardid_installer;
SET ROLE regress_shardid_installer;
CREATE EXTENSION shardid SCHEMA app;
SELECT app.id_shard(app.next_id(5));
GRANT USAGE ON SCHEMA app TO regress_shardid_grantee;
RESET ROLE;
GRANT USAGE ON SEQUENCE app.shardid_seq TO regress_shardid_grantee;
SET ROLE regress_shardid_grantee;
SELECT app.id_shard(app.next_id(5));
SET ROLE regress_shardid_installer;
ALTER SEQUENCE app.shardid_seq RESTART;
DROP EXTENSION shardid;
RESET ROLE;

\echo -- DROP OWNED by its owner drops it.
SET ROLE regress_shardid_installer;
CREATE EXTENSION shardid SCHEMA app;
RESET ROLE;
DROP OWNED BY regress_shardid_installer CASCADE;
SELECT count(*) AS left_over FROM pg_extension WHERE extname = 'shardid';
DROP ROLE regress_shardid_installer, regress_shardid_grantee;

\echo -- Dropped and created again in one session and one transaction: ids continue.
CREATE EXTENSION shardid;
SELECT next_id(5) AS first \gset
BEGIN;
DROP EXTENSION shardid;
CREATE EXTENSION shardid;
SELECT next_id(5) AS second \gset
ROLLBACK;
SELECT next_id(5) AS third \gset
SELECT :first < :second AS second, :first < :third AS third;

\echo -- Dropped and created again while a cursor and a function continue: they find the new sequences.
BEGIN;
DECLARE made CURSOR FOR SELECT uuid_v1() <> uuid_v1() AND objectid() < objectid() AS made FROM generate_series(1, 9);
FETCH made;
DROP EXTENSION shardid;
CREATE EXTENSION shardid;
FETCH made;
SELECT u.is_called AS uuid_is_called, o.is_called AS objectid_is_called FROM shardid_uuid_seq u, shardid_objectid_seq o;
DROP EXTENSION shardid;
\set VERBOSITY sqlstate
FETCH made;
\set VERBOSITY default
ROLLBACK;
DO $$
DECLARE
    first uuid;
    second uuid;
BEGIN
    FOR i IN 1 .. 2 LOOP
        first := second;
        second := uuid_v1();
        ALTER EXTENSION shardid DROP SEQUENCE shardid_uuid_seq;
        DROP SEQUENCE shardid_uuid_seq;
        CREATE SEQUENCE shardid_uuid_seq;
        ALTER EXTENSION shardid ADD SEQUENCE shardid_uuid_seq;
    END LOOP;
    IF first IS NULL OR first = second THEN RAISE 'first %, second %', first, second; END IF;
END
$$;
DROP EXTENSION shardid;
CREATE EXTENSION shardid;
