-- Tables partitioned by time on the id itself: the statements of contrib/admin/README.md, which also shows the answer, and
-- what it says of plans and locks. partition_commands, contrib/admin/t/clock.pl and maintain.pl have the partitions.
\set ECHO none
\t on
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET shardid.shard_id = 5;
-- Only in the extension:
DROP EXTENSION shardid_admin;
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE EXTENSION shardid_admin;
-- In both versions:
\echo -- Functions without a comment.
SELECT count(*) FROM pg_proc WHERE pronamespace = 'shardid_admin'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL;
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

\echo -- Months.
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT ids.next_id(), what text) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('events', '1 month', since => '2025-01-01 00:00+00');
\echo -- Below there is one partition from July 2025 on.
SELECT string_agg(format('DROP TABLE %s', relid), '; ') AS drop_later
FROM pg_partition_tree('events') WHERE isleaf AND relid::regclass::text >= 'events_202507' \gset
:drop_later;
CREATE TABLE events_later PARTITION OF events
FOR VALUES FROM (ids.id_lower_bound('2025-07-01 00:00+00')) TO (ids.id_lower_bound('2046-01-01 00:00+00'));
INSERT INTO events SELECT ids.id_lower_bound(hour) | (5 << 10), to_char(hour, 'YYYYMM')
FROM generate_series('2025-01-01'::timestamptz, '2025-06-30 23:00', interval '1 hour') hour;
INSERT INTO events (what) SELECT 'drawn' FROM generate_series(1, 100);
ANALYZE events;

\echo -- Left out when the query is planned.
EXPLAIN (COSTS OFF) SELECT * FROM events
WHERE id >= ids.id_lower_bound('2025-03-10 00:00+00') AND id < ids.id_lower_bound('2025-03-11 00:00+00');
\a
\echo -- When it starts, or while it runs; with the time of each call, or by the time of each id, no partition is.
PREPARE day (timestamptz) AS SELECT * FROM events
WHERE id >= ids.id_lower_bound($1) AND id < ids.id_lower_bound($1 + interval '1 day');
SET plan_cache_mode = force_generic_plan;
SELECT query, tables_read(query) FROM unnest(ARRAY[
    'SELECT * FROM events WHERE id >= ids.id_lower_bound(now() - interval ''7 days'')',
    'EXECUTE day(''2025-05-10 00:00+00'')',
    'SELECT * FROM events WHERE id >= (SELECT ids.id_lower_bound(max(at)) FROM (VALUES (''2025-05-31''::timestamptz)) runs (at))',
    'SELECT * FROM (VALUES (''2025-04-01''::timestamptz), (''2025-04-02'')) runs (at),'
    ' LATERAL (SELECT * FROM events WHERE id >= ids.id_lower_bound(at) AND id < ids.id_lower_bound(at + interval ''1 hour'') OFFSET 0) e',
    'SELECT * FROM events ORDER BY id DESC LIMIT 3',
    'SELECT * FROM events WHERE id >= ids.id_lower_bound(clock_timestamp() - interval ''7 days'')',
    'SELECT * FROM events WHERE ids.id_timestamp(id) >= ''2025-05-10 00:00+00'''
]) query;
RESET plan_cache_mode;

\echo -- Dropping a month that is referred to, and the locks of the table for dropping one and for attaching one.
CREATE TABLE comments (event bigint NOT NULL REFERENCES events);
INSERT INTO comments SELECT id FROM events WHERE what = 'drawn';
\set VERBOSITY sqlstate
ALTER TABLE events DETACH PARTITION events_later;
DROP TABLE events_202501;
DROP TABLE comments;
BEGIN;
DROP TABLE events_202501;
SELECT mode FROM pg_locks WHERE relation = 'events'::regclass AND pid = pg_backend_pid() AND mode LIKE '%Exclusive%';
ROLLBACK;
ALTER TABLE events DETACH PARTITION events_202501 CONCURRENTLY;
BEGIN;
ALTER TABLE events ATTACH PARTITION events_202501
FOR VALUES FROM (ids.id_lower_bound('2025-01-01 00:00+00')) TO (ids.id_lower_bound('2025-02-01 00:00+00'));
SELECT mode FROM pg_locks WHERE relation = 'events'::regclass AND pid = pg_backend_pid() AND mode LIKE '%Exclusive%';
COMMIT;

\echo -- A row without a partition; a default partition, and its lock while a month is attached.
INSERT INTO events VALUES (ids.id_lower_bound('2024-08-10 00:00+00'));
CREATE TABLE events_default PARTITION OF events DEFAULT;
ALTER TABLE events DETACH PARTITION events_202502 CONCURRENTLY;
BEGIN;
CREATE TABLE events_202412 PARTITION OF events
FOR VALUES FROM (ids.id_lower_bound('2024-12-01 00:00+00')) TO (ids.id_lower_bound('2025-01-01 00:00+00'));
SELECT mode FROM pg_locks WHERE relation = 'events_default'::regclass AND pid = pg_backend_pid();
ROLLBACK;

\echo -- A range over the time at which ids become negative has OR instead of AND, and the order needs one more column.
CREATE TABLE flip (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE flip_before PARTITION OF flip FOR VALUES FROM (0) TO (ids.id_lower_bound('2046-06-01 00:00+00'));
CREATE TABLE flip_positive PARTITION OF flip FOR VALUES FROM (ids.id_lower_bound('2046-06-01 00:00+00')) TO (MAXVALUE);
CREATE TABLE flip_negative PARTITION OF flip FOR VALUES FROM (MINVALUE) TO (ids.id_lower_bound('2046-07-01 00:00+00'));
INSERT INTO flip SELECT ids.id_lower_bound(day) FROM generate_series('2046-05-01'::timestamptz, '2046-06-30', interval '1 day') day;
SELECT count(*), min(ids.id_timestamp(id)) AS first, max(ids.id_timestamp(id)) AS last FROM flip
WHERE id >= ids.id_lower_bound('2046-06-20 00:00+00') OR id < ids.id_lower_bound('2046-06-30 00:00+00');
SELECT tables_read('SELECT * FROM flip
WHERE id >= ids.id_lower_bound(''2046-06-20 00:00+00'') OR id < ids.id_lower_bound(''2046-06-30 00:00+00'')');
SELECT bool_and(ts > previous) AS in_order
FROM (SELECT ids.id_timestamp(id) AS ts, lag(ids.id_timestamp(id)) OVER (ORDER BY id < 0, id) AS previous FROM flip) s;

-- Only in the extension:
\echo -- Only in the extension:
-- BRIN.
CREATE TABLE log (id bigint NOT NULL, line text);
INSERT INTO log SELECT ids.id_lower_bound(second) | (5 << 10), 'a line of the log'
FROM generate_series('2025-01-01'::timestamptz, '2025-01-03 12:00', interval '1 second') second;
CREATE INDEX log_brin ON log USING brin (id) WITH (pages_per_range = 32);
CREATE INDEX log_btree ON log (id);
SELECT pg_relation_size('log_btree') / pg_relation_size('log_brin') AS smaller;
DROP TABLE log;
\echo -- In both versions:
-- In both versions:
DROP TABLE events, flip;
DROP FUNCTION tables_read;
-- Only in the extension:
ALTER EXTENSION shardid SET SCHEMA public;
DROP SCHEMA ids;
-- In both versions:
