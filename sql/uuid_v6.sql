-- UUID version 6.
\a \t on
\getenv source PG_ABS_SRCDIR
\set try :source '/sql/try.psql'
\i :try

-- RFC 9562, appendix A.5.
SELECT uuid_v6_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46')
       = '1EC9414C-232A-6B00-B3C8-9F6BDECED846' AS built;
SELECT uuid_v6_timestamp(u) AT TIME ZONE 'UTC' AS ts, uuid_v6_hundred_ns(u) AS hundred_ns,
       to_hex(uuid_v6_clock_seq(u)) AS clock_seq, uuid_v6_node(u) AS node
FROM (VALUES ('1EC9414C-232A-6B00-B3C8-9F6BDECED846'::uuid)) v (u);
-- Appendix A.1 has the same parts.
SELECT uuid_v1_to_v6('C232AB00-9414-11EC-B3C8-9F6BDECED846') AS v6,
       uuid_v6_to_v1('1EC9414C-232A-6B00-B3C8-9F6BDECED846') AS v1;

-- The ends of the range.
SELECT uuid_v6_from('1582-10-15 00:00:00+00', 0, '00:00:00:00:00:00') AS first,
       uuid_v6_from('5236-03-31 21:21:00.684697+00', 16383, 'ff:ff:ff:ff:ff:ff', 5) AS last;
SELECT uuid_v6_timestamp('00000000-0000-6000-8000-000000000000') AT TIME ZONE 'UTC' AS first,
       uuid_v6_timestamp('ffffffff-ffff-6fff-bfff-ffffffffffff') AT TIME ZONE 'UTC' AS last,
       uuid_v6_hundred_ns('ffffffff-ffff-6fff-bfff-ffffffffffff') AS hundred_ns;

-- It sorts by time, to 100 ns; version 1 does not.
SELECT uuid_v6_from(ts, 16383, mac, 9) < uuid_v6_from(ts + interval '1 us', 0, mac) AS microseconds,
       uuid_v6_from(ts, 16383, mac, 3) < uuid_v6_from(ts, 0, mac, 4) AS hundred_ns,
       uuid_v6_from(ts, 5, mac) < uuid_v6_from(ts + interval '7 minutes', 5, mac) AS minutes,
       uuid_v1_from(ts, 5, mac) < uuid_v1_from(ts + interval '7 minutes', 5, mac) AS minutes_of_v1
FROM (VALUES ('2022-02-22 14:22:22-05'::timestamptz, '44:88:99:36:57:32'::macaddr)) v (ts, mac);

-- Each version to the other and back.
SELECT setseed(0.25);
CREATE TABLE samples AS
SELECT '1582-10-15 00:00:00+00'::timestamptz + interval '1 us' * (random() * 115292150460684690)::bigint AS ts,
       (random() * 16383)::int AS clock_seq, (random() * 9)::int AS hundred_ns,
       substr(md5(random()::text), 1, 12)::macaddr AS mac
FROM generate_series(1, 10000);
SELECT count(*) AS lost
FROM samples, uuid_v6_from(ts, clock_seq, mac, hundred_ns) v6, uuid_v1_from(ts, clock_seq, mac, hundred_ns) v1
WHERE (uuid_v6_timestamp(v6), uuid_v6_clock_seq(v6), uuid_v6_node(v6), uuid_v6_hundred_ns(v6))
      IS DISTINCT FROM (ts, clock_seq, mac, hundred_ns)
   OR uuid_v1_to_v6(v1) IS DISTINCT FROM v6 OR uuid_v6_to_v1(v6) IS DISTINCT FROM v1;
SELECT count(*) AS out_of_order
FROM (SELECT uuid_v6_from(ts, clock_seq, mac, hundred_ns)
             > lead(uuid_v6_from(ts, clock_seq, mac, hundred_ns)) OVER (ORDER BY ts, hundred_ns) AS later FROM samples) s
WHERE later;
DROP TABLE samples;

-- Of any other version or variant all is NULL.
SELECT u, uuid_v6_timestamp(u) IS NULL AND uuid_v6_hundred_ns(u) IS NULL AND uuid_v6_clock_seq(u) IS NULL
          AND uuid_v6_node(u) IS NULL AND uuid_v6_to_v1(u) IS NULL AS all_null,
       uuid_v1_to_v6(u) IS NULL AS not_v1
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid),  -- nil
             ('ffffffff-ffff-ffff-ffff-ffffffffffff'),        -- max
             ('c232ab00-9414-11ec-b3c8-9f6bdeced846'),        -- version 1
             ('919108f7-52d1-4320-9bac-f847db4148a8'),        -- version 4
             ('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'),        -- version 7
             ('1ec9414c-232a-6b00-33c8-9f6bdeced846'),        -- NCS variant
             ('1ec9414c-232a-6b00-d3c8-9f6bdeced846'),        -- Microsoft variant
             ('1ec9414c-232a-6b00-f3c8-9f6bdeced846')) v (u); -- reserved variant
SELECT uuid_v6_from(NULL, 0, '00:00:00:00:00:00') IS NULL AND uuid_v6_timestamp(NULL) IS NULL
       AND uuid_v1_to_v6(NULL) IS NULL AND uuid_v6_to_v1(NULL) IS NULL AS strict;

-- Values that a UUID cannot hold.
SET timezone = 'UTC';
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v6_from('2022-02-22', -1, '00:00:00:00:00:00')$$,
    $$uuid_v6_from('2022-02-22', 16384, '00:00:00:00:00:00')$$,
    $$uuid_v6_from('2022-02-22', 0, '00:00:00:00:00:00', -1)$$,
    $$uuid_v6_from('2022-02-22', 0, '00:00:00:00:00:00', 10)$$,
    $$uuid_v6_from('1582-10-14 23:59:59.999999+00', 0, '00:00:00:00:00:00')$$,
    $$uuid_v6_from('5236-03-31 21:21:00.684697+00', 0, '00:00:00:00:00:00', 6)$$,
    $$uuid_v6_from('infinity', 0, '00:00:00:00:00:00')$$]) call;
DROP FUNCTION try;
