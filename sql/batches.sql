-- next_ids: many ids in one call.
\set ECHO none
\a \t on
SELECT id_shard(id) FROM next_ids(5, 3) AS id;
CREATE SEQUENCE g;

\echo -- As many as requested, all different, each greater than the one before, over many milliseconds; at
\echo -- most 1024 in one.
SELECT clock_timestamp() AS before \gset
SELECT count(*), bool_and(id > previous) AS increasing, bool_and(id_shard(id) = 7) AS of_shard,
       min(id_timestamp(id)) >= date_trunc('milliseconds', :'before'::timestamptz) AS not_earlier,
       max(id_timestamp(id)) <= clock_timestamp() AS not_later
FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
      FROM next_ids(7, 10000, 'g') WITH ORDINALITY AS i (id, n)) s;
SELECT max(n) <= 1024 AS within_capacity
FROM (SELECT count(*) AS n FROM next_ids(5, 10000, 'g') AS id GROUP BY id_timestamp(id)) s;

\echo -- Other layouts: one id per millisecond, a million, no shard.
CREATE SEQUENCE other;
SELECT count(*), count(DISTINCT id), count(DISTINCT id_timestamp(id, sequence_bits => 0)) AS milliseconds
FROM next_ids(5, 5, 'other', sequence_bits => 0) AS id;
ALTER SEQUENCE other RESTART;
SELECT count(*), count(DISTINCT id) FROM next_ids(5, 100000, 'other', shard_bits => 3, sequence_bits => 20) AS id;
ALTER SEQUENCE other RESTART;
SELECT count(*), count(DISTINCT id) FROM next_ids(0, 5000, 'other', '2010-11-04 01:42:54.657+00', 0, 12) AS id;
DROP SEQUENCE other;

\echo -- None; NULL arguments.
SELECT next_ids(5, 0), next_ids(NULL, 3), next_ids(5, NULL), next_ids(5, 3, NULL);

\echo -- In the select list it streams: with LIMIT it draws no more than some further ids of the same
\echo -- millisecond. In FROM all are drawn before the first is returned.
SELECT max(id) AS last FROM (SELECT next_ids(5, 2147483647, 'g') AS id LIMIT 3000) s \gset
SELECT last_value >> 10 = (:last)::bigint >> 23 AS no_later_millisecond FROM g;
SELECT id AS last FROM next_ids(5, 3000, 'g') AS id LIMIT 1 \gset
SELECT last_value >> 10 > (:last)::bigint >> 23 AS later_milliseconds FROM g;
\echo -- If the millisecond has enough numbers, all are drawn in one step, with one lock of the page.
CREATE SEQUENCE roomy;
SELECT next_ids(0, 1000, 'roomy', shard_bits => 3, sequence_bits => 20) AS first LIMIT 1 \gset
SELECT last_value - id_sequence(:first, 20) - ((:first)::bigint >> 23 << 20) AS further FROM roomy;
DROP SEQUENCE roomy;
\echo -- Next to another set-returning function in INSERT, and by a caller that stops early.
CREATE TABLE rows (id bigint PRIMARY KEY, n int);
INSERT INTO rows SELECT next_ids(5, 3000, 'g'), generate_series(1, 3000);
SELECT count(*), array_agg(n ORDER BY id) = array_agg(n ORDER BY n) AS in_order FROM rows;
SELECT count(*) FROM generate_series(1, 3) n, LATERAL next_ids(5, n, 'g');
\echo -- If it is started again before its end, it draws new ids.
SELECT cardinality(ids) AS n, count(*), (SELECT count(DISTINCT id) FROM unnest(array_agg(ids)) AS id) AS different
FROM (SELECT ARRAY(SELECT next_ids(5, 3, 'g') + 0 * n LIMIT 2) AS ids FROM generate_series(1, 4) n) s GROUP BY 1;
DO $$
DECLARE
    drawn bigint;
BEGIN
    FOR drawn IN SELECT next_ids(5, 2147483647, 'g') LOOP
        EXIT;
    END LOOP;
    -- A commit stores the rest of the loop's query: all of it is drawn then.
    FOR drawn IN SELECT next_ids(5, 100, 'g') LOOP
        COMMIT;
    END LOOP;
END
$$;

\echo -- A cancel ends the wait and the call, also where a millisecond has enough numbers, so that no call waits.
CREATE SEQUENCE slow;
CREATE SEQUENCE wide;
SELECT date_trunc('day', clock_timestamp()) AS today \gset
\set VERBOSITY terse
SELECT next_id(0, 'wide', :'today', 1, 31) > 0;
\set VERBOSITY default
SET statement_timeout = '50ms';
SELECT count(id) FROM (SELECT next_ids(5, 2147483647, 'g') AS id) s;
SELECT count(*) FROM next_ids(5, 2147483647, 'g');
SELECT count(*) FROM next_ids(5, 2147483647, 'slow', sequence_bits => 0);
SELECT count(id) FROM (SELECT next_ids(0, 2147483647, 'wide', :'today', 1, 31) AS id) s;
SELECT count(*) FROM next_ids(0, 2147483647, 'wide', :'today', 1, 31);
\echo -- The timeout could also end its own RESET.
\c -
DROP SEQUENCE slow, wide;

\echo -- Between two ids of a cursor: other draws, savepoints, ALTER, a rollback of it.
CREATE FUNCTION is_increasing(VARIADIC ids bigint[]) RETURNS boolean LANGUAGE sql AS $$
    SELECT bool_and(id > previous) FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS previous
                                         FROM unnest(ids) WITH ORDINALITY AS i (id, n)) s
$$;
BEGIN;
DECLARE c CURSOR FOR SELECT next_ids(5, 100000, 'g') AS id;
FETCH c \gset a_
SAVEPOINT s;
FETCH c \gset b_
ROLLBACK TO s;
MOVE 3000 FROM c;
FETCH c \gset c_
SELECT next_id(5, 'g') AS d \gset
ALTER SEQUENCE g CACHE 2;
MOVE 3000 FROM c;
FETCH c \gset e_
SAVEPOINT s;
ALTER SEQUENCE g RESTART;
MOVE 3000 FROM c;
FETCH c \gset f_
ROLLBACK TO s;
MOVE 3000 FROM c;
FETCH c \gset g_
COMMIT;
SELECT is_increasing(:a_id, :b_id, :c_id, :d, :e_id, :f_id, :g_id, next_id(5, 'g'));
\echo -- A cursor WITH HOLD draws all at the commit.
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT next_ids(5, 3000, 'g') AS id;
FETCH held \gset a_
COMMIT;
SELECT next_id(5, 'g') AS b \gset
MOVE 2998 FROM held;
FETCH held \gset c_
SELECT is_increasing(:a_id, :c_id, :b);
CLOSE held;
\echo -- Another role, and a role whose right is revoked.
CREATE ROLE regress_shardid_reader;
GRANT SELECT ON SEQUENCE g TO regress_shardid_reader;
BEGIN;
DECLARE c CURSOR FOR SELECT next_ids(5, 100, 'g') > 0 AS drawn;
FETCH c;
-- Only in the extension:
\echo -- Only in the extension:
SET LOCAL ROLE regress_shardid_reader;
FETCH c;
\echo -- In both versions:
-- In both versions:
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT next_ids(5, 100, 'g') > 0 AS drawn;
FETCH c;
-- Only in the extension:
\echo -- Only in the extension:
DROP SEQUENCE g;
\set VERBOSITY sqlstate
FETCH c;
\set VERBOSITY default
\echo -- In both versions:
-- In both versions:
ROLLBACK;
\echo -- Rolled back with its storage, as next_id.
BEGIN;
ALTER SEQUENCE g RESTART;
SELECT max(id) AS last FROM next_ids(5, 3000, 'g') AS id \gset
ROLLBACK;
SELECT next_id(5, 'g') > :last AS increasing;
\echo -- An hour ahead of the clock it can only continue from what it remembers: the last of many ids.
SELECT setval('g', ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 3600000) << 10) > 0 AS set;
SELECT max(id) AS last FROM next_ids(5, 3000, 'g') AS id \gset
SELECT is_increasing(:last, next_id(5, 'g'));
-- Only in the extension:
\echo -- Only in the extension:
BEGIN;
ALTER SEQUENCE g CACHE 1;
SELECT max(id) AS last FROM next_ids(5, 600, 'g') AS id \gset
ROLLBACK;
SELECT is_increasing(:last, next_id(5, 'g'));
CREATE TEMPORARY SEQUENCE temporary;
SELECT setval('temporary', last_value) > 0 AS set FROM g;
BEGIN;
ALTER SEQUENCE temporary CACHE 1;
SELECT max(id) AS last FROM next_ids(5, 600, 'temporary') AS id \gset
ROLLBACK;
SELECT is_increasing(:last, next_id(5, 'temporary'));
DROP SEQUENCE temporary;
\echo -- In both versions:
-- In both versions:

\echo -- Errors: those of next_id under its own name, and a negative count.
SELECT next_ids(5, -1);
SELECT next_ids(8192, 1);
BEGIN READ ONLY;
SELECT next_ids(5, 1);
ROLLBACK;
SELECT 1 WHERE next_ids(5, 1) > 0;
DROP FUNCTION is_increasing;
DROP TABLE rows;
DROP SEQUENCE g;
DROP ROLE regress_shardid_reader;
