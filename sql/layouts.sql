-- All widths of the fields, the sign flip, limits. layouts_of_others has those of other systems.
\set ECHO none
\a \t on

\echo -- With every layout ids decode to their parts, which make the id again. Some have less than a positive year left, and
\echo -- warn.
SET client_min_messages = error;
DO $$
DECLARE
    id bigint;
    parts record;
    before timestamptz;
    today timestamptz := date_trunc('day', clock_timestamp());
BEGIN
    FOR shard_bits IN 0 .. 31 LOOP
        FOR sequence_bits IN 0 .. LEAST(31, 32 - shard_bits) LOOP
            CREATE TEMPORARY SEQUENCE any_layout;
            before := date_trunc('milliseconds', clock_timestamp());
            id := next_id(((1::bigint << shard_bits) - 1)::int, 'any_layout', today,
                          shard_bits, sequence_bits);
            parts := id_parts(id, today, shard_bits, sequence_bits);
            IF parts.shard <> (1::bigint << shard_bits) - 1 OR parts.sequence <> 0
               OR NOT parts.ts BETWEEN before AND clock_timestamp()
               OR id <> id_from_parts(parts.ts, parts.shard, parts.sequence, today, shard_bits, sequence_bits) THEN
                RAISE 'layout % %: % %', shard_bits, sequence_bits, id, parts;
            END IF;
            DROP SEQUENCE any_layout;
        END LOOP;
    END LOOP;
END
$$;
RESET client_min_messages;
\echo -- The sign flip of the default layout.
SELECT id_timestamp(9223372036854775807) AT TIME ZONE 'UTC' AS last_positive,
       id_timestamp((-9223372036854775808)::bigint) AT TIME ZONE 'UTC' AS first_negative,
       id_timestamp(-1) AT TIME ZONE 'UTC' AS last;
SELECT id_lower_bound('2046-06-27 17:00:49.496+00') > 0 AS positive, id_lower_bound('2046-06-27 17:00:49.497+00') AS first_negative;
\echo -- Ids continue to increase through it as unsigned numbers, and can be drawn on both sides.
CREATE SEQUENCE flip;
\set VERBOSITY terse
SELECT id < 0 AS negative, id_shard(id) AS shard,
       id_timestamp(id, epoch) BETWEEN date_trunc('milliseconds', statement_timestamp()) AND clock_timestamp() AS now
FROM (SELECT date_trunc('second', clock_timestamp()) - interval '1 ms' * (1::bigint << 40) AS epoch) e,
     next_id(5, 'flip', epoch) id;
\set VERBOSITY default

\echo -- All bits set, and none.
SELECT id_shard(-1), id_sequence(-1), id_shard(-1, 31, 1), id_sequence(-1, 31), id_shard(-1, 0, 10), id_sequence(-1, 0),
       id_shard(0), id_sequence(0), id_timestamp(0) AT TIME ZONE 'UTC' AS epoch;
\echo -- The layout of docs/clients.md for JavaScript: its ids are above 2^53 - 1 from the next millisecond on.
SELECT id_timestamp(9007199254740991, '2026-01-01 00:00:00+00', 5, 7) AT TIME ZONE 'UTC' AS last,
       id_lower_bound('2095-09-07 15:47:35.552+00', '2026-01-01 00:00:00+00', 5, 7) - 1 AS id;

DROP SEQUENCE flip;
