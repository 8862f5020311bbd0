-- Layouts: Instagram, digoal's epoch, Twitter, 53 bits, the sign flip, limits of the fields.
\a \t on

-- Instagram's own example: 1387263000 ms after the epoch, user 31341 of 2000 shards, number 5001.
SELECT id_parts(1387263000::bigint << 23 | (31341 % 2000 << 10) | 5001 % 1024,
                epoch => 'epoch'::timestamptz) = ROW('1970-01-17 01:21:03+00'::timestamptz, 1341, 905)
       AS instagram;

-- digoal's article: epoch 2012-01-01, shard 5, value 112345 of the sequence, made 2046-11-01; and a
-- month later, when the time has reached the sign bit.
SELECT ts AT TIME ZONE 'UTC' AS ts, shard, sequence = 112345 % 1024 AS sequence
FROM id_parts(9221321628057605849, epoch => '2012-01-01 00:00:00+00');
SELECT ts AT TIME ZONE 'UTC' AS ts, shard, sequence = 112345 % 1024 AS sequence
FROM id_parts(-9203679173715945767, epoch => '2012-01-01 00:00:00+00');
CREATE SEQUENCE digoal;
SELECT id_shard(id) = 5 AND (id >> 23) + 1325376000000 - extract(epoch FROM clock_timestamp()) * 1000
       BETWEEN -1000 AND 0 AS digoal
FROM next_id(5, 'digoal', epoch => to_timestamp(1325376000)) id;

-- Twitter: a tweet whose id is published with its parts, 2022-06-28 16:07:40.105 UTC, machine 378, 0.
SELECT ts AT TIME ZONE 'UTC' AS ts, shard, sequence
FROM id_parts(1541815603606036480, '2010-11-04 01:42:54.657+00', 10, 12);
CREATE SEQUENCE twitter;
SELECT id_shard(id, 10, 12) AS shard,
       clock_timestamp() - id_timestamp(id, '2010-11-04 01:42:54.657+00', 10, 12)
           BETWEEN '0 s' AND '1 s' AS now
FROM next_id(1023, 'twitter', shard_bits => 10, sequence_bits => 12,
             epoch => '2010-11-04 01:42:54.657+00') id;

-- 53 bits, for JavaScript: 41 + 4 + 8, positive and safe to the end of its 41 bits.
CREATE SEQUENCE javascript;
SELECT id BETWEEN 1 AND 9007199254740991 AS safe, id_shard(id, 4, 8) AS shard
FROM next_id(15, 'javascript', '2024-01-01 00:00:00+00', 4, 8) id;
SELECT id_lower_bound('2093-01-01 00:00:00+00', '2024-01-01 00:00:00+00', 4, 8) < 9007199254740991
       AS safe_for_69_years;

-- With every layout ids decode to their parts. Some have less than a positive year left, and warn.
SET client_min_messages = error;
DO $$
DECLARE
    id bigint;
    parts record;
    clock timestamptz;
    today timestamptz := date_trunc('day', clock_timestamp());
BEGIN
    FOR shard_bits IN 0 .. 31 LOOP
        FOR sequence_bits IN 0 .. LEAST(31, 32 - shard_bits) LOOP
            CREATE TEMPORARY SEQUENCE any_layout;
            id := next_id(((1::bigint << shard_bits) - 1)::int, 'any_layout', today,
                          shard_bits, sequence_bits);
            clock := clock_timestamp();
            parts := id_parts(id, today, shard_bits, sequence_bits);
            IF parts.shard <> (1::bigint << shard_bits) - 1 OR parts.sequence <> 0
               OR NOT clock - parts.ts BETWEEN '0 s' AND '1 s' THEN
                RAISE 'layout % %: % %', shard_bits, sequence_bits, id, parts;
            END IF;
            DROP SEQUENCE any_layout;
        END LOOP;
    END LOOP;
END
$$;
RESET client_min_messages;

-- The sign flip of the default layout.
SELECT id_timestamp(9223372036854775807) AT TIME ZONE 'UTC' AS last_positive,
       id_timestamp((-9223372036854775808)::bigint) AT TIME ZONE 'UTC' AS first_negative,
       id_timestamp(-1) AT TIME ZONE 'UTC' AS last;
SELECT id_lower_bound('2046-06-27 17:00:49.496+00') > 0 AS positive,
       id_lower_bound('2046-06-27 17:00:49.497+00') AS first_negative;
-- Ids continue to increase through it as unsigned numbers, and can be drawn on both sides.
CREATE SEQUENCE flip;
\set VERBOSITY terse
SELECT id < 0 AS negative, id_shard(id) AS shard,
       clock_timestamp() - id_timestamp(id, epoch) BETWEEN '0 s' AND '1 s' AS now
FROM (SELECT date_trunc('second', clock_timestamp()) - interval '1 ms' * (1::bigint << 40) AS epoch) e,
     next_id(5, 'flip', epoch) id;
\set VERBOSITY default

-- All bits set.
SELECT id_shard(-1), id_sequence(-1), id_shard(-1, 31, 1), id_sequence(-1, 31), id_shard(-1, 0, 10),
       id_sequence(-1, 0);
SELECT id_shard(0), id_sequence(0), id_timestamp(0) AT TIME ZONE 'UTC' AS epoch;

-- No field overflows into the next one: with one number per millisecond, every id has its own time.
CREATE SEQUENCE one_a_millisecond;
SELECT count(DISTINCT id >> 22) AS times, count(DISTINCT id & 4194303) AS low_parts
FROM (SELECT next_id(77, 'one_a_millisecond', shard_bits => 22, sequence_bits => 0) AS id
      FROM generate_series(1, 20)) s;

DROP SEQUENCE digoal, twitter, javascript, flip, one_a_millisecond;
