-- What the scripts of this directory need, in an empty database whose server has shardid.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
SELECT format('ALTER DATABASE %I SET shardid.shard_id = 5', current_database()) \gexec
\ir ../baseline.sql
CREATE SEQUENCE plain;
CREATE TABLE by_next_id (id bigint PRIMARY KEY DEFAULT ids.next_id(), n int);
-- Not unique: under load this function repeats ids.
CREATE TABLE by_next_id_plpgsql (id bigint DEFAULT baseline.next_id(), n int);
CREATE INDEX ON by_next_id_plpgsql (id);
CREATE TABLE by_nextval (id bigint PRIMARY KEY DEFAULT nextval('plain'), n int);
CREATE TABLE by_gen_random_uuid (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int);
-- From PostgreSQL 18 on.
SELECT 'CREATE TABLE by_uuidv7 (id uuid PRIMARY KEY DEFAULT uuidv7(), n int)' FROM pg_proc WHERE proname = 'uuidv7' \gexec
CREATE TABLE thousand AS
SELECT ts, ids.uuid_v1_from(ts, 666, '44:88:99:36:57:32') AS u
FROM generate_series(1, 1000) n, LATERAL (SELECT now() + n * interval '1 ms') t (ts);
