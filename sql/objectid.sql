-- MongoDB's ObjectId.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo '-- Published ones, and the specification''s seconds, which have no sign.'
SELECT id, objectid_timestamp(id)
FROM (VALUES ('\x507f1f77bcf86cd799439011'::bytea), ('\x507c7f79bcf86cd7994f6c0e'),
             ('\x000000000000000000000000'), ('\x7fffffff0000000000000000'),
             ('\x800000000000000000000000'), ('\xffffffffffffffffffffffff')) v (id);

\echo -- Built from their parts: machine and process as they were first defined, three bytes and two.
SELECT objectid_from('2012-10-17 21:13:27+00', x'bcf86c'::int, x'd799'::int, x'439011'::int),
       objectid_from('2012-10-17 21:13:27.999999+00', x'bcf86c'::int, x'd799'::int, x'439011'::int) AS within_the_second;
SELECT objectid_from('1970-01-01 00:00:00+00', 0, 0, 0) AS first,
       objectid_from('2106-02-07 06:28:15.999999+00', 16777215, 65535, 16777215) AS last;
SELECT objectid_from(NULL, 0, 0, 0) IS NULL AND objectid_timestamp(NULL) IS NULL AS strict;

\echo -- Generated ObjectIds: distinct, increasing, of one process, of the current second.
CREATE TABLE made (n int GENERATED ALWAYS AS IDENTITY, id bytea DEFAULT objectid());
INSERT INTO made SELECT FROM generate_series(1, 40000);
SELECT count(DISTINCT id), count(DISTINCT substr(id, 5, 5)) AS processes, min(length(id)), max(length(id)) FROM made;
SELECT count(*) AS not_above FROM (SELECT id <= lag(id) OVER (ORDER BY n) AS back FROM made) s WHERE back;
SELECT objectid_timestamp(objectid()) BETWEEN date_trunc('second', statement_timestamp()) AND clock_timestamp() AS now;
SELECT id AS last FROM made ORDER BY n DESC LIMIT 1 \gset
ALTER SEQUENCE shardid_objectid_seq RESTART;
\echo -- After RESTART they have other bytes between time and counter.
SELECT substr(id, 1, 4) || substr(id, 10) > substr(:'last'::bytea, 1, 4) || substr(:'last'::bytea, 10) AS above FROM objectid() id;

\echo '-- A second''s counter is divided among its milliseconds: its last value, and the first of the next second.'
SELECT (extract(epoch FROM date_trunc('second', clock_timestamp())) + 3600)::bigint AS ahead \gset
SELECT setval('shardid_objectid_seq', (:ahead + 1::bigint) * 16777000 - 2) > 0 AS set;
SELECT objectid_timestamp(id) = to_timestamp(:ahead) AS of_the_second, substr(id, 10) AS counter FROM objectid() id;
SELECT objectid_timestamp(id) = to_timestamp(:ahead + 1) AS of_the_next, substr(id, 10) AS counter FROM objectid() id;
ALTER SEQUENCE shardid_objectid_seq RESTART;

\echo -- Refused.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$objectid_from('2026-11-21', 16777216, 0, 0)$$,
    $$objectid_from('2026-11-21', 0, 65536, 0)$$, $$objectid_from('2026-11-21', 0, 0, -1)$$,
    $$objectid_from('1969-12-31 23:59:59.999999+00', 0, 0, 0)$$, $$objectid_from('2106-02-07 06:28:16+00', 0, 0, 0)$$,
    $$objectid_timestamp('')$$, $$objectid_timestamp('507f1f77bcf86cd799439011')$$]) call;
CREATE ROLE regress_shardid_objectid;
SET ROLE regress_shardid_objectid;
SELECT try($$SELECT objectid()$$);
RESET ROLE;
DROP ROLE regress_shardid_objectid;
DROP TABLE made;
