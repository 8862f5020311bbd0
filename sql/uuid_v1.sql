-- UUID version 1.
\a \t on

-- RFC 9562, appendix A.1.
SELECT uuid_v1_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46')
       = 'C232AB00-9414-11EC-B3C8-9F6BDECED846' AS built;
SELECT uuid_v1_timestamp(u) AT TIME ZONE 'UTC' AS ts, uuid_v1_hundred_ns(u) AS hundred_ns,
       to_hex(uuid_v1_clock_seq(u)) AS clock_seq, uuid_v1_node(u) AS node
FROM (VALUES ('C232AB00-9414-11EC-B3C8-9F6BDECED846'::uuid)) v (u);

-- The value that the article shows.
SELECT uuid_v1_timestamp(u) AT TIME ZONE 'UTC' AS ts, uuid_v1_hundred_ns(u) AS hundred_ns,
       uuid_v1_clock_seq(u) AS clock_seq, uuid_v1_node(u) AS node
FROM (VALUES ('6b54058a-a413-11e6-b501-a0999b048337'::uuid)) v (u);

-- The ends of the range.
SELECT uuid_v1_from('1582-10-15 00:00:00+00', 0, '00:00:00:00:00:00') AS first,
       uuid_v1_from('5236-03-31 21:21:00.684697+00', 16383, 'ff:ff:ff:ff:ff:ff', 5) AS last;
SELECT uuid_v1_timestamp('00000000-0000-1000-8000-000000000000') AT TIME ZONE 'UTC' AS first,
       uuid_v1_timestamp('ffffffff-ffff-1fff-bfff-ffffffffffff') AT TIME ZONE 'UTC' AS last,
       uuid_v1_hundred_ns('ffffffff-ffff-1fff-bfff-ffffffffffff') AS hundred_ns;

-- Round trips: parts to UUID to parts, and any UUID of version 1 to its parts and back.
SELECT setseed(0.25);
CREATE TABLE samples AS
SELECT '1582-10-15 00:00:00+00'::timestamptz + interval '1 us' * (random() * 115292150460684690)::bigint AS ts,
       (random() * 16383)::int AS clock_seq, (random() * 9)::int AS hundred_ns,
       substr(md5(random()::text), 1, 12)::macaddr AS mac
FROM generate_series(1, 10000);
SELECT count(*) AS lost FROM samples, uuid_v1_from(ts, clock_seq, mac, hundred_ns) u
WHERE (uuid_v1_timestamp(u), uuid_v1_clock_seq(u), uuid_v1_node(u), uuid_v1_hundred_ns(u))
      IS DISTINCT FROM (ts, clock_seq, mac, hundred_ns);
CREATE TABLE uuids AS
SELECT (substr(h, 1, 12) || '1' || substr(h, 14, 3) || substr('89ab', 1 + (random() * 3)::int, 1)
        || substr(h, 18))::uuid AS u
FROM (SELECT md5(random()::text) AS h FROM generate_series(1, 10000)) s;
SELECT count(*) AS lost FROM uuids
WHERE u IS DISTINCT FROM
      uuid_v1_from(uuid_v1_timestamp(u), uuid_v1_clock_seq(u), uuid_v1_node(u), uuid_v1_hundred_ns(u));

-- The PL/pgSQL function of bench/baseline.sql makes the same UUIDs (by numeric, exact to the microsecond).
\getenv source PG_ABS_SRCDIR
\set baseline :source '/bench/baseline.sql'
\set ECHO none
\i :baseline
\set ECHO all
SELECT count(*) AS different FROM samples
WHERE uuid_v1_from(ts, clock_seq, mac) IS DISTINCT FROM baseline.form_uuid_v1(ts, clock_seq, mac);

-- Anything but version 1 of the RFC's variant is NULL, as in PostgreSQL's uuid_extract_timestamp.
SELECT u, uuid_v1_timestamp(u) IS NULL AND uuid_v1_hundred_ns(u) IS NULL
          AND uuid_v1_clock_seq(u) IS NULL AND uuid_v1_node(u) IS NULL AS all_null
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid),  -- nil
             ('ffffffff-ffff-ffff-ffff-ffffffffffff'),        -- max
             ('c232ab00-9414-21ec-b3c8-9f6bdeced846'),        -- version 2
             ('919108f7-52d1-4320-9bac-f847db4148a8'),        -- version 4
             ('1ec9414c-232a-6b00-b3c8-9f6bdeced846'),        -- version 6
             ('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'),        -- version 7
             ('c232ab00-9414-11ec-33c8-9f6bdeced846'),        -- NCS variant
             ('c232ab00-9414-11ec-d3c8-9f6bdeced846'),        -- Microsoft variant
             ('c232ab00-9414-11ec-f3c8-9f6bdeced846')) v (u); -- reserved variant
SELECT uuid_v1_from(NULL, 0, '00:00:00:00:00:00') IS NULL AND uuid_v1_timestamp(NULL) IS NULL AS strict;

-- IMMUTABLE, so they can be indexed.
CREATE INDEX ON uuids (uuid_v1_timestamp(u));

DROP TABLE samples, uuids;
\set VERBOSITY terse
DROP SCHEMA baseline CASCADE;
