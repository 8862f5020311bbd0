-- For the contenders: generators, and a table for each way to generate its id.
CREATE EXTENSION shardid;
CREATE EXTENSION "uuid-ossp";
\ir baseline.sql
CREATE SCHEMA portable;
SET search_path = portable;
\ir ../portable/shardid.sql
RESET search_path;

CREATE SEQUENCE plain;
CREATE SEQUENCE cached CACHE 100;
CREATE SEQUENCE roomy;
CREATE SEQUENCE in_ranges;
CREATE SEQUENCE set_on;

-- The index is not unique, so that duplicates can be counted afterwards.
CREATE TABLE no_id (id bigint DEFAULT 0, n int);
CREATE TABLE by_nextval (id bigint DEFAULT nextval('plain'), n int);
CREATE TABLE by_nextval_cache_100 (id bigint DEFAULT nextval('cached'), n int);
CREATE TABLE by_recipe (id bigint DEFAULT baseline.next_id(), n int);
CREATE TABLE by_next_id (id bigint DEFAULT next_id(), n int);
CREATE TABLE by_portable (id bigint DEFAULT portable.next_id(5), n int);
CREATE TABLE by_next_ids (id bigint, n int);
CREATE TABLE by_gen_random_uuid (id uuid DEFAULT gen_random_uuid(), n int);
CREATE TABLE taken_by_setval (first bigint, last bigint);
CREATE TABLE taken_by_nextval_range (first bigint, last bigint);
CREATE INDEX ON by_nextval (id);
CREATE INDEX ON by_nextval_cache_100 (id);
CREATE INDEX ON by_recipe (id);
CREATE INDEX ON by_next_id (id);
CREATE INDEX ON by_portable (id);
CREATE INDEX ON by_next_ids (id);
CREATE INDEX ON by_gen_random_uuid (id);
CREATE INDEX ON no_id (n);

-- The same with a primary key, as usual.
CREATE TABLE key_by_nextval (id bigint DEFAULT nextval('plain') PRIMARY KEY, n int);
CREATE TABLE key_by_next_id (id bigint DEFAULT next_id() PRIMARY KEY, n int);
CREATE TABLE key_by_gen_random_uuid (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, n int);

-- uuidv7(), which PostgreSQL has from 18 on.
SELECT count(*) > 0 AS has_uuidv7 FROM pg_proc WHERE proname = 'uuidv7' \gset
\if :has_uuidv7
CREATE TABLE by_uuidv7 (id uuid DEFAULT uuidv7(), n int);
CREATE INDEX ON by_uuidv7 (id);
CREATE TABLE key_by_uuidv7 (id uuid DEFAULT uuidv7() PRIMARY KEY, n int);
\endif

-- Arguments that are not constant: with constants a function would be computed once.
CREATE TABLE one_of_each (u uuid, u6 uuid, ts timestamptz, mac macaddr, id bigint, digits bigint, bits bigint,
                       short text, oid bytea);
INSERT INTO one_of_each
SELECT u, uuid_v1_to_v6(u), '2026-11-21 12:00:00.123456+00', '44:88:99:36:57:32', id, scatter_digits(id),
       scatter_bits(id, 5), id_to_text(id), '\x507f1f77bcf86cd799439011'
FROM (VALUES ('6b54058a-a413-11e6-b501-a0999b048337'::uuid, 4030000000000005127)) v (u, id);
VACUUM ANALYZE one_of_each;
