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

\echo -- The layout of docs/clients.md for JavaScript, where a CHECK keeps ids below 2^53. The generator is driven to the last
\echo -- id that numbers of JavaScript hold, and beyond: shortly after it, and to the last positive and negative ids.
CREATE SEQUENCE visit_ids;
CREATE TABLE visits (
    id bigint PRIMARY KEY DEFAULT next_id(31, 'visit_ids', '2026-01-01 00:00:00+00', shard_bits => 5, sequence_bits => 7)
       CHECK (id BETWEEN 0 AND 9007199254740991));
SET shardid.max_lead = '100000000d';
CREATE FUNCTION insert_from(ts timestamptz, count int) RETURNS TABLE (inserted int, refused int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM raise_generator('visit_ids', id_lower_bound(ts, '2026-01-01 00:00:00+00', 5, 7),
                            '2026-01-01 00:00:00+00', 5, 7);
    inserted := 0;
    FOR n IN 1 .. count LOOP
        BEGIN
            INSERT INTO visits DEFAULT VALUES;
            inserted := inserted + 1;
        EXCEPTION WHEN check_violation THEN
        END;
    END LOOP;
    refused := count - inserted;
    RETURN NEXT;
END
$$;
SELECT inserted >= 2 * 96 AS inserted, refused > 0 AS refused FROM insert_from('2095-09-07 15:47:35.549+00', 300);
SELECT max(id), bool_and(id = id::float8::bigint) AS same_in_javascript FROM visits;
SELECT last_value >> 7 = 1::bigint << 41 AS further FROM visit_ids;
SELECT * FROM insert_from('2095-09-08 00:00:00+00', 10);
\set VERBOSITY terse
SELECT * FROM insert_from('73382-09-10 00:00:00+00', 10);
\set VERBOSITY default
SELECT * FROM insert_from('73382-09-12 00:00:00+00', 10);
SELECT * FROM insert_from(id_timestamp(-1, '2026-01-01 00:00:00+00', 5, 7) - interval '1 s', 10);
RESET shardid.max_lead;

DROP TABLE visits;
DROP FUNCTION insert_from;
DROP SEQUENCE flip, visit_ids;
