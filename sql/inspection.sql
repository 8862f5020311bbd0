-- Decoding ids, and id_lower_bound.
\a \t on

SELECT setseed(0.5);
CREATE TABLE samples AS
SELECT ((random() * 4294967295)::bigint << 32) | (random() * 4294967295)::bigint AS id
FROM generate_series(1, 8000);

-- The parts are those that shifts and masks compute.
SELECT count(*) FILTER (WHERE id_shard(id) <> ((id >> 10) & 8191)) AS shard,
       count(*) FILTER (WHERE id_sequence(id) <> (id & 1023)) AS sequence,
       count(*) FILTER (WHERE id_timestamp(id) <> '2011-08-24 21:07:01.721+00'::timestamptz
                              + interval '1 ms' * ((id >> 23) & ((1::bigint << 41) - 1))) AS ts,
       count(*) FILTER (WHERE id_parts(id) <> ROW(id_timestamp(id), id_shard(id), id_sequence(id)))
           AS parts
FROM samples;

-- id_from_parts is the inverse of id_parts in every layout, also if the time has microseconds.
SELECT shard_bits, sequence_bits, count(*) > 5000 AS enough,
       count(*) FILTER (WHERE id <> id_from_parts(p.ts + us * interval '1 us', p.shard, p.sequence, epoch, shard_bits,
                                                  sequence_bits)) AS lost
FROM samples, (VALUES ('2011-08-24 21:07:01.721+00', 13, 10), ('2010-11-04 01:42:54.657+00', 10, 12),
                      ('1582-10-15 00:00:00.001+00', 4, 8), ('2026-01-01 00:00:00+00', 0, 31),
                      ('2026-01-01 00:00:00+00', 31, 0), ('2026-01-01 00:00:00+00', 1, 31))
         l (since, shard_bits, sequence_bits),
     LATERAL (SELECT since::timestamptz) e (epoch), LATERAL id_parts(id, epoch, shard_bits, sequence_bits) p,
     LATERAL (VALUES ((id & 1023) % 1000)) u (us)
GROUP BY shard_bits, sequence_bits ORDER BY shard_bits, sequence_bits;

-- id_lower_bound(ts) is the smallest id whose time is ts or later: for all ids on one side of the
-- sign flip, id >= id_lower_bound(ts) exactly when id_timestamp(id) >= ts.
CREATE TABLE moments AS
SELECT id_timestamp(id) + us * interval '1 us' AS ts
FROM samples, (VALUES (0), (1), (-1), (500), (-500), (999), (1000), (-1000)) v (us)
WHERE id > 0 AND id_timestamp(id) BETWEEN '2012-01-01' AND '2046-01-01';
SELECT count(*) > 10000 AS enough FROM moments;
SELECT count(*) AS wrong
FROM (SELECT ts, row_number() OVER () FROM moments) m JOIN (SELECT id, row_number() OVER () FROM samples WHERE id > 0) s USING (row_number)
WHERE (id >= id_lower_bound(ts)) <> (id_timestamp(id) >= ts);
-- The ids around a bound, in any layout.
SELECT count(*) AS wrong
FROM moments m, (VALUES (13, 10), (10, 12), (0, 10), (4, 8), (0, 0)) l (shard_bits, sequence_bits),
     LATERAL (VALUES (-1), (0), (1), ((1::bigint << shard_bits + sequence_bits) - 1)) v (step),
     LATERAL (SELECT id_lower_bound(ts, '2010-11-04 01:42:54.657+00', shard_bits, sequence_bits) + step) i (id)
WHERE (step >= 0) <> (id_timestamp(id, '2010-11-04 01:42:54.657+00', shard_bits, sequence_bits) >= ts);

DROP TABLE samples, moments;
