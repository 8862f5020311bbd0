-- Generated UUIDs of version 1.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo '-- Version 1 of the RFC''s variant, a multicast node, the time of now.'
SELECT substr(u::text, 15, 1) AS version, substr(u::text, 20, 1) IN ('8', '9', 'a', 'b') AS variant,
       get_bit(decode(replace(uuid_v1_node(u)::text, ':', ''), 'hex'), 0) AS multicast,
       uuid_v1_timestamp(u) BETWEEN statement_timestamp() AND clock_timestamp() AS now
FROM (SELECT uuid_v1() AS u OFFSET 0) s;

\echo -- Distinct, of one node and clock sequence, each later than the one before; as version 6 in this order.
CREATE TABLE made (n int GENERATED ALWAYS AS IDENTITY, u uuid DEFAULT uuid_v1());
INSERT INTO made SELECT FROM generate_series(1, 40000);
SELECT count(DISTINCT u), count(DISTINCT (uuid_v1_node(u), uuid_v1_clock_seq(u))) AS nodes FROM made;
SELECT count(*) AS not_later
FROM (SELECT uuid_v1_to_v6(u) <= lag(uuid_v1_to_v6(u)) OVER (ORDER BY n) AS back FROM made) s WHERE back;
\echo '-- The sequence''s last value is the timestamp of the last.'
SELECT last_value - (SELECT max((extract(epoch FROM uuid_v1_timestamp(u)) * 1000000)::bigint * 10
                                + uuid_v1_hundred_ns(u)) FROM made) AS since_1582_to_1970
FROM shardid_uuid_seq;

\echo -- Found with every search_path, also if another sequence has its name.
CREATE SCHEMA elsewhere;
CREATE SEQUENCE elsewhere.shardid_uuid_seq;
CREATE TEMPORARY SEQUENCE shardid_uuid_seq;
SET search_path = elsewhere;
SELECT public.uuid_v1_timestamp(public.uuid_v1()) >= statement_timestamp() AS now;
RESET search_path;
SELECT (SELECT is_called FROM pg_temp.shardid_uuid_seq), (SELECT is_called FROM elsewhere.shardid_uuid_seq);
DROP SCHEMA elsewhere CASCADE;
DROP SEQUENCE pg_temp.shardid_uuid_seq;
\echo -- It moves with the extension.
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
SELECT ids.uuid_v1_node(ids.uuid_v1()) = (SELECT ids.uuid_v1_node(u) FROM made LIMIT 1) AS same_node;
INSERT INTO made DEFAULT VALUES;
ALTER EXTENSION shardid SET SCHEMA public;
DROP SCHEMA ids;

\echo -- After a rollback and RESTART they are not repeated; RESTART results in another node, as every ALTER SEQUENCE with new
\echo -- storage does.
BEGIN;
SELECT uuid_v1() AS before \gset
ROLLBACK;
SELECT uuid_v1_to_v6(:'before') < uuid_v1_to_v6(uuid_v1()) AS later;
ALTER SEQUENCE shardid_uuid_seq RESTART;
SELECT uuid_v1() AS after \gset
SELECT uuid_v1_to_v6(:'before') < uuid_v1_to_v6(:'after') AS later,
       uuid_v1_node(:'before') <> uuid_v1_node(:'after') AS another_node;
BEGIN;
ALTER SEQUENCE shardid_uuid_seq CACHE 1;
SELECT uuid_v1_node(:'after') <> uuid_v1_node(uuid_v1()) AS another_node;
ROLLBACK;
\echo -- Moving or renaming the sequence keeps the node.
SELECT setval('shardid_uuid_seq', last_value) IS NOT NULL AS set, nextval('shardid_uuid_seq') IS NOT NULL AS drawn
FROM shardid_uuid_seq;
ALTER SEQUENCE shardid_uuid_seq OWNER TO CURRENT_USER;
SELECT uuid_v1_node(:'after') = uuid_v1_node(uuid_v1()) AS same_node;
\echo -- Created again, the extension has another; renew_identity() is in t/generator/uuid_v1.pl.
DROP TABLE made;
DROP EXTENSION shardid;
CREATE EXTENSION shardid;
SELECT uuid_v1_node(uuid_v1()) <> uuid_v1_node(:'after') AS another_node;

\echo -- Refused, with a HINT.
CREATE ROLE regress_shardid_uuid;
SET ROLE regress_shardid_uuid;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v1()$$, $$renew_identity()$$]) call;
RESET ROLE;
GRANT USAGE ON SEQUENCE shardid_uuid_seq TO regress_shardid_uuid;
SET ROLE regress_shardid_uuid;
SELECT uuid_v1() IS NOT NULL AS made;
RESET ROLE;
DROP OWNED BY regress_shardid_uuid;
DROP ROLE regress_shardid_uuid;
BEGIN READ ONLY;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$uuid_v1()$$, $$renew_identity()$$]) call;
ROLLBACK;
ALTER SEQUENCE shardid_uuid_seq MAXVALUE 1000000 RESTART;
SELECT try($$SELECT uuid_v1()$$);
ALTER SEQUENCE shardid_uuid_seq MAXVALUE 9223372036854775807 INCREMENT -1;
SELECT try($$SELECT uuid_v1()$$);
ALTER SEQUENCE shardid_uuid_seq NO MAXVALUE INCREMENT 1;
ALTER SEQUENCE shardid_uuid_seq SET UNLOGGED;
SELECT try($$SELECT uuid_v1()$$);
ALTER SEQUENCE shardid_uuid_seq SET LOGGED;
ALTER SEQUENCE shardid_uuid_seq RENAME TO renamed;
SELECT try($$SELECT uuid_v1()$$);
\echo -- Another sequence is not used, even if it has this name and the own one another schema.
CREATE SEQUENCE shardid_uuid_seq;
SELECT left(try('SELECT uuid_v1()'), 5);
CREATE SCHEMA elsewhere;
ALTER SEQUENCE renamed SET SCHEMA elsewhere;
ALTER SEQUENCE elsewhere.renamed RENAME TO shardid_uuid_seq;
SELECT uuid_v1() IS NOT NULL AS continues;
SELECT is_called FROM shardid_uuid_seq;
DROP SEQUENCE shardid_uuid_seq;
ALTER SEQUENCE elsewhere.shardid_uuid_seq SET SCHEMA public;
DROP SCHEMA elsewhere;
SELECT uuid_v1() IS NOT NULL AS continues;
SELECT setval('shardid_uuid_seq', 1152921504606846975);
SELECT regexp_replace(try('SELECT uuid_v1()'), '\d+ ms ahead', 'N ms ahead');
DROP EXTENSION shardid;
CREATE EXTENSION shardid;
