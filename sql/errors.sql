-- Every error: SQLSTATE, message, DETAIL with the value, HINT with the action. Nothing is lost.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo -- 22003: shard
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(-1)$$, $$next_id(16, shard_bits => 4)$$]) call;
SET shardid.shard_id = 8192;
SELECT try('SELECT next_id()');
RESET shardid.shard_id;

\echo -- 22003: shard and sequence of id_from_parts, also where several arguments are wrong
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$id_from_parts(now(), 8192, 0)$$, $$id_from_parts(now(), 0, 1024)$$,
    $$id_from_parts(now(), 0, 1, sequence_bits => 0)$$, $$id_from_parts('infinity', 8192, 1024)$$,
    $$id_from_parts('infinity', 0, 1024)$$,
    $$id_from_parts('infinity', 8192, 1024, '-infinity')$$]) call;

\echo -- 22003: widths
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, shard_bits => 32)$$, $$next_id(1, sequence_bits => -1)$$,
    $$next_id(1, shard_bits => 20, sequence_bits => 13)$$, $$id_timestamp(1, shard_bits => 2147483647)$$,
    $$id_sequence(1, 32)$$, $$id_lower_bound(now(), shard_bits => 31, sequence_bits => 31)$$]) call;

\echo -- 22008: epoch
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, epoch => '2011-08-24 21:07:01.721001+00')$$,
    $$id_timestamp(1, '-infinity')$$, $$id_lower_bound(now(), '1969-12-31 23:59:59.9999+00')$$]) call;
CREATE SEQUENCE early;
SELECT regexp_replace(e, 'clock is at \S+ \S+?,', 'clock is at NOW,')
FROM try('SELECT next_id(1, ''early'', ''9999-01-01 00:00:00+00'')') e;

\echo -- 22008: timestamps outside the field
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$id_lower_bound('2011-08-24 21:07:01.720999+00')$$,
    $$id_lower_bound('2081-04-30 12:54:37.272001+00')$$, $$id_lower_bound('2081-04-30 12:54:37.272+00')$$,
    $$id_lower_bound('infinity')$$,
    $$id_lower_bound('294276-12-31 23:59:59.999001+00', shard_bits => 0, sequence_bits => 0)$$,
    $$id_timestamp(-1, shard_bits => 0, sequence_bits => 0)$$]) call;
\echo -- The last millisecond belongs to the field to its end.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$id_from_parts('2081-04-30 12:54:37.273+00', 8191, 1023)$$,
    $$id_from_parts('2081-04-30 12:54:37.272999+00', 8191, 1023)$$, $$id_from_parts('-infinity', 0, 0)$$,
    $$id_from_parts('294276-12-31 23:59:59.999999+00', 0, 0, shard_bits => 0, sequence_bits => 0)$$]) call;

\echo -- 2200H: the time field is exhausted; the sequence stays as it was
CREATE SEQUENCE g;
SELECT regexp_replace(e, 'clock is at \S+ \S+?,', 'clock is at NOW,')
FROM try('SELECT next_id(1, ''g'', ''2020-01-01 00:00:00+00'', 16, 16)') e;
SELECT last_value, is_called FROM g;

\echo -- 55000: no shard set
SELECT try('SELECT next_id()');

\echo -- 55000: ahead by more than max_lead, by a stray setval
SELECT setval('g', 9223372036854775000) IS NOT NULL;
SELECT regexp_replace(e, '\d+ ms ahead', 'MANY ms ahead') FROM try('SELECT next_id(1, ''g'')') e;
SELECT last_value FROM g;
ALTER SEQUENCE public.g RESTART;
SELECT next_id(1, 'g') IS NOT NULL;
\echo -- a lead within max_lead is no error
SELECT setval('g', ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 3600000) << 10) > 0;
SELECT try('SELECT next_id(1, ''g'')');
SET shardid.max_lead = '30min';
SELECT regexp_replace(e, '\d+ ms ahead', 'MANY ms ahead') FROM try('SELECT next_id(1, ''g'')') e;
SET shardid.max_lead = '2h';
SELECT try('SELECT next_id(1, ''g'')');
RESET shardid.max_lead;

\echo -- 42809: not a sequence, unlogged; 42P01: no such sequence
CREATE TABLE a_table ();
CREATE VIEW "A view" AS SELECT 1;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, 'a_table')$$, $$next_id(1, '"A view"')$$,
    $$next_id(5::bigint)$$, $$next_id(1, 4294967295)$$, $$next_id(1, 'no_such_sequence')$$]) call;
CREATE UNLOGGED SEQUENCE "un logged";
SELECT try('SELECT next_id(1, ''"un logged"'')');
ALTER SEQUENCE "un logged" SET LOGGED;
-- Only in the extension:
\echo -- Only in the extension:
ALTER SEQUENCE "un logged" SET UNLOGGED;
BEGIN;
ALTER SEQUENCE "un logged" SET LOGGED;
SELECT try('SELECT next_id(1, ''"un logged"'')');
COMMIT;
\echo -- In both versions:
-- In both versions:
SELECT try('SELECT next_id(1, ''"un logged"'')');

\echo -- 55000: MAXVALUE too small, by one
CREATE SEQUENCE by_one MAXVALUE 2251799813685246;
SELECT try('SELECT next_id(1, ''by_one'')');
SELECT last_value, is_called FROM by_one;
ALTER SEQUENCE by_one MAXVALUE 2251799813685247;
SELECT try('SELECT next_id(1, ''by_one'')');
-- Only in the extension:
\echo -- Only in the extension:
\echo -- The same with the bounds that Citus sets on a worker, where ALTER SEQUENCE is refused; and if Citus is installed, by
\echo -- its row in pg_extension.
CREATE SEQUENCE first_worker MINVALUE 281474976710657 MAXVALUE 562949953421313;
SELECT try('SELECT next_id(1, ''first_worker'')');
CREATE SEQUENCE third_worker AS bigint MINVALUE 844424930131969 MAXVALUE 1125899906842625;
SELECT try('SELECT raise_generator(''third_worker'', 0)');
CREATE SEQUENCE one_more MINVALUE 281474976710658 MAXVALUE 562949953421314;
SELECT try('SELECT next_id(1, ''one_more'')');
BEGIN;
INSERT INTO pg_extension SELECT 1, 'citus', extowner, extnamespace, extrelocatable, extversion FROM pg_extension WHERE extname = 'shardid';
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1, 'one_more')$$, $$next_id(1, 'first_worker')$$]) call;
ROLLBACK;
\echo -- From the seventh worker on there is room above, and the part begins in the future.
CREATE SEQUENCE seventh_worker MINVALUE 1970324836974593 MAXVALUE 2251799813685249;
SELECT regexp_replace(try('SELECT next_id(1, ''seventh_worker'')'), 'is \d+ ms', 'is N ms');
DROP SEQUENCE first_worker, third_worker, one_more, seventh_worker;
\echo -- In both versions:
-- In both versions:
\echo -- 55000: counting downwards
CREATE SEQUENCE down INCREMENT -1;
SELECT try('SELECT next_id(1, ''down'')');
ALTER SEQUENCE down INCREMENT BY 1 NO MINVALUE NO MAXVALUE START WITH 1 RESTART;
SELECT try('SELECT next_id(1, ''down'')');

\echo -- 25006: read-only transaction
BEGIN READ ONLY;
SELECT next_id(1);
ROLLBACK;
\echo -- 25000: parallel mode
CREATE FUNCTION parallel_next_id() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT next_id(1)';
CREATE TABLE many AS SELECT generate_series(1, 1000) AS n;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
\set VERBOSITY sqlstate
SELECT count(parallel_next_id()) FROM many;
\set VERBOSITY default
ROLLBACK;

\echo -- UUID version 1
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v1_from(now(), -1, '08:00:2b:01:02:03')$$,
    $$uuid_v1_from(now(), 0, '08:00:2b:01:02:03', 10)$$,
    $$uuid_v1_from('1582-10-14 23:59:59.999999+00', 0, '08:00:2b:01:02:03', 9)$$,
    $$uuid_v1_from('5236-03-31 21:21:00.684697+00', 0, '08:00:2b:01:02:03', 6)$$,
    $$uuid_v1_from('infinity', 0, '08:00:2b:01:02:03')$$]) call;

\echo -- The first call of a session, which has checked no layout yet: nothing is drawn, and the generator continues.
SELECT next_id(1) > 0;
SELECT last_value AS before FROM shardid_seq \gset
\c -
SET timezone = 'UTC';
SELECT try($$SELECT next_id(0, 'shardid_seq', '-infinity', 0, 0)$$);
SELECT last_value = :before AS nothing_drawn FROM shardid_seq;
SELECT next_id(1) < next_id(1) AS continues;

DROP VIEW "A view";
DROP TABLE a_table, many;
DROP SEQUENCE early, g, "un logged", by_one, down;
DROP FUNCTION parallel_next_id;
