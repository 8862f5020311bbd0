-- UUID version 7: the time in it, and bounds.
\a \t on
\getenv source PG_ABS_SRCDIR
\set try :source '/sql/try.psql'
\i :try
SET timezone = 'UTC';

-- RFC 9562, appendix A.6.
SELECT uuid_v7_timestamp('017F22E2-79B0-7CC3-98C4-DC0C0C07398F'::uuid) = '2022-02-22 14:22:22-05' AS ts,
       uuid_v7_lower_bound('2022-02-22 14:22:22-05') AS bound;

-- The ends of the range.
SELECT uuid_v7_lower_bound('1970-01-01 00:00:00+00') AS first,
       uuid_v7_lower_bound('10889-08-02 05:31:50.655+00') AS last;
SELECT uuid_v7_timestamp('00000000-0000-7000-8000-000000000000'::uuid) AS first,
       uuid_v7_timestamp('ffffffff-ffff-7fff-bfff-ffffffffffff'::uuid) AS last;

-- Microseconds are cut off, before 2000 as well, where PostgreSQL counts them from zero downwards.
SELECT ts, uuid_v7_timestamp(uuid_v7_lower_bound(ts)) AS millisecond
FROM unnest(ARRAY['1970-01-01 00:00:00.000999+00', '1970-01-01 00:00:00.001+00', '1999-12-31 23:59:59.999001+00',
                  '1999-12-31 23:59:59.999999+00', '2000-01-01 00:00:00.000999+00',
                  '10889-08-02 05:31:50.655999+00']::timestamptz[]) ts;

-- Any UUID of version 7 lies between the bounds of its millisecond and of the next one, and its time is what its
-- digits say.
SELECT setseed(0.75);
CREATE TABLE samples AS
SELECT regexp_replace(md5(random()::text), '^(.{12}).(...).', '\17\2' || substr('89ab', 1 + n % 4, 1))::uuid AS u
FROM generate_series(1, 10000) n
UNION ALL SELECT uuid_v7_lower_bound('2026-11-23 12:00:00+00'::timestamptz + n * interval '317 us')
FROM generate_series(1, 10000) n;
SELECT count(*) FILTER (WHERE extract(epoch FROM uuid_v7_timestamp(u)) * 1000
                              <> ('x' || left(replace(u::text, '-', ''), 12))::bit(48)::bigint) AS other_time,
       count(*) FILTER (WHERE u < uuid_v7_lower_bound(uuid_v7_timestamp(u))) AS below,
       count(*) FILTER (WHERE u >= uuid_v7_lower_bound(uuid_v7_timestamp(u) + interval '1 ms')) AS above,
       count(*) FILTER (WHERE uuid_v7_timestamp(u::text) <> uuid_v7_timestamp(u)) AS other_text
FROM samples;
DROP TABLE samples;

-- Of any other version or variant it is NULL.
SELECT u, uuid_v7_timestamp(u) IS NULL AND uuid_v7_timestamp(u::text) IS NULL AS is_null
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid),  -- nil
             ('ffffffff-ffff-ffff-ffff-ffffffffffff'),        -- max
             ('c232ab00-9414-11ec-b3c8-9f6bdeced846'),        -- version 1
             ('919108f7-52d1-4320-9bac-f847db4148a8'),        -- version 4
             ('1ec9414c-232a-6b00-b3c8-9f6bdeced846'),        -- version 6
             ('017f22e2-79b0-8cc3-98c4-dc0c0c07398f'),        -- version 8
             ('017f22e2-79b0-7cc3-18c4-dc0c0c07398f'),        -- NCS variant
             ('017f22e2-79b0-7cc3-d8c4-dc0c0c07398f'),        -- Microsoft variant
             ('017f22e2-79b0-7cc3-f8c4-dc0c0c07398f')) v (u); -- reserved variant
SELECT uuid_v7_lower_bound(NULL) IS NULL AND uuid_v7_timestamp(NULL::uuid) IS NULL
       AND uuid_v7_timestamp(NULL::text) IS NULL AS strict;

-- Times that a UUID cannot hold.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v7_lower_bound('1969-12-31 23:59:59.999999+00')$$,
    $$uuid_v7_lower_bound('1969-12-31 23:59:59.999+00')$$, $$uuid_v7_lower_bound('10889-08-02 05:31:50.656+00')$$,
    $$uuid_v7_lower_bound('4713-01-01 00:00:00+00 BC')$$, $$uuid_v7_lower_bound('294276-12-31 23:59:59.999999+00')$$,
    $$uuid_v7_lower_bound('infinity')$$, $$uuid_v7_lower_bound('-infinity')$$,
    $$uuid_v7_timestamp('no UUID'::text)$$]) call;
DROP FUNCTION try;

-- Partitions by time. A range of times is pruned when the query is planned, or, if the time is only known then, when it
-- is run.
CREATE TABLE messages (id uuid PRIMARY KEY, body text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE messages_%s PARTITION OF messages FOR VALUES FROM (%L) TO (%L)', to_char(month, 'YYYYMM'),
              uuid_v7_lower_bound(month), uuid_v7_lower_bound(month + interval '1 month'))
FROM generate_series('2026-10-01'::timestamptz, '2026-12-01', '1 month') month \gexec
INSERT INTO messages
SELECT uuid_v7_lower_bound(day), day FROM generate_series('2026-10-01'::timestamptz, '2026-12-31', '1 day') day;
SELECT tableoid::regclass, count(*), min(uuid_v7_timestamp(id)), max(uuid_v7_timestamp(id)) FROM messages
GROUP BY 1 ORDER BY 1;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT * FROM messages
WHERE id >= uuid_v7_lower_bound('2026-11-05') AND id < uuid_v7_lower_bound('2026-11-06');
-- Only in the extension:
SET plan_cache_mode = force_generic_plan;
PREPARE since AS SELECT * FROM messages WHERE id >= uuid_v7_lower_bound($1);
EXPLAIN (COSTS off) EXECUTE since('2026-12-05');
RESET plan_cache_mode;
-- In both versions:
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP TABLE messages;
