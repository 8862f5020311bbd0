-- A generator has one layout, which its storage remembers from the first id on.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo -- Each of epoch, shard_bits and sequence_bits matters, in every function that draws or raises.
CREATE SEQUENCE g;
SELECT next_id(1, 'g') IS NOT NULL;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, 'g', shard_bits => 12)$$,
    $$next_id(1, 'g', sequence_bits => 9)$$, $$next_id(1, 'g', epoch => '2011-08-24 21:07:01.722+00')$$]) call;
SELECT left(try('SET LOCAL shardid.shard_id = 5; SELECT ' || call), 45)
FROM unnest(ARRAY[$$next_ids(1, 10, 'g', shard_bits => 12)$$, $$count(*) FROM next_ids(1, 10, 'g', shard_bits => 12)$$,
    $$raise_generator('g', 1, shard_bits => 12)$$, $$next_id('g'::regclass, shard_bits => 12)$$]) call;
\echo -- Nothing is drawn, and the generator continues.
SELECT last_value AS before FROM g \gset
SELECT left(try('SELECT next_id(1, ''g'', shard_bits => 12)'), 5), last_value = :before FROM g;
SELECT next_id(1, 'g') IS NOT NULL;

\echo -- A change from 13 to 12 shard bits, with an epoch two seconds old, made duplicate ids.
CREATE SEQUENCE young;
SELECT date_trunc('milliseconds', clock_timestamp()) - interval '2 s' AS epoch \gset
SELECT count(*) FROM next_ids(1, 20000, 'young', :'epoch');
SELECT regexp_replace(try(format('SELECT next_ids(1, 20000, ''young'', %L, 12)', :'epoch')), '\d{4}-\d\d-\d\d \S+', 'THEN', 'g');

\echo -- The remembered layout does not disturb other uses: the sequence looks like any other.
SELECT (xmin::text::bigint >= 3) AS bound, is_called FROM g;
SELECT setval('g', last_value) = last_value, nextval('g') > 0 FROM g;
SELECT left(try('SELECT next_id(1, ''g'', shard_bits => 12)'), 5), next_id(1, 'g') IS NOT NULL;

\echo -- New storage has no layout, on purpose. A rollback restores the old storage and its layout.
BEGIN;
ALTER SEQUENCE g RESTART;
SELECT next_id(1, 'g', shard_bits => 12) IS NOT NULL;
SAVEPOINT s;
SELECT next_id(1, 'g');
ROLLBACK TO s;
SELECT next_id(1, 'g', shard_bits => 12) IS NOT NULL;
ROLLBACK;
SELECT left(try('SELECT next_id(1, ''g'', shard_bits => 12)'), 5), next_id(1, 'g') IS NOT NULL;
\echo -- Ticks of a layout with more sequence_bits are not taken for future times of the old layout.
BEGIN;
ALTER SEQUENCE g RESTART;
SELECT next_id(1, 'g', shard_bits => 10, sequence_bits => 12) IS NOT NULL;
SAVEPOINT s;
ALTER SEQUENCE g RESTART;
SELECT raise_generator('g', 5, shard_bits => 8, sequence_bits => 14) IS NOT NULL;
ROLLBACK TO s;
SELECT next_id(1, 'g', shard_bits => 10, sequence_bits => 12) IS NOT NULL;
ROLLBACK;
SELECT next_id(1, 'g') IS NOT NULL;
SELECT lead < '1 s' FROM id_generator_status('g');
CREATE TABLE t (id bigint DEFAULT next_id(1, 'g'));
ALTER SEQUENCE g OWNED BY t.id;
TRUNCATE t RESTART IDENTITY;
SELECT next_id(1, 'g', shard_bits => 12) IS NOT NULL;
SELECT left(try('INSERT INTO t DEFAULT VALUES'), 5);
\echo -- Restored storage that had no layout gets that of the draws meanwhile.
CREATE SEQUENCE unbound;
BEGIN;
ALTER SEQUENCE unbound INCREMENT BY 1;
SELECT next_id(1, 'unbound', shard_bits => 12) IS NOT NULL;
ROLLBACK;
SELECT left(try('SELECT next_id(1, ''unbound'')'), 5), next_id(1, 'unbound', shard_bits => 12) IS NOT NULL;
\echo -- Temporary sequences have one layout as well.
CREATE TEMPORARY SEQUENCE temporary;
SELECT next_id(0, 'temporary', shard_bits => 0) IS NOT NULL;
SELECT left(try('SELECT next_id(1, ''temporary'')'), 5);

\echo -- The sequences of UUIDs and ObjectIds generate no ids.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, 'shardid_uuid_seq')$$,
    $$raise_generator('shardid_objectid_seq', next_id(1))$$]) call;
SELECT uuid_v1() IS NOT NULL, objectid() IS NOT NULL;
\echo -- Nor if their storage is unbound, as after pg_upgrade.
BEGIN;
ALTER SEQUENCE shardid_uuid_seq INCREMENT BY 1;
SELECT left(try('SELECT ' || call), 45) FROM unnest(ARRAY[
    $$next_id(1, 'shardid_uuid_seq', '1980-01-01 00:00:00+00', 1, 17)$$, $$raise_generator('shardid_uuid_seq', 5)$$]) call;
SELECT uuid_v1() IS NOT NULL;
ALTER SEQUENCE shardid_uuid_seq RENAME TO was_uuid;
ALTER SEQUENCE shardid_seq RENAME TO shardid_uuid_seq;
SELECT left(try('SELECT next_id(1, ''shardid_uuid_seq'')'), 45), try('SELECT uuid_v1()');
ROLLBACK;

\echo -- Ids that are negative, or will be within a year: a warning once per session and generator.
CREATE SEQUENCE negative;
SELECT next_id(1, 'negative', sequence_bits => 25 - 13) < 0;
SELECT count(*) FROM next_ids(1, 10, 'negative', sequence_bits => 25 - 13);
ALTER SEQUENCE negative OWNED BY NONE;
SELECT next_id(1, 'negative', sequence_bits => 25 - 13) < 0;
\c -
\set VERBOSITY terse
SELECT count(*) FROM next_ids(1, 10, 'negative', sequence_bits => 25 - 13);
\echo -- Epochs with which ids turn negative in 364 and in 366 days.
CREATE SEQUENCE soon;
CREATE SEQUENCE later;
SELECT clock_timestamp() - interval '1 ms' * (1::bigint << 40) AS then \gset
SELECT next_id(1, 'soon', date_trunc('second', :'then'::timestamptz + interval '364 days')) > 0;
SELECT next_id(1, 'later', date_trunc('second', :'then'::timestamptz + interval '366 days')) > 0;

\echo -- id_generator_layout: no row for a plain or fresh sequence, for UUIDs, or after RESTART. It needs SELECT.
CREATE SEQUENCE shown;
SELECT * FROM id_generator_layout('shown');
SELECT next_id(5, 'shown', '2020-01-01 00:00:00+00', 4, 12) IS NOT NULL, setval('shown', 1);
SELECT * FROM id_generator_layout('shown');
ALTER SEQUENCE shown RESTART;
SELECT * FROM id_generator_layout('shown');
SELECT next_id(5) IS NOT NULL, uuid_v1() IS NOT NULL;
SELECT * FROM id_generator_layout();
SELECT * FROM id_generator_layout('shardid_uuid_seq');
SELECT id_generator_layout('t');
CREATE ROLE regress_shardid_layout;
GRANT USAGE ON SEQUENCE shown TO regress_shardid_layout;
SET ROLE regress_shardid_layout;
SELECT id_generator_layout('shown');
RESET ROLE;

DROP SEQUENCE unbound, young, negative, soon, later, shown;
DROP ROLE regress_shardid_layout;
DROP TABLE t;
