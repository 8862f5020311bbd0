-- raise_generator moves a generator forward past the millisecond of an id, and never back.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none
CREATE ROLE regress_shardid_app;

\echo '-- Ids of several shards in the highest id''s millisecond: none is repeated, and all later ids are above.'
CREATE SEQUENCE original;
CREATE SEQUENCE copy;
CREATE TABLE ids AS SELECT next_id(1 + n % 5, 'original') AS id FROM generate_series(1, 3000) n;
SELECT max(id) AS highest FROM ids \gset
SELECT raise_generator('copy', :highest) AS first \gset
SELECT id_timestamp(:first) - id_timestamp(:highest), id_shard(:first), id_sequence(:first);
SELECT count(*) FILTER (WHERE id < :first), count(*) FILTER (WHERE id = :first) <= 1, count(*) - count(DISTINCT id)
FROM (SELECT next_id(1 + n % 5, 'copy') AS id FROM generate_series(1, 3000) n) s;

\echo -- Never back: neither to an older id nor to one of its own. The returned id is the smallest possible next id.
SELECT last_value FROM copy \gset
SELECT raise_generator('copy', id_lower_bound('2020-01-01 00:00:00+00')) > :highest;
SELECT raise_generator('copy', 0) > :highest;
SELECT last_value = :last_value FROM copy;
SELECT raise_generator('copy', 0) <= next_id(0, 'copy');
\echo -- A generator that setval has set ahead, with is_called false.
SELECT setval('copy', last_value + 100000, false) AS ahead FROM copy \gset
SELECT raise_generator('copy', :highest) IS NOT NULL;
SELECT last_value = :ahead FROM copy;

\echo -- Ahead of the clock, within max_lead: ids continue from there.
CREATE SEQUENCE ahead;
SELECT id_lower_bound(clock_timestamp() + interval '1 hour') AS future \gset
SELECT raise_generator('ahead', :future) = :future + (1 << 23);
SELECT next_id(7, 'ahead') > :future + (1 << 23) - 1, next_id(0, 'ahead') > :future + (1 << 23);
SELECT regexp_replace(try('SELECT raise_generator(''ahead'', id_lower_bound(clock_timestamp() + interval ''2 days''))'),
                      '\d+ ms ahead', 'MANY ms ahead');
SELECT lead BETWEEN '30 min' AND '61 min' FROM id_generator_status('ahead');
SET shardid.max_lead = '30 min';
SELECT left(try('SELECT raise_generator(''ahead'', 5)'), 8), left(try('SELECT next_id(1, ''ahead'')'), 5);
RESET shardid.max_lead;

\echo -- Negative ids are later than all positive ones.
CREATE SEQUENCE negative;
SELECT date_trunc('second', clock_timestamp()) - interval '1 ms' * (1::bigint << 40) AS epoch \gset
SET client_min_messages = error;
SELECT raise_generator('negative', -9223372036854775808, :'epoch') = -9223372036854775808 + (1 << 23);
SELECT next_id(0, 'negative', :'epoch') < 0;
SELECT raise_generator('negative', 9223372036854775807, :'epoch') < 0;
RESET client_min_messages;

\echo -- It binds the layout, and refuses another one.
CREATE SEQUENCE bound;
-- Only in the extension:
\echo -- Only in the extension:
SELECT raise_generator('bound', 5, shard_bits => 12) = (1 << 22);
SELECT left(try('SELECT next_id(1, ''bound'')'), 5), left(try('SELECT raise_generator(''bound'', 5)'), 5);
SELECT next_id(1, 'bound', shard_bits => 12) IS NOT NULL;
\echo -- In both versions:
-- In both versions:

\echo '-- A plain sequence in use, as that of Instagram''s function, stays above its values.'
CREATE SEQUENCE plain;
SELECT setval('plain', 9000000000000);
SELECT raise_generator('plain', 5) = ((9000000000001 >> 10) << 23) + (9000000000001 & 1023);
SELECT last_value FROM plain;

\echo -- A generator whose layout is unknown, as after a dump, is not bound to a layout in which it has ended or
\echo -- is too far ahead.
CREATE SEQUENCE restored;
SELECT setval('restored', last_value) IS NOT NULL FROM original;
SELECT left(try('SELECT raise_generator(''restored'', 1, shard_bits => 31, sequence_bits => 0)'), 5),
       left(try('SELECT raise_generator(''restored'', 1, shard_bits => 13, sequence_bits => 8)'), 5);
SELECT next_id(1, 'restored') IS NOT NULL;

\echo -- The last millisecond of the layout has none after it.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$raise_generator('plain', -1)$$,
    $$raise_generator('plain', 5, shard_bits => 40)$$]) call;
SELECT left(try('SELECT raise_generator(''ids'', 5)'), 5), raise_generator('plain', NULL) IS NULL;

\echo -- It needs UPDATE, not USAGE, and no read-only transaction.
GRANT USAGE ON SEQUENCE original TO regress_shardid_app;
SET ROLE regress_shardid_app;
-- Only in the extension:
\echo -- Only in the extension:
SELECT try('SELECT raise_generator(''original'', 5)');
\echo -- In both versions:
-- In both versions:
RESET ROLE;
GRANT UPDATE ON SEQUENCE original TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT try('SELECT raise_generator(''original'', 5)');
RESET ROLE;
BEGIN READ ONLY;
SELECT raise_generator('original', 5);
ROLLBACK;

\echo -- Like setval, it is not rolled back; and storage that a rollback restores knows it as well.
BEGIN;
SELECT raise_generator('original', :future) IS NOT NULL;
-- Only in the extension:
\echo -- Only in the extension:
ALTER SEQUENCE copy RESTART;
SELECT raise_generator('copy', :future) IS NOT NULL;
\echo -- In both versions:
-- In both versions:
ROLLBACK;
SELECT next_id(1, 'original') > :future;
-- Only in the extension:
\echo -- Only in the extension:
SELECT next_id(1, 'copy') > :future;
\echo -- In both versions:
-- In both versions:
CREATE TEMPORARY SEQUENCE temporary;
SELECT raise_generator('temporary', :future) IS NOT NULL, next_id(1, 'temporary') > :future;

DROP TABLE ids;
DROP SEQUENCE original, copy, ahead, negative, bound, plain, restored;
DROP ROLE regress_shardid_app;
