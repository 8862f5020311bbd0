-- Ids and UUIDs decode to the same bytes on every processor: the digests are those of amd64, and make platforms
-- compares them on other processors. A few lines are shown.
\set ECHO none
\a \t on
SET timezone = 'UTC';
SET datestyle = 'ISO';

\echo -- Pseudo-random bits, the same everywhere, and the first and last values.
CREATE TEMPORARY TABLE numbers AS
SELECT n, ('x' || left(md5(n::text), 16))::bit(64)::bigint >> n % 40 AS id FROM generate_series(1, 8000) n
UNION ALL
VALUES (8001, 0), (8002, -1), (8003, 9223372036854775807), (8004, -9223372036854775808);

CREATE TEMPORARY VIEW decoded AS
SELECT n, kind, line
FROM (SELECT n, id, (id & 1099511627775) + 1000 AS short,
             uuid_v1_from(to_timestamp(id % 4000000000), n, '08:00:2b:01:02:03', n % 10) AS v1,
             uuid_v6_from(to_timestamp(id % 4000000000), n, '08:00:2b:01:02:03', n % 10) AS v6,
             objectid_from(to_timestamp(abs(id % 4000000000)), n * 2000, n, n * 2000) AS objectid
      FROM numbers) s,
LATERAL (VALUES
    ('id', concat_ws(' ', id, id_parts(id), id_parts(id, '2020-01-01 00:00:00+00', 0, 22), id_parts(id, shard_bits => 22, sequence_bits => 0),
        id_timestamp(id), id_shard(id), id_sequence(id), id_lower_bound(id_timestamp(id)))),
    ('text', concat_ws(' ', id_to_text(id), id_from_text(id_to_text(id)))),
    ('scattered', concat_ws(' ', scatter_digits(short, 3), gather_digits(scatter_digits(short, 3), 3),
        scatter_bits(short, 10), gather_bits(scatter_bits(short, 10), 10))),
    ('UUID', concat_ws(' ', v1, encode(uuid_send(v1), 'hex'), uuid_v1_timestamp(v1), uuid_v1_hundred_ns(v1), uuid_v1_clock_seq(v1),
        uuid_v1_node(v1), v6, encode(uuid_send(v6), 'hex'), uuid_v6_timestamp(v6), uuid_v6_hundred_ns(v6), uuid_v6_clock_seq(v6),
        uuid_v6_node(v6), uuid_v1_to_v6(v1), uuid_v6_to_v1(v6))),
    ('ObjectId', concat_ws(' ', objectid, objectid_timestamp(objectid)))) l (kind, line);
SELECT line FROM decoded WHERE n IN (1, 8004) ORDER BY n, kind COLLATE "C";
SELECT kind, count(line), md5(string_agg(line, E'\n' ORDER BY n)) FROM decoded GROUP BY kind ORDER BY kind COLLATE "C";
