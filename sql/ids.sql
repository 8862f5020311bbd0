-- Drawing ids: formula, defaults, column DEFAULT, setting, NULL, order.
\set ECHO none
\a \t on

\echo '-- The formula: milliseconds since Instagram''s epoch << 23 | shard << 10 | sequence.'
SELECT clock_timestamp() AS before \gset
SELECT next_id(5) AS id \gset
SELECT clock_timestamp() AS after \gset
SELECT pg_typeof(:id) AS type,
       (:id >> 10) & 8191 AS shard,
       (:id >> 23) + 1314220021721 BETWEEN floor(extract(epoch FROM :'before'::timestamptz) * 1000)
                                       AND floor(extract(epoch FROM :'after'::timestamptz) * 1000)
           AS time_is_the_clocks;

\echo -- The generator remembers the id without its shard bits.
SELECT last_value = ((:id >> 23) << 10 | (:id & 1023)) AS remembered, is_called FROM shardid_seq;

\echo -- Every argument, by position and by name.
CREATE SEQUENCE photos_id_seq;
SELECT id_shard(next_id(0)) AS lowest, id_shard(next_id(8191)) AS highest;
SELECT id_shard(next_id(7, 'photos_id_seq')) AS other_generator;
SELECT id_shard(next_id(3, 'photos_id_seq', '2011-08-24 21:07:01.721+00', 13, 10)) AS all_given,
       id_shard(next_id(shard => 4, generator => 'photos_id_seq', epoch => '2011-08-24 21:07:01.721+00',
                        shard_bits => 13, sequence_bits => 10)) AS all_named;

\echo -- Two generators are independent.
SELECT (SELECT last_value FROM photos_id_seq) < (SELECT last_value FROM shardid_seq) AS photos_behind
FROM (SELECT next_id(1)) s;

\echo -- As a column default, which shows the layout.
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), name text);
INSERT INTO photos (name) SELECT 'photo ' || g FROM generate_series(1, 5000) g;
INSERT INTO photos VALUES (DEFAULT, 'last') RETURNING id_shard(id);
SELECT count(*), count(DISTINCT id), max(id) = max(id) FILTER (WHERE name = 'last') AS last_is_largest FROM photos;
CREATE TABLE tweets (id bigint PRIMARY KEY DEFAULT
    next_id(5, shard_bits => 10, sequence_bits => 12, epoch => '2010-11-04 01:42:54.657+00'));
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('photos'::regclass, 'tweets'::regclass) ORDER BY adrelid;

\echo -- In the order of the calls, ids increase; each millisecond continues from the last number.
SELECT count(*) FILTER (WHERE id <= previous) AS not_increasing,
       count(*) FILTER (WHERE id_timestamp(id) > id_timestamp(previous)
                          AND id_sequence(id) <> (id_sequence(previous) + 1) % 256)
           AS not_going_on,
       count(*) FILTER (WHERE id_timestamp(id) = id_timestamp(previous)
                          AND id_sequence(id) <> id_sequence(previous) + 1) AS not_by_one
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous
      FROM (SELECT next_id(5) AS id, generate_series(1, 20000) AS n) s) s;

\echo -- The shard from the setting.
-- Only in the extension:
\echo -- Only in the extension:
SHOW shardid.shard_id;
\echo -- In both versions:
-- In both versions:
SELECT next_id();
SET shardid.shard_id = 42;
SELECT id_shard(next_id()) AS from_setting, id_shard(next_id(generator => 'photos_id_seq')) AS with_generator;
SELECT id_shard(next_id('photos_id_seq'::regclass, '2011-08-24 21:07:01.721+00', 13, 10)) AS all_given,
       id_shard(next_id(7)) AS argument_wins;
CREATE TABLE settings_default (id bigint DEFAULT next_id());
INSERT INTO settings_default DEFAULT VALUES;
SET shardid.shard_id = 43;
INSERT INTO settings_default DEFAULT VALUES;
SELECT id_shard(id) FROM settings_default ORDER BY id;
RESET shardid.shard_id;
SELECT next_id();
ALTER DATABASE :DBNAME SET shardid.shard_id = 44;
\c
SELECT id_shard(next_id()) AS from_database;
ALTER DATABASE :DBNAME RESET shardid.shard_id;
\c
SELECT id_shard(0) AS loads_the_library;
-- Only in the extension:
\echo -- Only in the extension:
SHOW shardid.max_lead;
SET shardid.max_lead = '730d';
SHOW shardid.max_lead;
\echo -- as the message writes it, in milliseconds
SET shardid.max_lead = 3456000000;
SHOW shardid.max_lead;
SHOW shardid.max_borrow;
SET shardid.max_borrow = 90000;
SHOW shardid.max_borrow;
\set VERBOSITY sqlstate
SET shardid.max_lead = '100000001d';
SET shardid.max_lead = -1;
SET shardid.max_borrow = '25d';
SET shardid.max_borrow = -1;
\set VERBOSITY default
RESET shardid.max_lead;
RESET shardid.max_borrow;
SET shardid.shard_id = -2;
SET shardid.shard = 5;
\echo -- In both versions:
-- In both versions:

\echo '-- NULL in, NULL out; a NULL shard then meets the column''s NOT NULL.'
SELECT num_nonnulls(next_id(NULL::int), next_id(5, NULL), next_id(5, epoch => NULL), next_id(5, shard_bits => NULL),
                    next_id(5, sequence_bits => NULL)) AS of_null;
CREATE TABLE not_null (shard int, id bigint NOT NULL);
INSERT INTO not_null VALUES (NULL, next_id(NULL::int));

DROP TABLE photos, tweets, settings_default, not_null;
DROP SEQUENCE photos_id_seq;
