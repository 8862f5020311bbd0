-- settled_below returns an id below which no row of a generator can become visible any more.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none
CREATE SCHEMA settled;
SET search_path = settled, public;
CREATE ROLE regress_settled_reader;
GRANT USAGE ON SCHEMA settled TO regress_settled_reader;
CREATE SEQUENCE g CACHE 2;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), name text);
CREATE FUNCTION position_of(sequence regclass) RETURNS bigint LANGUAGE sql RETURN pg_sequence_last_value(sequence);

\echo -- Nothing was generated: refused, as a bound of then would be below all others; then a row, which is below the id as
\echo -- soon as its millisecond is over.
SELECT try($$SELECT settled_below('g')$$);
INSERT INTO photos (name) VALUES ('harbour');
SELECT pg_sleep(0.002);
SELECT settled_below('g') AS b \gset
SELECT count(*) FILTER (WHERE id < :b), count(*), :b & ((1 << 23) - 1) FROM photos;
\echo -- An idle generator keeps up with the clock, so it holds no reader of several back; and ids continue above.
SELECT pg_sleep(0.002);
SELECT settled_below('g') > :b, settled_below('g') >= id_lower_bound(statement_timestamp() - interval '1 ms');
SELECT position_of('g') & 1023 < 256 AS most_is_left;
SELECT settled_below('g') AS b \gset
INSERT INTO photos (name) VALUES ('lighthouse') RETURNING id > :b;

\echo -- So does one that others have moved. One that was altered or restarted knows no layout until its next id.
SELECT setval('g', 1);
SELECT settled_below('g') > :b;
\echo -- One that is too far ahead for ids has no bound that a reader should store, as after the usual script of a restore.
SELECT count(setval('g', id)) FROM photos WHERE name = 'harbour';
SELECT left(try($$SELECT settled_below('g')$$), 5), left(try($$SELECT next_id(1, 'g')$$), 5), settled_before
FROM id_generator_status('g');
SELECT setval('g', 1);
SELECT next_id(1, 'g') AS id \gset
ALTER SEQUENCE g CACHE 2;
SELECT try($$SELECT settled_below('g')$$);
SELECT settled_before IS NULL FROM id_generator_status('g');
SELECT raise_generator('g', 0) > 0;
SELECT settled_below('g') > :id, settled_before >= now() - interval '1 ms' FROM id_generator_status('g');
\echo -- id_generator_status shows what would be returned, and moves nothing.
SELECT pg_sleep(0.002);
SELECT position_of('g') AS before \gset
SELECT settled_before BETWEEN statement_timestamp() - interval '1 ms' AND clock_timestamp(), held_back_by
FROM id_generator_status('g');
SELECT position_of('g') = :before;

\echo '-- The transaction''s own ids hold it back, also after ROLLBACK TO SAVEPOINT; those of a rolled back one do not.'
BEGIN;
SAVEPOINT a;
INSERT INTO photos (name) VALUES ('cliff') RETURNING id \gset
ROLLBACK TO a;
SELECT pg_sleep(0.002);
SELECT settled_below('g') <= :id;
INSERT INTO photos (name) VALUES ('cliff');
SELECT settled_below('g') <= :id;
ROLLBACK;
SELECT settled_below('g') > :id;

\echo -- The generator in another layout.
CREATE SEQUENCE other CACHE 2;
SELECT next_id(1, 'other', '2020-01-01 00:00:00+00', 4, 8) AS id \gset
SELECT pg_sleep(0.002);
SELECT settled_below('other', '2020-01-01 00:00:00+00', 4, 8) - (:id >> 12 << 12) >= 4096;
\echo '-- A wrong layout is refused, and does not move it: not in a scale of the caller''s.'
SELECT settled_before FROM id_generator_status('other');
SELECT position_of('other') AS before \gset
SELECT try($$SELECT settled_below('other', '2000-01-01 00:00:00+00', 1, 31)$$);
SELECT try($$SELECT settled_below('other')$$);
SELECT position_of('other') = :before;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$settled_below('g', epoch => 'infinity')$$, $$settled_below(1)$$]) call;
SELECT settled_below(NULL) IS NULL;

\echo -- One whose layout has ended stays where it is.
CREATE SEQUENCE ended CACHE 2;
SELECT raise_generator('ended', 0, '1970-01-01 00:00:00+00', 16, 16) > 0;
SELECT settled_below('ended', '1970-01-01 00:00:00+00', 16, 16);
\echo -- Generators that are refused: without notes, created or altered in this transaction, of another kind.
CREATE SEQUENCE plain;
SELECT try($$SELECT settled_below('plain')$$);
BEGIN;
CREATE SEQUENCE own CACHE 2;
SELECT try($$SELECT settled_below('own')$$);
ALTER SEQUENCE g CACHE 20;
SELECT try($$SELECT settled_below('g')$$);
ROLLBACK;
BEGIN;
SAVEPOINT a;
ALTER SEQUENCE g CACHE 1;
ROLLBACK TO a;
SELECT settled_below('g') >= :b;
COMMIT;
ALTER SEQUENCE shardid_uuid_seq CACHE 2;
SELECT uuid_v1() IS NOT NULL;
SELECT position_of('shardid_uuid_seq') AS before \gset
SELECT left(try($$SELECT settled_below('shardid_uuid_seq')$$), 5), position_of('shardid_uuid_seq') = :before;
ALTER SEQUENCE shardid_uuid_seq CACHE 1;
CREATE TEMPORARY SEQUENCE mine CACHE 2;
SELECT next_id(1, 'mine') AS id \gset
SELECT pg_sleep(0.002);
SELECT settled_below('mine') > :id;

\echo -- Snapshots that are older than the call: of the transaction.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT try($$SELECT settled_below('g')$$);
ROLLBACK;
\echo -- Of the statement: refused wherever the call and the table are in it.
SELECT try($$SELECT id FROM photos WHERE id < settled_below('g')$$);
CREATE VIEW bound AS SELECT settled_below('g') AS b;
CREATE VIEW settled_photos AS SELECT * FROM photos WHERE id < settled_below('g');
CREATE FUNCTION bound() RETURNS bigint LANGUAGE sql RETURN settled_below('g');
CREATE FUNCTION rows() RETURNS SETOF bigint LANGUAGE sql AS $$SELECT id FROM photos WHERE id < settled_below('g')$$;
CREATE TABLE copies (LIKE photos);
-- Functions that the planner does not look into, and one that reads with its caller's snapshot.
CREATE FUNCTION wrapped() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN RETURN settled_below('g'); END$$;
CREATE FUNCTION rows_below(b bigint) RETURNS bigint STABLE LANGUAGE plpgsql AS
    $$BEGIN RETURN (SELECT count(*) FROM photos WHERE id < b); END$$;
PREPARE read AS SELECT id FROM photos WHERE id < settled_below('g');
PREPARE read_below (bigint) AS SELECT id FROM photos WHERE id < $1;
CREATE FUNCTION has_rows_below(b bigint, n bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS
    $$BEGIN RETURN rows_below(b) > n; END$$;
CREATE OPERATOR |<| (FUNCTION = has_rows_below, LEFTARG = bigint, RIGHTARG = bigint);
CREATE PROCEDURE consume(b bigint) LANGUAGE sql AS $$SELECT count(*) FROM photos WHERE id < b$$;
SELECT state, count(*), string_agg(statement, ' ') FILTER (WHERE state <> '55000') FROM unnest(ARRAY[
    $$SELECT id FROM photos WHERE id < (SELECT settled_below('g'))$$,
    $$SELECT settled_below('g'), count(*) FROM photos$$,
    $$SELECT settled_below('g'), (SELECT count(*) FROM photos)$$,
    $$SELECT (SELECT count(*) FROM photos) WHERE settled_below('g') > 0$$,
    $$SELECT 1 WHERE settled_below('g') > 0 AND EXISTS (SELECT FROM photos)$$,
    $$SELECT settled_below('g') UNION ALL SELECT id FROM photos$$,
    $$SELECT id FROM photos, (SELECT * FROM settled_below('g') b) s WHERE id < b$$,
    $$SELECT id FROM photos, settled_below('g') b WHERE id < b$$,
    $$SELECT id FROM photos WHERE EXISTS (SELECT FROM settled_below('g') b WHERE id < b)$$,
    $$SELECT u.* FROM settled_below('g') b, LATERAL (SELECT id FROM photos WHERE id < b ORDER BY id LIMIT 9) u$$,
    $$WITH b AS (SELECT settled_below('g') AS b) SELECT id FROM photos, b WHERE id < b$$,
    $$WITH b AS MATERIALIZED (SELECT settled_below('g') AS b), p AS MATERIALIZED (SELECT id FROM photos)
      SELECT id FROM p, b WHERE id < b$$,
    $$SELECT id FROM photos, bound WHERE id < b$$,
    $$SELECT id FROM settled_photos$$,
    $$SELECT id FROM photos WHERE id < bound()$$,
    $$SELECT * FROM rows()$$,
    $$SELECT id FROM photos ORDER BY id LIMIT settled_below('g')$$,
    $$EXPLAIN SELECT id FROM photos WHERE id < settled_below('g')$$,
    $$COPY (SELECT id FROM photos WHERE id < settled_below('g')) TO '/dev/null'$$,
    $$CREATE TABLE new AS SELECT id FROM photos WHERE id < settled_below('g')$$,
    $$EXECUTE read$$,
    $$DECLARE c CURSOR FOR SELECT id FROM photos WHERE id < settled_below('g')$$,
    $$UPDATE photos SET name = '' WHERE id < settled_below('g')$$,
    $$DELETE FROM photos RETURNING settled_below('g')$$,
    $$INSERT INTO copies SELECT * FROM photos WHERE id < settled_below('g')$$,
    $$INSERT INTO copies (id) SELECT settled_below('g') FROM photos$$,
    $$SELECT settled_below('g') FROM pg_class$$,
    $$SELECT rows_below(settled_below('g'))$$,
    $$SELECT b, rows_below(b) FROM settled_below('g') b$$,
    $$SELECT settled_below('g') |<| 1$$]) statement, LATERAL left(try(statement), 5) state
GROUP BY state ORDER BY state;
\set VERBOSITY sqlstate
SELECT id FROM photos WHERE id < wrapped();
WITH b AS MATERIALIZED (SELECT wrapped() AS b) SELECT id FROM photos, b WHERE id < b;
DELETE FROM photos WHERE id < wrapped();
INSERT INTO copies SELECT * FROM photos WHERE id < wrapped();
WITH p AS (DELETE FROM photos RETURNING id) SELECT id FROM p WHERE id < wrapped();
WITH p AS (UPDATE photos SET name = '' RETURNING id) INSERT INTO copies (id) SELECT id FROM p WHERE id < wrapped();
EXECUTE read_below (wrapped());
DECLARE c CURSOR WITH HOLD FOR SELECT id FROM photos WHERE id < wrapped();
\set VERBOSITY default
SELECT wrapped() > 0;
\echo -- EXECUTE reads with the snapshot with which its arguments are evaluated.
EXECUTE read_below (settled_below('g'));
CALL consume(settled_below('g'));
\echo -- Not refused: what reads no table.
CREATE TABLE bounds (id bigint, at timestamptz DEFAULT '2020-01-01 00:00:00+00' UNIQUE);
SELECT state, count(*), string_agg(statement, ' ') FILTER (WHERE state <> 'no error') FROM unnest(ARRAY[
    $$SELECT b > 0 FROM bound$$,
    $$INSERT INTO bounds (id, at) VALUES (wrapped(), now())$$,
    $$SELECT least(settled_below('g'), settled_below('mine')) FROM generate_series(1, 3)$$,
    $$WITH b AS MATERIALIZED (SELECT settled_below('g') AS b) SELECT b FROM b$$,
    $$INSERT INTO bounds (id) VALUES (settled_below('g'))$$,
    $$INSERT INTO bounds (id) SELECT settled_below('g') ON CONFLICT (at) DO UPDATE SET id = excluded.id$$,
    $$COPY (SELECT settled_below('g')) TO '/dev/null'$$,
    $$DO 'DECLARE b bigint := settled_below(''g''); BEGIN PERFORM id FROM photos WHERE id < b; END'$$]) statement,
    LATERAL try(statement) state GROUP BY state;
SELECT count(*), max(id) >= :b FROM bounds;
\echo -- The bound that a table has, in one statement and in any isolation.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT name FROM photos WHERE id < (SELECT max(id) FROM bounds) ORDER BY id;
COMMIT;

\echo -- It needs SELECT on the sequence, and USAGE is no substitute. A role with SELECT can do no more.
GRANT USAGE ON SEQUENCE g TO regress_settled_reader;
SET ROLE regress_settled_reader;
SELECT try($$SELECT settled_below('g')$$);
RESET ROLE;
GRANT SELECT ON SEQUENCE g TO regress_settled_reader;
SET ROLE regress_settled_reader;
SELECT settled_below('g') >= :b;
SELECT left(try($$ALTER SEQUENCE g CACHE 1$$), 5), left(try($$SELECT settled_below('g', '2000-01-01 00:00:00+00', 1, 31)$$), 5);
\echo '-- Nor does it see which of another role''s sessions holds readers back.'
BEGIN;
SELECT next_id(1, 'g') > 0 AS drawn;
SELECT held_back_by FROM id_generator_status('g');
RESET ROLE;
SELECT held_back_by = pg_backend_pid() FROM id_generator_status('g');
ROLLBACK;
BEGIN READ ONLY;
SELECT settled_before IS NOT NULL FROM id_generator_status('g');
SELECT try($$SELECT settled_below('g')$$);
COMMIT;
RESET ROLE;
BEGIN READ ONLY;
SELECT settled_below('mine') > 0;
COMMIT;

SET client_min_messages = error;
DROP SCHEMA settled CASCADE;
DROP ROLE regress_settled_reader;
