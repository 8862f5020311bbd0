-- Tables partitioned by time on the id itself: the statements of contrib/admin/README.md, which also shows
-- the answers.
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET shardid.shard_id = 5;
-- Only in the extension:
DROP EXTENSION shardid_admin;
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE EXTENSION shardid_admin;
-- In both versions:

-- Months.
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT ids.next_id(), what text) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('events', '1 month', since => '2025-01-01 00:00+00');
INSERT INTO events (what) VALUES ('now') RETURNING tableoid::regclass::text = to_char(ids.id_timestamp(id), '"events_"YYYYMM') AS right;
-- Below there is one partition from July 2025 on.
SELECT count(*) > 3 AS later, string_agg(format('DROP TABLE %s', relid), '; ') AS drop_later
FROM pg_partition_tree('events') WHERE isleaf AND relid::regclass::text >= 'events_202507' \gset
\echo :later
:drop_later;
CREATE TABLE events_later PARTITION OF events
FOR VALUES FROM (ids.id_lower_bound('2025-07-01 00:00+00')) TO (ids.id_lower_bound('2046-01-01 00:00+00'));

SELECT relname AS partition, ids.id_timestamp(bound[1]::bigint) AS since, ids.id_timestamp(bound[2]::bigint) AS until
FROM pg_partition_tree('events') JOIN pg_class ON oid = relid,
     regexp_match(pg_get_expr(relpartbound, oid), $$FROM \('(-?\d+)'\) TO \('(-?\d+)'\)$$) bound
WHERE isleaf ORDER BY since;

INSERT INTO events SELECT ids.id_lower_bound(hour) | (5 << 10), to_char(hour, 'YYYYMM')
FROM generate_series('2025-01-01'::timestamptz, '2025-06-30 23:00', interval '1 hour') hour;
INSERT INTO events (what) SELECT 'drawn' FROM generate_series(1, 100);
ANALYZE events;
SELECT tableoid::regclass AS partition, count(*), count(DISTINCT what), min(what) FROM events GROUP BY 1 ORDER BY 1;

-- The partition key is the id, so the id alone may be the primary key, and be referred to.
CREATE TABLE comments (event bigint NOT NULL REFERENCES events, text text);
INSERT INTO comments SELECT id, 'seen' FROM events WHERE what = 'drawn';
-- Not if the partition key is another column; the error message changed in 19.
\set VERBOSITY sqlstate
CREATE TABLE by_column (id bigint PRIMARY KEY, created timestamptz) PARTITION BY RANGE (created);
\set VERBOSITY default

-- The tables that a query reads: those in its plan that are not pruned at its start or later.
CREATE FUNCTION tables_read(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT string_agg(DISTINCT name #>> '{}', ' ' ORDER BY name #>> '{}')
            FROM jsonb_path_query(plan, '$.** ? (@."Actual Loops" > 0)."Relation Name"') name);
END
$$;

-- Left out when the query is planned.
EXPLAIN (COSTS OFF) SELECT * FROM events
WHERE id >= ids.id_lower_bound('2025-03-10 00:00+00') AND id < ids.id_lower_bound('2025-03-11 00:00+00');
SELECT count(*) FROM events
WHERE id >= ids.id_lower_bound('2025-03-10 00:00+00') AND id < ids.id_lower_bound('2025-03-11 00:00+00');
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id = 3561413155706437632;
SELECT tables_read('SELECT * FROM events
    WHERE id >= ids.id_lower_bound(''2025-02-10 00:00+00'') AND id < ids.id_lower_bound(''2025-04-01 00:00+00'')');

-- Left out when it starts: the time of the clock is not known before.
-- Only in the extension:
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id >= ids.id_lower_bound(now() - interval '7 days');
-- In both versions:
SELECT tables_read('SELECT * FROM events WHERE id >= ids.id_lower_bound(now() - interval ''7 days'')');
SELECT count(*) FROM events WHERE id >= ids.id_lower_bound(now() - interval '7 days');
-- clock_timestamp() changes with each call, so nothing is left out.
SELECT tables_read('SELECT * FROM events WHERE id >= ids.id_lower_bound(clock_timestamp() - interval ''7 days'')');

-- A prepared statement: at first planned for each value, then once for all.
PREPARE day (timestamptz) AS SELECT * FROM events
WHERE id >= ids.id_lower_bound($1) AND id < ids.id_lower_bound($1 + interval '1 day');
-- Only in the extension:
EXPLAIN (COSTS OFF) EXECUTE day('2025-05-10 00:00+00');
-- In both versions:
SET plan_cache_mode = force_generic_plan;
-- Only in the extension:
EXPLAIN (COSTS OFF) EXECUTE day('2025-05-10 00:00+00');
-- In both versions:
SELECT tables_read('EXECUTE day(''2025-05-10 00:00+00'')');
RESET plan_cache_mode;
DEALLOCATE day;

-- Left out while it runs: a time that the query itself finds.
CREATE TABLE runs (at timestamptz);
INSERT INTO runs VALUES ('2025-05-31 12:00+00'), ('2025-04-01 00:00+00');
SELECT tables_read('SELECT * FROM events WHERE id >= (SELECT ids.id_lower_bound(max(at)) FROM runs)');
SELECT tables_read('SELECT * FROM runs, LATERAL (SELECT * FROM events WHERE id >= ids.id_lower_bound(at)
    AND id < ids.id_lower_bound(at + interval ''1 hour'') OFFSET 0) e WHERE at < ''2025-05-01''');

-- A condition on an id's time is not a condition on the id.
SELECT tables_read('SELECT * FROM events WHERE ids.id_timestamp(id) >= ''2025-05-10 00:00+00''');

-- The latest first: the partitions are in order, one is read.
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY id DESC LIMIT 3;
SELECT tables_read('SELECT * FROM events ORDER BY id DESC LIMIT 3');

-- Dropping a month, and the locks that each way takes of the parent. What is referred to stays.
\set VERBOSITY sqlstate
ALTER TABLE events DETACH PARTITION events_later;
DROP TABLE events_202501;
\set VERBOSITY default
DROP TABLE comments;
BEGIN;
DROP TABLE events_202501;
SELECT mode FROM pg_locks WHERE relation = 'events'::regclass AND pid = pg_backend_pid() AND mode LIKE '%Exclusive%';
ROLLBACK;
ALTER TABLE events DETACH PARTITION events_202501 CONCURRENTLY;
DROP TABLE events_202501;
SELECT count(*), min(ids.id_timestamp(id)) FROM events WHERE what <> 'drawn';

-- Attaching the next month.
DELETE FROM events WHERE what = 'drawn';
DROP TABLE events_later;
BEGIN;
CREATE TABLE events_202507 PARTITION OF events
FOR VALUES FROM (ids.id_lower_bound('2025-07-01 00:00+00')) TO (ids.id_lower_bound('2025-08-01 00:00+00'));
SELECT mode FROM pg_locks WHERE relation = 'events'::regclass AND pid = pg_backend_pid() AND mode LIKE '%Exclusive%';
ROLLBACK;
BEGIN;
CREATE TABLE events_202507 (LIKE events INCLUDING ALL);
ALTER TABLE events ATTACH PARTITION events_202507
FOR VALUES FROM (ids.id_lower_bound('2025-07-01 00:00+00')) TO (ids.id_lower_bound('2025-08-01 00:00+00'));
SELECT mode FROM pg_locks WHERE relation = 'events'::regclass AND pid = pg_backend_pid() AND mode LIKE '%Exclusive%';
COMMIT;
SELECT pg_get_expr(adbin, adrelid) LIKE '%next_id()' AS default_copied, conname AS key_copied
FROM pg_attrdef, pg_constraint WHERE adrelid = 'events_202507'::regclass AND conrelid = adrelid AND contype = 'p';
-- The same for the months that are to come, as a job of every night.
CALL shardid_admin.maintain_id_partitions('events', '1 month');
SELECT shardid_admin.id_partition_commands('events', '1 month');
INSERT INTO events (what) VALUES ('now') RETURNING tableoid::regclass::text = to_char(ids.id_timestamp(id), '"events_"YYYYMM') AS right;

-- Without a partition a row cannot be inserted.
\set VERBOSITY sqlstate
INSERT INTO events VALUES (ids.id_lower_bound('2025-08-10 00:00+00'), 'too early');
\set VERBOSITY default

-- A default partition.
CREATE TABLE events_default PARTITION OF events DEFAULT;
INSERT INTO events VALUES (ids.id_lower_bound('2025-08-10 00:00+00'), 'too early')
RETURNING tableoid::regclass AS partition;
\set VERBOSITY terse
SELECT count(*) > 0 AS others FROM shardid_admin.id_partition_commands('events', '1 month', since => '2025-08-01');
\set VERBOSITY default
ALTER TABLE events DETACH PARTITION events_202502 CONCURRENTLY;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id < ids.id_lower_bound('2025-04-01 00:00+00') ORDER BY id;
-- What is in it can be moved.
BEGIN;
CREATE TABLE events_202508 (LIKE events INCLUDING ALL);
WITH moved AS (DELETE FROM events_default
               WHERE id >= ids.id_lower_bound('2025-08-01 00:00+00') AND id < ids.id_lower_bound('2025-09-01 00:00+00')
               RETURNING *)
INSERT INTO events_202508 SELECT * FROM moved;
ALTER TABLE events ATTACH PARTITION events_202508
FOR VALUES FROM (ids.id_lower_bound('2025-08-01 00:00+00')) TO (ids.id_lower_bound('2025-09-01 00:00+00'));
SELECT mode FROM pg_locks WHERE relation = 'events_default'::regclass AND pid = pg_backend_pid() AND mode LIKE 'Access%Exclusive%';
COMMIT;
SELECT tableoid::regclass AS partition, what FROM events WHERE what = 'too early';

-- A generator ahead of the clock: the id decides in which partition the row is.
CREATE SEQUENCE ahead_id_seq;
CREATE TABLE ahead (id bigint PRIMARY KEY DEFAULT ids.next_id(5, 'ahead_id_seq')) PARTITION BY RANGE (id);
SELECT ids.id_lower_bound(now() + interval '10 hours') AS in_10_hours \gset
CREATE TABLE ahead_before PARTITION OF ahead FOR VALUES FROM (0) TO (:in_10_hours);
CREATE TABLE ahead_after PARTITION OF ahead FOR VALUES FROM (:in_10_hours) TO (MAXVALUE);
INSERT INTO ahead DEFAULT VALUES RETURNING tableoid::regclass AS partition;
SELECT setval('ahead_id_seq', ids.id_lower_bound(now() + interval '20 hours') >> 23 << 10) IS NOT NULL AS as_if_the_clock_was_set_back;
INSERT INTO ahead DEFAULT VALUES
RETURNING tableoid::regclass AS partition, ids.id_timestamp(id) > now() + interval '19 hours' AS ahead;
SELECT setval('ahead_id_seq', ids.id_lower_bound(now() + interval '25 hours') >> 23 << 10) IS NOT NULL AS by_more_than_max_lead;
\set VERBOSITY sqlstate
INSERT INTO ahead DEFAULT VALUES;
\set VERBOSITY default

-- Ids of the default layout turn negative on 2046-06-27: two partitions for that month.
CREATE TABLE flip (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
\set VERBOSITY terse
CREATE TABLE flip_204606 PARTITION OF flip
FOR VALUES FROM (ids.id_lower_bound('2046-06-01 00:00+00')) TO (ids.id_lower_bound('2046-07-01 00:00+00'));
\set VERBOSITY default
CREATE TABLE flip_204605 PARTITION OF flip
FOR VALUES FROM (ids.id_lower_bound('2046-05-01 00:00+00')) TO (ids.id_lower_bound('2046-06-01 00:00+00'));
CREATE TABLE flip_204606_positive PARTITION OF flip
FOR VALUES FROM (ids.id_lower_bound('2046-06-01 00:00+00')) TO (MAXVALUE);
CREATE TABLE flip_204606_negative PARTITION OF flip
FOR VALUES FROM (MINVALUE) TO (ids.id_lower_bound('2046-07-01 00:00+00'));
CREATE TABLE flip_204607 PARTITION OF flip
FOR VALUES FROM (ids.id_lower_bound('2046-07-01 00:00+00')) TO (ids.id_lower_bound('2046-08-01 00:00+00'));
INSERT INTO flip SELECT ids.id_lower_bound(day) FROM generate_series('2046-05-01'::timestamptz, '2046-07-31', interval '1 day') day;
INSERT INTO flip VALUES (9223372036854775807), (-9223372036854775808);
SELECT tableoid::regclass AS partition, count(*), min(ids.id_timestamp(id)) AS first, max(ids.id_timestamp(id)) AS last
FROM flip GROUP BY 1 ORDER BY first;
-- A range over the sign flip has OR instead of AND, and the order needs one more column.
SELECT count(*) FROM flip
WHERE id >= ids.id_lower_bound('2046-06-20 00:00+00') AND id < ids.id_lower_bound('2046-07-10 00:00+00');
SELECT count(*), min(ids.id_timestamp(id)) AS first, max(ids.id_timestamp(id)) AS last FROM flip
WHERE id >= ids.id_lower_bound('2046-06-20 00:00+00') OR id < ids.id_lower_bound('2046-07-10 00:00+00');
SELECT tables_read('SELECT * FROM flip
WHERE id >= ids.id_lower_bound(''2046-06-20 00:00+00'') OR id < ids.id_lower_bound(''2046-07-10 00:00+00'')');
SELECT bool_and(ts > previous) AS in_order
FROM (SELECT ids.id_timestamp(id) AS ts, lag(ids.id_timestamp(id)) OVER (ORDER BY id < 0, id) AS previous FROM flip) s;

-- BRIN.
CREATE TABLE log (id bigint NOT NULL, line text);
INSERT INTO log SELECT ids.id_lower_bound(second) | (5 << 10), 'a line of the log'
FROM generate_series('2025-01-01'::timestamptz, '2025-01-03 12:00', interval '1 second') second;
CREATE INDEX log_brin ON log USING brin (id) WITH (pages_per_range = 32);
CREATE INDEX log_btree ON log (id);
ANALYZE log;
SELECT correlation FROM pg_stats WHERE tablename = 'log' AND attname = 'id';
SELECT relname, pg_size_pretty(pg_relation_size(oid)) AS size FROM pg_class
WHERE relname IN ('log', 'log_brin', 'log_btree') ORDER BY relname;
SELECT count(*) FROM log
WHERE id >= ids.id_lower_bound('2025-01-02 10:00+00') AND id < ids.id_lower_bound('2025-01-02 11:00+00');
DROP INDEX log_btree;
EXPLAIN (COSTS OFF) SELECT count(*) FROM log
WHERE id >= ids.id_lower_bound('2025-01-02 10:00+00') AND id < ids.id_lower_bound('2025-01-02 11:00+00');
SELECT count(*) FROM log
WHERE id >= ids.id_lower_bound('2025-01-02 10:00+00') AND id < ids.id_lower_bound('2025-01-02 11:00+00');

DROP TABLE events, runs, ahead, flip, log;
DROP FUNCTION tables_read;
DROP SEQUENCE ahead_id_seq;
-- Only in the extension:
ALTER EXTENSION shardid SET SCHEMA public;
DROP SCHEMA ids;
-- In both versions:
