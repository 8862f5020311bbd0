-- The database for sqlsmith: a table of boundaries, sequences in many states, and our functions a hundred times, so that
-- most of its choices are ours. It passes every argument; so there are also functions with the default layout, and
-- operators, which its conditions use. To be run by sqlsmith.sh, as a superuser with allow_system_table_mods.
CREATE EXTENSION shardid;

CREATE ROLE smith LOGIN;
GRANT USAGE ON SCHEMA public TO smith;

CREATE SEQUENCE generator;
CREATE SEQUENCE noted INCREMENT 10 CACHE 5;
CREATE SEQUENCE of_int AS int;
CREATE SEQUENCE downwards INCREMENT -1;
CREATE SEQUENCE forbidden;
CREATE UNLOGGED SEQUENCE unlogged;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO smith;
REVOKE ALL ON forbidden FROM smith;

CREATE TABLE photos (
    id bigint DEFAULT next_id(5) NOT NULL,
    other_id bigint DEFAULT next_id(6, 'generator'),
    number int,
    generator regclass,
    ts timestamptz,
    u uuid DEFAULT uuid_v1(),
    mac macaddr) PARTITION BY RANGE (id);
CREATE TABLE photos_before PARTITION OF photos FOR VALUES FROM (MINVALUE) TO (4000000000000000000);
CREATE TABLE photos_after PARTITION OF photos DEFAULT;
CREATE INDEX ON photos (id_timestamp(id), uuid_v1_timestamp(u));
CREATE VIEW seen AS SELECT p.id, p.u, i.* FROM photos p, id_parts(p.id) i;
GRANT ALL ON photos, seen TO smith;

INSERT INTO photos (number, generator, ts, u, mac)
SELECT * FROM unnest(
    '{0,1,-1,5,10,13,22,31,32,1024,2147483647,-2147483648}'::int[],
    '{shardid_seq,generator,noted,of_int,downwards,forbidden,unlogged,photos,seen,photos_id_timestamp_uuid_v1_timestamp_idx,0,
      4294967295}'::regclass[],
    '{-infinity,infinity,4714-11-24 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,1970-01-01 00:00:00+00,
      1582-10-15 00:00:00+00,2011-08-24 21:07:01.721+00,2081-05-01 00:00:00+00,5236-04-01 00:00:00+00,
      2026-01-01 00:00:00+00,NULL}'::timestamptz[],
    '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,c232ab00-9414-11ec-b3c8-9f6bdeced846,
      00000000-0000-1000-8000-000000000000,ffffffff-ffff-1fff-bfff-ffffffffffff}'::uuid[],
    '{44:88:99:36:57:32,00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'::macaddr[]);

CREATE FUNCTION draw(number int) RETURNS bigint LANGUAGE sql AS 'SELECT public.next_id(number & 8191)';
CREATE FUNCTION draw_from(generator regclass) RETURNS bigint LANGUAGE sql AS 'SELECT public.next_id(5, generator)';
CREATE FUNCTION settled(generator regclass) RETURNS bigint LANGUAGE sql AS 'SELECT public.settled_below(generator)';
CREATE FUNCTION shown(id bigint) RETURNS timestamptz LANGUAGE sql AS 'SELECT public.id_timestamp(id)';
CREATE FUNCTION is_after(id bigint, ts timestamptz) RETURNS bool LANGUAGE sql AS 'SELECT public.id_timestamp(id) > ts';
CREATE FUNCTION is_from(u uuid, mac macaddr) RETURNS bool LANGUAGE sql AS 'SELECT public.uuid_v1_node(u) = mac';
CREATE FUNCTION is_past(number int, id bigint) RETURNS bool LANGUAGE sql AS 'SELECT public.next_id(number & 8191) > id';
SELECT format('CREATE OPERATOR %s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)', '@' || repeat('#', n) || sign, l, r, f)
FROM generate_series(1, 50) n,
     (VALUES ('@', 'bigint', 'timestamptz', 'is_after'), ('|', 'uuid', 'macaddr', 'is_from'), ('&', 'int', 'bigint', 'is_past'))
         of_kind (sign, l, r, f) \gexec
-- sqlsmith 1.4 treats polymorphic types that it does not know as plain ones, and most of its statements
-- then fail only for that reason.
DELETE FROM pg_operator
WHERE EXISTS (SELECT FROM pg_type t WHERE t.typtype = 'p' AND t.oid IN (oprleft, oprright, oprresult));

SELECT format('CREATE SCHEMA copy_%1$s; GRANT USAGE ON SCHEMA copy_%1$s TO smith', n) FROM generate_series(1, 100) n \gexec
SELECT replace(pg_get_functiondef(oid), 'FUNCTION public.', format('FUNCTION copy_%s.', n))
FROM pg_proc, generate_series(1, 100) n WHERE pronamespace = 'public'::regnamespace ORDER BY n \gexec
