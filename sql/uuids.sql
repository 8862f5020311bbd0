-- UUIDs of versions 1, 6 and 7.
\a \t on
\getenv source PG_ABS_SRCDIR
\set try :source '/sql/try.psql'
\i :try
SET timezone = 'UTC';

-- RFC 9562, appendices A.1, A.5 and A.6, and the value that the article shows.
SELECT uuid_v1_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46') AS v1,
       uuid_v6_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46') AS v6,
       uuid_v7_lower_bound('2022-02-22 14:22:22-05') AS v7;
SELECT uuid_v1_timestamp(u), uuid_v1_hundred_ns(u), to_hex(uuid_v1_clock_seq(u)), uuid_v1_node(u)
FROM unnest('{C232AB00-9414-11EC-B3C8-9F6BDECED846,6b54058a-a413-11e6-b501-a0999b048337}'::uuid[]) u;
SELECT uuid_v6_timestamp(u), uuid_v6_hundred_ns(u), to_hex(uuid_v6_clock_seq(u)), uuid_v6_node(u), uuid_v6_to_v1(u)
FROM unnest('{1EC9414C-232A-6B00-B3C8-9F6BDECED846}'::uuid[]) u;
SELECT uuid_v1_to_v6('C232AB00-9414-11EC-B3C8-9F6BDECED846'), uuid_v7_timestamp('017F22E2-79B0-7CC3-98C4-DC0C0C07398F'::uuid);

-- The ends of the ranges.
SELECT uuid_v1_from(ts, clock_seq, mac, hundred_ns) AS v1, uuid_v6_from(ts, clock_seq, mac, hundred_ns) AS v6
FROM (VALUES ('1582-10-15 00:00:00+00'::timestamptz, 0, '00:00:00:00:00:00'::macaddr, 0),
             ('5236-03-31 21:21:00.684697+00', 16383, 'ff:ff:ff:ff:ff:ff', 5)) v (ts, clock_seq, mac, hundred_ns);
SELECT uuid_v1_timestamp(v1), uuid_v1_hundred_ns(v1), uuid_v6_timestamp(v6), uuid_v6_hundred_ns(v6), uuid_v7_timestamp(v7)
FROM (VALUES ('00000000-0000-1000-8000-000000000000'::uuid, '00000000-0000-6000-8000-000000000000'::uuid,
              '00000000-0000-7000-8000-000000000000'::uuid),
             ('ffffffff-ffff-1fff-bfff-ffffffffffff', 'ffffffff-ffff-6fff-bfff-ffffffffffff',
              'ffffffff-ffff-7fff-bfff-ffffffffffff')) v (v1, v6, v7);
-- Version 7 cuts microseconds off, before 2000 as well, where PostgreSQL counts them from zero downwards.
SELECT ts, uuid_v7_lower_bound(ts), uuid_v7_timestamp(uuid_v7_lower_bound(ts))
FROM unnest(ARRAY['1970-01-01 00:00:00.000999+00', '1999-12-31 23:59:59.999001+00', '2000-01-01 00:00:00.000999+00',
                  '10889-08-02 05:31:50.655999+00']::timestamptz[]) ts;

-- Each version from its parts and back, and to the other; the PL/pgSQL function of bench/baseline.sql makes the same UUIDs
-- (by numeric, exact to the microsecond). Version 6 sorts by time, version 1 does not.
\set baseline :source '/bench/baseline.sql'
\set ECHO none
\i :baseline
\set ECHO all
SELECT setseed(0.25);
CREATE TABLE samples AS
SELECT *, uuid_v1_from(ts, clock_seq, mac, hundred_ns) AS v1, uuid_v6_from(ts, clock_seq, mac, hundred_ns) AS v6
FROM (SELECT '1582-10-15 00:00:00+00'::timestamptz + interval '1 us' * (random() * 115292150460684690)::bigint AS ts,
             (random() * 16383)::int AS clock_seq, (random() * 9)::int AS hundred_ns,
             substr(md5(random()::text), 1, 12)::macaddr AS mac
      FROM generate_series(1, 10000)) s;
SELECT count(*) FILTER (WHERE (uuid_v1_timestamp(v1), uuid_v1_clock_seq(v1), uuid_v1_node(v1), uuid_v1_hundred_ns(v1))
                              IS DISTINCT FROM (ts, clock_seq, mac, hundred_ns)) AS lost,
       count(*) FILTER (WHERE (uuid_v6_timestamp(v6), uuid_v6_clock_seq(v6), uuid_v6_node(v6), uuid_v6_hundred_ns(v6))
                              IS DISTINCT FROM (ts, clock_seq, mac, hundred_ns)) AS lost_by_v6,
       count(*) FILTER (WHERE (uuid_v1_to_v6(v1), uuid_v6_to_v1(v6)) IS DISTINCT FROM (v6, v1)) AS other,
       count(*) FILTER (WHERE uuid_v1_from(ts, clock_seq, mac) IS DISTINCT FROM baseline.form_uuid_v1(ts, clock_seq, mac)) AS different
FROM samples;
SELECT count(*) FILTER (WHERE v1 > next_v1) > 1000 AS v1_out_of_order, count(*) FILTER (WHERE v6 > next_v6) AS v6_out_of_order
FROM (SELECT v1, lead(v1) OVER w AS next_v1, v6, lead(v6) OVER w AS next_v6 FROM samples WINDOW w AS (ORDER BY ts, hundred_ns)) s;

-- Any UUID of version 7 lies between the bounds of its millisecond and of the next one, and its time is what its
-- digits say.
CREATE TABLE samples_v7 AS
SELECT regexp_replace(md5(random()::text), '^(.{12}).(...).', '\17\2' || substr('89ab', 1 + n % 4, 1))::uuid AS u
FROM generate_series(1, 10000) n
UNION ALL SELECT uuid_v7_lower_bound('2026-11-23 12:00:00+00'::timestamptz + n * interval '317 us')
FROM generate_series(1, 10000) n;
SELECT count(*) FILTER (WHERE extract(epoch FROM uuid_v7_timestamp(u)) * 1000
                              <> ('x' || left(replace(u::text, '-', ''), 12))::bit(48)::bigint) AS other_time,
       count(*) FILTER (WHERE u < uuid_v7_lower_bound(uuid_v7_timestamp(u))) AS below,
       count(*) FILTER (WHERE u >= uuid_v7_lower_bound(uuid_v7_timestamp(u) + interval '1 ms')) AS above,
       count(*) FILTER (WHERE uuid_v7_timestamp(u::text) <> uuid_v7_timestamp(u)) AS other_text
FROM samples_v7;
-- All are IMMUTABLE, so they can be indexed.
CREATE INDEX ON samples (uuid_v1_timestamp(v1), uuid_v6_timestamp(v6));

-- Of any other version or variant all is NULL, as in PostgreSQL's uuid_extract_timestamp.
SELECT u, v1, v6, v7
FROM (SELECT unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[])
      UNION ALL SELECT format('c232ab00-9414-%s1ec-%s3c8-9f6bdeced846', version, variant)::uuid
      FROM unnest('{1,2,4,6,7,8}'::int[]) version, unnest('{3,b,d,f}'::text[]) variant) v (u),
     num_nonnulls(uuid_v1_timestamp(u), uuid_v1_hundred_ns(u), uuid_v1_clock_seq(u), uuid_v1_node(u), uuid_v1_to_v6(u)) v1,
     num_nonnulls(uuid_v6_timestamp(u), uuid_v6_timestamp(u::text), uuid_v6_hundred_ns(u), uuid_v6_clock_seq(u), uuid_v6_node(u),
                  uuid_v6_to_v1(u)) v6,
     num_nonnulls(uuid_v7_timestamp(u), uuid_v7_timestamp(u::text)) v7
WHERE v1 + v6 + v7 > 0;
SELECT num_nonnulls(uuid_v1_from(NULL, 0, '00:00:00:00:00:00'), uuid_v1_timestamp(NULL), uuid_v1_to_v6(NULL), uuid_v6_to_v1(NULL),
                    uuid_v6_from(NULL, 0, '00:00:00:00:00:00'), uuid_v6_timestamp(NULL), uuid_v7_lower_bound(NULL),
                    uuid_v7_timestamp(NULL::uuid), uuid_v7_timestamp(NULL::text)) AS of_null;

-- Values that a UUID cannot hold; those of version 1 are in errors.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v6_from('2022-02-22', 16384, '00:00:00:00:00:00')$$,
    $$uuid_v6_from('2022-02-22', 0, '00:00:00:00:00:00', -1)$$,
    $$uuid_v6_from('5236-03-31 21:21:00.684697+00', 0, '00:00:00:00:00:00', 6)$$,
    $$uuid_v7_lower_bound('1969-12-31 23:59:59.999999+00')$$, $$uuid_v7_lower_bound('10889-08-02 05:31:50.656+00')$$,
    $$uuid_v7_lower_bound('-infinity')$$, $$uuid_v7_timestamp('no UUID'::text)$$]) call;
DROP TABLE samples, samples_v7;
DROP FUNCTION try;
\set VERBOSITY terse
DROP SCHEMA baseline CASCADE;
\set VERBOSITY default

-- Partitions by the time of version 7. A range of times is pruned when the query is planned, or, if the time is only known
-- then, when it is run.
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
