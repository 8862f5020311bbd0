-- Layouts of other systems, with ids that they have published; docs/layouts.md has them in a table.
\set ECHO none
\a \t on
SET timezone = 'UTC';
SET datestyle = 'ISO';

\echo -- All layouts in one table.
CREATE TABLE layouts (name text, epoch timestamptz, shard_bits int, sequence_bits int);
INSERT INTO layouts VALUES
    ('Instagram', '2011-08-24 21:07:01.721+00', 13, 10),
    ('digoal', '2012-01-01 00:00:00+00', 13, 10),
    ('Twitter', '2010-11-04 01:42:54.657+00', 10, 12),
    ('Discord', '2015-01-01 00:00:00+00', 10, 12),
    ('pgactive', '2016-10-06 23:22:19.634+00', 10, 14),
    ('TSID', '2020-01-01 00:00:00+00', 10, 12),
    ('pgEdge, from 1.2 on', '2023-01-01 00:00:00+00', 10, 12),
    ('redis-id-generator', '1970-01-01 00:00:00+00', 12, 10),
    ('as wide as Sonyflake', '2014-09-01 00:00:00+00', 16, 5),
    ('PgDog', '2025-11-26 19:13:15+00', 10, 12),
    ('PgDog, compact', '2025-11-26 19:13:15+00', 6, 6);
SELECT name, 1 << shard_bits AS shards, 1 << sequence_bits AS ids_a_ms,
       id_timestamp(9223372036854775807, epoch, shard_bits, sequence_bits) AS last_positive,
       id_timestamp(-1, epoch, shard_bits, sequence_bits) AS last
FROM layouts;

\echo '-- Instagram: the time of a post''s id is shortly before the post''s own; and the id of the article, built by shifts.'
SELECT account, id_timestamp(id), to_timestamp(taken_at) AS taken_at
FROM (VALUES ('bbcnews', 3597631270905977008, 1743091089), ('nasa', 3945611671337605949, 1785520896)) posts (account, id, taken_at);
SELECT extract(epoch FROM ts - '2011-08-24 21:07:01.721+00')::float * 1000 AS ms, shard, sequence
FROM id_parts((1387263000::bigint << (64 - 41)) | ((31341 % 2000) << (64 - 41 - 13)) | (5001 % 1024));

\echo -- digoal, Discord; examples/decoding/vectors.json has more of them, and t/oracles/other_extensions.pl those of pgEdge.
SELECT l.name, id, ts, shard, sequence
FROM (VALUES ('digoal', -9203679173715945767), ('Discord', 105484726235607040), ('Discord', 90339695967350784)) published (name, id)
JOIN layouts l USING (name), LATERAL id_parts(id, epoch, shard_bits, sequence_bits)
ORDER BY l.name COLLATE "C", id;
\echo '-- pgEdge''s two orders of node and counter, as docs/layouts.md tells them apart.'
SELECT id, id & 1023 = 0 AS surely_new, id >> 12 & 1023 = 0 AS surely_old
FROM (VALUES (514953126957023239), (514953133449834496), (514953126958329863), (514953133449834728)) drawn (id);

\echo -- pgactive: an id as its function shifts it, from 946684800 + 529111339.634 s on; and a table of such ids is continued.
CREATE SEQUENCE gstest_id_seq;
SELECT ts, shard, sequence
FROM (VALUES (((1795520673474 - 946684800000 - 529111339634) << 24) | (7 << 14) | (20000 % 16383))) made_by_hand (id),
     id_parts(id, '2016-10-06 23:22:19.634+00', 10, 14);
SELECT raise_generator('gstest_id_seq', 5364087564733107745, '2016-10-06 23:22:19.634+00', 10, 14) <
       next_id(7, 'gstest_id_seq', '2016-10-06 23:22:19.634+00', 10, 14) AS continues;

\echo -- TSID: its time, and its text.
SELECT id_to_text(id) AS text, ts, shard, sequence
FROM (VALUES (501438102971408389)) published (id), id_parts(id, '2020-01-01 00:00:00+00', 10, 12);

\echo -- Sonyflake: its ids are only decoded.
SELECT epoch::date, epoch + (id >> 24) * interval '10 ms' AS ts, id_shard(id, 8, 16) AS sequence, id_sequence(id, 16) AS machine
FROM (VALUES ((6000000000 << 24) | (255 << 16) | 40000)) made_by_hand (id),
     (VALUES ('2014-09-01 00:00:00+00'::timestamptz), ('2025-01-01 00:00:00+00')) versions (epoch);
SELECT ts, shard AS sequence, sequence AS machine FROM id_parts(1211144891006978, '2020-05-18 00:00:00+00', 8, 16);
CREATE SEQUENCE sensors_id_seq;
SELECT id_shard(id, 16, 5) AS machine FROM next_id(40000, 'sensors_id_seq', '2014-09-01 00:00:00+00', 16, 5) id;

DROP TABLE layouts;
DROP SEQUENCE sensors_id_seq, gstest_id_seq;
