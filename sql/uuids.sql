-- UUIDs of versions 1, 6 and 7.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo -- RFC 9562, appendices A.1, A.5 and A.6, and the value that the article shows.
SELECT uuid_v1_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46') AS v1,
       uuid_v6_from('2022-02-22 14:22:22-05', x'33C8'::int, '9F:6B:DE:CE:D8:46') AS v6,
       uuid_v6_lower_bound('2022-02-22 14:22:22-05') AS first_v6, uuid_v7_lower_bound('2022-02-22 14:22:22-05') AS v7;
SELECT uuid_v1_timestamp(u), uuid_v1_hundred_ns(u), to_hex(uuid_v1_clock_seq(u)), uuid_v1_node(u)
FROM unnest('{C232AB00-9414-11EC-B3C8-9F6BDECED846,6b54058a-a413-11e6-b501-a0999b048337}'::uuid[]) u;
SELECT uuid_v6_timestamp(u), uuid_v6_hundred_ns(u), to_hex(uuid_v6_clock_seq(u)), uuid_v6_node(u), uuid_v6_to_v1(u)
FROM unnest('{1EC9414C-232A-6B00-B3C8-9F6BDECED846}'::uuid[]) u;
SELECT uuid_v1_to_v6('C232AB00-9414-11EC-B3C8-9F6BDECED846'), uuid_v7_timestamp('017F22E2-79B0-7CC3-98C4-DC0C0C07398F'::uuid);

\echo -- t/oracles/python.pl has random ones, the first and the last. NULL in, NULL out.
SELECT num_nonnulls(uuid_v1_from(NULL, 0, '00:00:00:00:00:00'), uuid_v1_timestamp(NULL), uuid_v1_to_v6(NULL), uuid_v6_to_v1(NULL),
                    uuid_v6_from(NULL, 0, '00:00:00:00:00:00'), uuid_v6_timestamp(NULL), uuid_v7_lower_bound(NULL),
                    uuid_v7_timestamp(NULL::uuid), uuid_v7_timestamp(NULL::text)) AS of_null;

\echo -- Values that a UUID cannot hold; those of version 1 are in errors.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v6_from('2022-02-22', 16384, '00:00:00:00:00:00')$$,
    $$uuid_v6_from('2022-02-22', 0, '00:00:00:00:00:00', -1)$$,
    $$uuid_v6_from('5236-03-31 21:21:00.684697+00', 0, '00:00:00:00:00:00', 6)$$,
    $$uuid_v7_lower_bound('1969-12-31 23:59:59.999999+00')$$, $$uuid_v7_lower_bound('10889-08-02 05:31:50.656+00')$$,
    $$uuid_v7_lower_bound('-infinity')$$, $$uuid_v7_timestamp('no UUID'::text)$$]) call;

\echo -- Partitions by the time of version 7. A range of times is pruned when the query is planned, or, if the time is only known
\echo -- then, when it is run.
CREATE TABLE messages (id uuid PRIMARY KEY, body text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE messages_%s PARTITION OF messages FOR VALUES FROM (%L) TO (%L)', to_char(month, 'YYYYMM'),
              uuid_v7_lower_bound(month), uuid_v7_lower_bound(month + interval '1 month'))
FROM generate_series('2026-10-01'::timestamptz, '2026-12-01', '1 month') month;
\gexec
INSERT INTO messages
SELECT uuid_v7_lower_bound(day), day FROM generate_series('2026-10-01'::timestamptz, '2026-12-31', '1 day') day;
SELECT tableoid::regclass, count(*), min(uuid_v7_timestamp(id)), max(uuid_v7_timestamp(id)) FROM messages
GROUP BY 1 ORDER BY 1;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT * FROM messages
WHERE id >= uuid_v7_lower_bound('2026-11-05') AND id < uuid_v7_lower_bound('2026-11-06');
-- Only in the extension:
\echo -- Only in the extension:
SET plan_cache_mode = force_generic_plan;
PREPARE since AS SELECT * FROM messages WHERE id >= uuid_v7_lower_bound($1);
EXPLAIN (COSTS off) EXECUTE since('2026-12-05');
RESET plan_cache_mode;
\echo -- In both versions:
-- In both versions:
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP TABLE messages;
