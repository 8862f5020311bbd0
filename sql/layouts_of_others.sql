-- Layouts of other systems, with ids that they have published; docs/layouts.md has them in a table.
\a \t on
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- All layouts in one table.
CREATE TABLE layouts (name text, epoch timestamptz, shard_bits int, sequence_bits int);
INSERT INTO layouts VALUES
    ('Instagram', '2011-08-24 21:07:01.721+00', 13, 10),
    ('digoal', '2012-01-01 00:00:00+00', 13, 10),
    ('Twitter', '2010-11-04 01:42:54.657+00', 10, 12),
    ('Discord', '2015-01-01 00:00:00+00', 10, 12),
    ('pgEdge, from 1.2 on', '2023-01-01 00:00:00+00', 10, 12),
    ('redis-id-generator', '1970-01-01 00:00:00+00', 12, 10),
    ('several servers a shard', '2024-01-01 00:00:00+00', 12, 10),
    ('as wide as Sonyflake', '2014-09-01 00:00:00+00', 16, 5),
    ('for JavaScript', '2024-01-01 00:00:00+00', 4, 8);

SELECT name, 1 << shard_bits AS shards, 1 << sequence_bits AS ids_a_ms,
       id_timestamp(9223372036854775807, epoch, shard_bits, sequence_bits) AS last_positive,
       id_timestamp(-1, epoch, shard_bits, sequence_bits) AS last
FROM layouts;

-- Instagram.
SELECT account, id_timestamp(id), to_timestamp(taken_at) AS taken_at
FROM (VALUES ('bbcnews', 3597631270905977008, 1743091089),
             ('nasa', 3945611671337605949, 1785520896)) posts (account, id, taken_at);
SELECT 1387263000::bigint << (64 - 41) | 1341 << (64 - 41 - 13) | 5001 % 1024 AS unlike_c,
       (1387263000::bigint << (64 - 41)) | ((31341 % 2000) << (64 - 41 - 13)) | (5001 % 1024) AS id;
SELECT extract(epoch FROM ts - '2011-08-24 21:07:01.721+00')::float * 1000 AS ms, shard, sequence
FROM id_parts(11637205501278089);

-- digoal.
SELECT ts, shard, sequence FROM id_parts(9221321628057605849, '2012-01-01 00:00:00+00');
SELECT ts, shard, sequence FROM id_parts(-9203679173715945767, '2012-01-01 00:00:00+00');

-- Twitter.
SELECT ts, shard AS machine, sequence
FROM id_parts(1541815603606036480, '2010-11-04 01:42:54.657+00', 10, 12);

-- Discord.
SELECT id, ts, shard >> 5 AS worker, shard & 31 AS process, sequence AS increment
FROM (VALUES (175928847299117063), (105484726235607040), (90339695967350784)) published (id),
     id_parts(id, '2015-01-01 00:00:00+00', 10, 12);

-- pgEdge.
SELECT id_timestamp(id, '2023-01-01 00:00:00+00', 10, 12) AS ts, id & 1023 AS node, id >> 10 & 4095 AS counter
FROM (VALUES (136169504773242881)) published (id);
SELECT id, id & 1023 = 0 AS surely_new, id >> 12 & 1023 = 0 AS surely_old
FROM (VALUES (514953126957023239), (514953133449834496), (514953126958329863), (514953133449834728)) drawn (id);
SELECT count(*) FILTER (WHERE id & 1023 = 0) AS surely_new, count(*) FILTER (WHERE id >> 12 & 1023 = 0) AS surely_old
FROM (VALUES (514953126957023239), (514953126958329863), (136169504773242881)) orders (id);
SELECT id_timestamp(id & 4398046511103, '2020-01-01 00:00:00+00', 0, 0) AS ts, id >> 54 & 1023 AS node,
       id >> 42 & 4095 AS counter
FROM (VALUES (18014518154714241)) published (id);

-- Sonyflake: its ids are only decoded.
SELECT epoch::date, epoch + (id >> 24) * interval '10 ms' AS ts,
       id_shard(id, 8, 16) AS sequence, id_sequence(id, 16) AS machine
FROM (VALUES ((6000000000 << 24) | (255 << 16) | 40000)) made_by_hand (id),
     (VALUES ('2014-09-01 00:00:00+00'::timestamptz), ('2025-01-01 00:00:00+00')) versions (epoch);
SELECT ts, shard AS sequence, sequence AS machine
FROM id_parts(1211144891006978, '2020-05-18 00:00:00+00', 8, 16);
CREATE SEQUENCE sensors_id_seq;
SELECT id_shard(id, 16, 5) AS machine
FROM next_id(40000, 'sensors_id_seq', '2014-09-01 00:00:00+00', 16, 5) id;

-- 53 bits.
CREATE SEQUENCE orders_id_seq;
CREATE TABLE orders (
    id bigint PRIMARY KEY CHECK (id BETWEEN 0 AND 9007199254740991)
       DEFAULT next_id(3, 'orders_id_seq', '2024-01-01 00:00:00+00', 4, 8));
INSERT INTO orders DEFAULT VALUES RETURNING id = id::float8::bigint AS same_in_javascript;
SELECT id_timestamp(9007199254740991, '2024-01-01 00:00:00+00', 4, 8) AS last_safe;
-- next_id does not know this bound, so a CHECK enforces it.
\set VERBOSITY sqlstate
INSERT INTO orders VALUES (id_lower_bound('2093-09-06 15:47:35.552+00', '2024-01-01 00:00:00+00', 4, 8));
\set VERBOSITY default
INSERT INTO orders VALUES (id_lower_bound('2093-09-06 15:47:35.551+00', '2024-01-01 00:00:00+00', 4, 8) + 4095);
-- The reason: JavaScript changes a larger id.
SELECT 1541815603606036481 AS id, 1541815603606036481::float8::bigint AS in_javascript;

-- Redis: several servers per shard.
SELECT ts, shard, sequence, sequence % 3 + 1 AS server
FROM id_parts(5981966696448054276, '1970-01-01 00:00:00+00', 12, 10);
CREATE SEQUENCE articles_id_seq;
CREATE FUNCTION next_article_id(user_id bigint) RETURNS bigint LANGUAGE sql VOLATILE
RETURN next_id((user_id % 1024)::int << 2 | current_setting('ids.server')::int,
               'articles_id_seq', '2024-01-01 00:00:00+00', 12, 10);
SET ids.server = 1;
SELECT shard >> 2 AS shard, shard & 3 AS server
FROM id_parts(next_article_id(14532), '2024-01-01 00:00:00+00', 12, 10);
-- Each user's shard and the server are in their bits.
SELECT count(*) AS users, count(DISTINCT shard) AS shards, min(shard), max(shard), bool_and(shard >> 2 = user_id % 1024) AS right
FROM generate_series(1, 5000) user_id,
     LATERAL id_parts(next_article_id(user_id), '2024-01-01 00:00:00+00', 12, 10);
-- A server without its number draws no id.
RESET ids.server;
\set VERBOSITY sqlstate
SELECT next_article_id(14532);
\set VERBOSITY default

DROP FUNCTION next_article_id;
DROP TABLE layouts, orders;
DROP SEQUENCE sensors_id_seq, orders_id_seq, articles_id_seq;
