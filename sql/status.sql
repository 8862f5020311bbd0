-- id_generator_status: the position of a generator.
\set ECHO none
\a \t on
SET timezone = 'UTC';
CREATE SEQUENCE g;

\echo -- Nothing drawn yet: there is no last id. The dates are those of the layout.
SELECT last_ts, last_sequence, lead, logged_to, negative_at, end_at FROM id_generator_status('g');

\echo -- The last id, its time and sequence; its time is past by now; a second is logged ahead.
SELECT next_id(5, 'g') AS id \gset
-- Only in the extension:
\echo -- Only in the extension:
SELECT last_ts = id_timestamp(:id) AS same_ts, last_sequence = id_sequence(:id) AS same_sequence,
       lead BETWEEN '-1 hour' AND '0' AS behind, logged_to - last_ts AS logged_ahead
FROM id_generator_status('g');
\echo -- In both versions:
-- In both versions:
\echo -- What was logged before a checkpoint does not count any more.
CHECKPOINT;
SELECT logged_to - last_ts AS logged_ahead FROM id_generator_status('g');
\echo '-- nextval''s count of logged values is not used, as a copy of the page would have it, too.'
ALTER SEQUENCE g RESTART;
SELECT nextval('g');
SELECT last_ts, last_sequence, lead < '-15 years' AS behind, logged_to FROM id_generator_status('g');

\echo -- How many ids are possible from now on: 1024 per millisecond.
CREATE FUNCTION ms_since_epoch() RETURNS bigint LANGUAGE sql AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000 - 0.4)::bigint - 1314220021721
$$;
SELECT ((1::bigint << 40) - ms_since_epoch()) * 1024 AS negative, ((1::bigint << 41) - ms_since_epoch()) * 1024 AS until_end \gset
SELECT ids_until_negative BETWEEN :negative - 1024 * 3600000::bigint AND :negative + 1024 AS until_negative,
       ids_until_end BETWEEN :until_end - 1024 * 3600000::bigint AND :until_end + 1024 AS until_end
FROM id_generator_status('g');
\echo -- From the last id, if that is ahead of the clock: 2^50 is the first tick of negative ids.
SELECT setval('g', (1::bigint << 50) - 3);
SELECT last_ts, last_sequence, ids_until_negative, ids_until_end = (1::bigint << 51) - 1 - last_value AS until_end,
       lead - (last_ts - clock_timestamp()) BETWEEN '-1 ms' AND '1 minute' AS lead
FROM id_generator_status('g'), g;
SELECT setval('g', (1::bigint << 51) - 1);
SELECT last_ts, last_sequence, ids_until_negative, ids_until_end FROM id_generator_status('g');
\echo -- After setval with is_called false: it has a lead, and no last id.
SELECT setval('g', (1::bigint << 51) - 4, false);
-- Only in the extension:
\echo -- Only in the extension:
SELECT last_ts, lead > '54 years' AS ahead, logged_to, ids_until_end = 3 AS three_left FROM id_generator_status('g');
\echo -- In both versions:
-- In both versions:

\echo -- Exactly this number can be drawn: a field that ends in an hour.
CREATE SEQUENCE near_its_end;
SELECT date_trunc('milliseconds', clock_timestamp()) - ((1::bigint << 32) - 3600000) * interval '1 ms' AS epoch \gset
SELECT setval('near_its_end', (1::bigint << 48) - 4);
SELECT ids_until_end FROM id_generator_status('near_its_end', :'epoch', 16, 16);
\set VERBOSITY terse
SELECT count(next_id(1, 'near_its_end', :'epoch', 16, 16)) FROM generate_series(1, 3);
SELECT ids_until_end FROM id_generator_status('near_its_end', :'epoch', 16, 16);
\set VERBOSITY sqlstate
SELECT next_id(1, 'near_its_end', :'epoch', 16, 16);
\set VERBOSITY default
DROP SEQUENCE near_its_end;

\echo -- The dates are those of the first negative id, and of the millisecond after the last of all.
SELECT shard_bits, sequence_bits, negative_at = id_timestamp('-9223372036854775808', epoch, shard_bits, sequence_bits) AS negative,
       end_at = id_timestamp(-1, epoch, shard_bits, sequence_bits) + interval '1 ms' AS ended
FROM (VALUES ('2011-08-24 21:07:01.721+00'::timestamptz, 13, 10), ('2010-11-04 01:42:54.657+00', 10, 12),
             ('2000-01-01 00:00:00+00', 16, 16)) l (epoch, shard_bits, sequence_bits),
     LATERAL id_generator_status('g', epoch, shard_bits, sequence_bits);
\echo -- Without shard bits a generator ends before its ids turn negative; a time that no timestamp can hold is infinity.
SELECT negative_at = end_at AS together, ids_until_negative = ids_until_end AS same
FROM id_generator_status('g', shard_bits => 0, sequence_bits => 16);
SELECT setval('g', 9223372036854775807);
SELECT last_ts, lead, logged_to, ids_until_negative, negative_at, ids_until_end, end_at
FROM id_generator_status('g', shard_bits => 0, sequence_bits => 0);
CREATE SEQUENCE late;
-- Only in the extension:
\echo -- Only in the extension:
SELECT lead, end_at FROM id_generator_status('late', '294276-12-31 23:59:59.999+00');
\echo -- In both versions:
-- In both versions:
DROP SEQUENCE late;

\echo -- Other sequences: below zero, unlogged, temporary; in a read-only transaction.
CREATE SEQUENCE below MINVALUE -10 START -10;
SELECT nextval('below');
SELECT last_ts, last_sequence FROM id_generator_status('below');
CREATE UNLOGGED SEQUENCE unlogged;
CREATE TEMPORARY SEQUENCE temporary;
SELECT nextval('unlogged'), nextval('temporary');
SELECT last_ts, last_sequence, logged_to FROM id_generator_status('unlogged');
BEGIN READ ONLY;
SELECT last_ts, last_sequence, logged_to FROM id_generator_status('temporary');
\echo -- It keeps no lock.
SELECT end_at FROM id_generator_status('g');
-- Only in the extension:
\echo -- Only in the extension:
SELECT count(*) FROM pg_locks WHERE relation = 'g'::regclass;
\echo -- In both versions:
-- In both versions:
COMMIT;

\echo -- It needs SELECT only, and USAGE is no substitute.
CREATE ROLE regress_shardid_reader;
GRANT USAGE ON SEQUENCE g TO regress_shardid_reader;
SET ROLE regress_shardid_reader;
SELECT end_at FROM id_generator_status('g');
RESET ROLE;
REVOKE USAGE ON SEQUENCE g FROM regress_shardid_reader;
GRANT SELECT ON SEQUENCE g TO regress_shardid_reader;
SET ROLE regress_shardid_reader;
SELECT end_at FROM id_generator_status('g');
RESET ROLE;

\echo -- Errors.
SELECT id_generator_status(0);
SELECT id_generator_status('g', epoch => 'infinity');
SELECT id_generator_status(NULL) IS NULL AS is_null;

DROP SEQUENCE g, below, unlogged, temporary;
DROP FUNCTION ms_since_epoch;
DROP ROLE regress_shardid_reader;
