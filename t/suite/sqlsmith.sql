-- The database for sqlsmith: tables of boundaries, sequences in many states, and our functions a hundred
-- times, so that most of its choices are ours. It passes every argument; so there are also functions with
-- the default layout. To be run by sqlsmith.sh, as a superuser with allow_system_table_mods.
CREATE EXTENSION shardid;

CREATE ROLE smith LOGIN;
GRANT USAGE ON SCHEMA public TO smith;

CREATE SEQUENCE generator_1;
CREATE SEQUENCE generator_2 INCREMENT 10 CACHE 5;
CREATE SEQUENCE of_int AS int;
CREATE SEQUENCE downwards INCREMENT -1;
CREATE SEQUENCE forbidden;
CREATE UNLOGGED SEQUENCE unlogged;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO smith;
REVOKE ALL ON forbidden FROM smith;

CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT next_id(5),
    other_id bigint DEFAULT next_id(6, 'generator_1'),
    number int,
    generator regclass,
    ts timestamptz,
    u uuid,
    mac macaddr);
CREATE TABLE parts (
    id bigint DEFAULT next_id(7, 'generator_2') NOT NULL,
    u uuid DEFAULT uuid_v1_from(clock_timestamp(), 5, '44:88:99:36:57:32')) PARTITION BY RANGE (id);
CREATE TABLE parts_before PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (4000000000000000000);
CREATE TABLE parts_after PARTITION OF parts DEFAULT;
CREATE INDEX ON photos (id_timestamp(id));
CREATE INDEX ON photos (uuid_v1_timestamp(u));
CREATE VIEW seen AS SELECT p.id, p.u, i.* FROM photos p, id_parts(p.id) i;
GRANT ALL ON photos, parts, seen TO smith;

INSERT INTO photos (number, generator, ts, u, mac)
SELECT * FROM unnest(
    '{0,1,-1,5,10,13,22,31,32,1024,2147483647,-2147483648}'::int[],
    '{shardid_seq,generator_1,generator_2,of_int,downwards,forbidden,unlogged,photos,seen,photos_pkey,0,4294967295}'::regclass[],
    '{-infinity,infinity,4714-11-24 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,1970-01-01 00:00:00+00,
      1582-10-15 00:00:00+00,2011-08-24 21:07:01.721+00,2010-11-04 01:42:54.657+00,2081-05-01 00:00:00+00,
      5236-04-01 00:00:00+00,2026-01-01 00:00:00+00,NULL}'::timestamptz[],
    '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,c232ab00-9414-11ec-b3c8-9f6bdeced846,
      00000000-0000-1000-8000-000000000000,ffffffff-ffff-1fff-bfff-ffffffffffff}'::uuid[],
    '{44:88:99:36:57:32,00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'::macaddr[]);
INSERT INTO parts DEFAULT VALUES;

CREATE FUNCTION draw(shard int) RETURNS bigint LANGUAGE sql AS 'SELECT public.next_id(shard)';
CREATE FUNCTION draw_one(number int) RETURNS bigint LANGUAGE sql AS 'SELECT public.next_id(number & 8191)';
CREATE FUNCTION draw_from(generator regclass) RETURNS bigint LANGUAGE sql AS 'SELECT public.next_id(5, generator)';
CREATE FUNCTION shown(id bigint) RETURNS timestamptz LANGUAGE sql AS 'SELECT public.id_timestamp(id)';
CREATE FUNCTION bound(ts timestamptz) RETURNS bigint LANGUAGE sql AS 'SELECT public.id_lower_bound(ts)';

-- sqlsmith's conditions use operators.
CREATE FUNCTION is_after(id bigint, ts timestamptz) RETURNS bool LANGUAGE sql AS 'SELECT public.id_timestamp(id) > ts';
CREATE FUNCTION is_from(u uuid, mac macaddr) RETURNS bool LANGUAGE sql AS 'SELECT public.uuid_v1_node(u) = mac';
CREATE FUNCTION is_past(number int, id bigint) RETURNS bool LANGUAGE sql AS 'SELECT public.next_id(number & 8191) > id';
DO $$
BEGIN
    FOR n IN 1 .. 50 LOOP
        EXECUTE format('CREATE OPERATOR %s (LEFTARG = bigint, RIGHTARG = timestamptz, FUNCTION = is_after)',
                       '@' || repeat('#', n));
        EXECUTE format('CREATE OPERATOR %s (LEFTARG = uuid, RIGHTARG = macaddr, FUNCTION = is_from)',
                       '#' || repeat('@', n));
        EXECUTE format('CREATE OPERATOR %s (LEFTARG = int, RIGHTARG = bigint, FUNCTION = is_past)',
                       '@@' || repeat('#', n));
    END LOOP;
END
$$;
-- sqlsmith 1.4 treats polymorphic types that it does not know as plain ones, and most of its statements
-- then fail only for that reason.
DELETE FROM pg_operator
WHERE EXISTS (SELECT FROM pg_type t WHERE t.typtype = 'p' AND t.oid IN (oprleft, oprright, oprresult));

CREATE FUNCTION copy_functions(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    definition text;
BEGIN
    EXECUTE format('CREATE SCHEMA %1$I; GRANT USAGE ON SCHEMA %1$I TO smith', target);
    FOR definition IN
        SELECT pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname <> 'copy_functions'
    LOOP
        EXECUTE replace(definition, 'FUNCTION public.', format('FUNCTION %I.', target));
    END LOOP;
END
$$;
SELECT copy_functions(format('copy_%s', n)) FROM generate_series(1, 100) n;
