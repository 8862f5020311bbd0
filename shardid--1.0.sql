\echo Use "CREATE EXTENSION shardid" to load this file. \quit

-- This runs as superuser, in a schema into which another role may have put functions, operators and types of
-- any name. So everything that is not created here is named with its schema, and every literal has its type; int, bigint and
-- interval are the grammar's own. What is made here has no schema, since a relocatable extension's script is not told
-- it: making it fails where the name is taken, and only pg_catalog is searched before. t/rights/install.pl plants them.

-- The default generator.

CREATE SEQUENCE shardid_seq AS bigint;

COMMENT ON SEQUENCE shardid_seq IS
'default generator of next_id(): last_value holds the time and sequence number of the last id';

-- pg_dump then carries its position, so that ids continue to increase in a restored copy.
SELECT pg_catalog.pg_extension_config_dump('shardid_seq'::pg_catalog.regclass, ''::pg_catalog.text);

-- A trusted extension's objects belong to the bootstrap superuser, regardless of the role that installs it. The sequences
-- belong to the database's owner instead, also in a restored copy. Nothing is granted here: what the owner grants, a dump
-- restores as any role, but what another grantor has granted, as that one alone.
ALTER SEQUENCE shardid_seq OWNER TO pg_database_owner;

-- Called by the planner, for the functions that generate ids. SQL cannot call it, as no value has the type internal,
-- and only superusers can create a function with such an argument.

CREATE FUNCTION shardid_support(pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'shardid_support'
LANGUAGE C STABLE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION shardid_support(pg_catalog.internal) IS
'lets COPY insert rows with ids by DEFAULT in batches; not callable from SQL';

-- Generating ids.

CREATE FUNCTION next_id(
    shard int,
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_next_id'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SUPPORT shardid_support;

COMMENT ON FUNCTION next_id(int, pg_catalog.regclass, pg_catalog.timestamptz, int, int) IS
'generates a new id for the shard, greater than all earlier ones of this generator and shard';

CREATE FUNCTION next_id(
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_next_id_of_set_shard'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SUPPORT shardid_support;

COMMENT ON FUNCTION next_id(pg_catalog.regclass, pg_catalog.timestamptz, int, int) IS
'generates a new id for the shard that the setting shardid.shard_id names';

-- Decoding ids.

CREATE FUNCTION id_timestamp(
    id bigint,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_id_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_timestamp(bigint, pg_catalog.timestamptz, int, int) IS
'the time at which the id was generated, in whole milliseconds';

CREATE FUNCTION id_shard(
    id bigint,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_id_shard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_shard(bigint, int, int) IS
'the shard for which the id was generated';

CREATE FUNCTION id_sequence(
    id bigint,
    sequence_bits int DEFAULT 10)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_id_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_sequence(bigint, int) IS
'the sequence number of the id, which differs from those of its generator''s other ids of the same millisecond';

CREATE FUNCTION id_parts(
    id bigint,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    OUT ts pg_catalog.timestamptz,
    OUT shard int,
    OUT sequence int)
AS 'MODULE_PATHNAME', 'shardid_id_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_parts(bigint, pg_catalog.timestamptz, int, int) IS
'the time, shard and sequence number of the id';

CREATE FUNCTION id_from_parts(
    ts pg_catalog.timestamptz,
    shard int,
    sequence int,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_id_from_parts'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_from_parts(pg_catalog.timestamptz, int, int, pg_catalog.timestamptz, int, int) IS
'the id with this time, in whole milliseconds, shard and sequence number';

CREATE FUNCTION id_lower_bound(
    ts pg_catalog.timestamptz,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_id_lower_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_lower_bound(pg_catalog.timestamptz, pg_catalog.timestamptz, int, int) IS
'the smallest id generated at this time or later, for range conditions and partition bounds';

-- UUID version 1.

CREATE FUNCTION uuid_v1_from(
    ts pg_catalog.timestamptz,
    clkseq int,
    mac pg_catalog.macaddr,
    hundred_ns int DEFAULT 0)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_from'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_from(pg_catalog.timestamptz, int, pg_catalog.macaddr, int) IS
'builds the UUID of version 1 with this time, clock sequence and node';

-- LEAKPROOF, so that their indexes serve queries under row security: they return NULL, and raise nothing.

CREATE FUNCTION uuid_v1_timestamp(pg_catalog.uuid)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_timestamp'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_timestamp(pg_catalog.uuid) IS
'the time in a UUID of version 1, in whole microseconds; NULL for any other UUID';

CREATE FUNCTION uuid_v1_hundred_ns(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_hundred_ns'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_hundred_ns(pg_catalog.uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 1; NULL for any other UUID';

CREATE FUNCTION uuid_v1_clock_seq(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_clock_seq'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_clock_seq(pg_catalog.uuid) IS
'the clock sequence in a UUID of version 1; NULL for any other UUID';

CREATE FUNCTION uuid_v1_node(pg_catalog.uuid)
RETURNS pg_catalog.macaddr
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_node'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_node(pg_catalog.uuid) IS
'the node, usually a MAC address, in a UUID of version 1; NULL for any other UUID';

-- Generating many ids.

CREATE FUNCTION next_ids(
    shard int,
    count int,
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'shardid_next_ids'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 1000;

COMMENT ON FUNCTION next_ids(int, int, pg_catalog.regclass, pg_catalog.timestamptz, int, int) IS
'generates count new ids for the shard, each greater than the one before';

-- Monitoring a generator.

CREATE FUNCTION id_generator_status(
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    OUT last_ts pg_catalog.timestamptz,
    OUT last_sequence int,
    OUT lead interval,
    OUT logged_to pg_catalog.timestamptz,
    OUT ids_until_negative bigint,
    OUT negative_at pg_catalog.timestamptz,
    OUT ids_until_end bigint,
    OUT end_at pg_catalog.timestamptz,
    OUT settled_before pg_catalog.timestamptz,
    OUT held_back_by int)
AS 'MODULE_PATHNAME', 'shardid_id_generator_status'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION id_generator_status(pg_catalog.regclass, pg_catalog.timestamptz, int, int) IS
'shows the generator''s last id, its lead over the clock, how many ids are left, and what settled_below waits for';

CREATE FUNCTION id_generator_layout(
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    OUT epoch pg_catalog.timestamptz,
    OUT shard_bits int,
    OUT sequence_bits int)
AS 'MODULE_PATHNAME', 'shardid_id_generator_layout'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION id_generator_layout(pg_catalog.regclass) IS
'shows the layout of the generator''s ids; NULL for a sequence that has generated none';

CREATE FUNCTION shardid_settled_below_support(pg_catalog.internal)
RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'shardid_settled_below_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION shardid_settled_below_support(pg_catalog.internal) IS
'refuses settled_below in statements that read a table; for the planner only';

CREATE FUNCTION settled_below(
    generator pg_catalog.regclass,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_settled_below'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SUPPORT shardid_settled_below_support;

COMMENT ON FUNCTION settled_below(pg_catalog.regclass, pg_catalog.timestamptz, int, int) IS
'returns an id below which no row of the generator can become visible any more';

CREATE FUNCTION raise_generator(
    generator pg_catalog.regclass,
    id bigint,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_raise_generator'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION raise_generator(pg_catalog.regclass, bigint, pg_catalog.timestamptz, int, int) IS
'advances the generator past the millisecond of the id, never back, and returns the smallest possible next id';

-- Which server and database this is. Its identity is public; its directory and machine are not.

CREATE FUNCTION shard_fingerprint(
    OUT system_identifier bigint,
    OUT timeline int,
    OUT database pg_catalog.oid,
    OUT extension pg_catalog.oid,
    OUT started pg_catalog.timestamptz,
    OUT place pg_catalog.text,
    OUT data_directory pg_catalog.text,
    OUT machine pg_catalog.text)
AS 'MODULE_PATHNAME', 'shardid_shard_fingerprint'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION shard_fingerprint() IS
'identifies the server and database, so that two that generate ids can be compared';

-- Many values of a plain sequence.

CREATE FUNCTION nextval_range(
    seq pg_catalog.regclass,
    count bigint,
    OUT first bigint,
    OUT last bigint)
AS 'MODULE_PATHNAME', 'shardid_nextval_range'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION nextval_range(pg_catalog.regclass, bigint) IS
'advances the sequence by count values in one step, as count calls of nextval would';

-- UUID version 6.

CREATE FUNCTION uuid_v6_from(
    ts pg_catalog.timestamptz,
    clkseq int,
    mac pg_catalog.macaddr,
    hundred_ns int DEFAULT 0)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_from'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_from(pg_catalog.timestamptz, int, pg_catalog.macaddr, int) IS
'builds the UUID of version 6, which sorts by time, with this time, clock sequence and node';

CREATE FUNCTION uuid_v6_timestamp(pg_catalog.uuid)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_timestamp'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_timestamp(pg_catalog.uuid) IS
'the time in a UUID of version 6, in whole microseconds; NULL for any other UUID';

CREATE FUNCTION uuid_v6_hundred_ns(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_hundred_ns'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_hundred_ns(pg_catalog.uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v6_clock_seq(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_clock_seq'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_clock_seq(pg_catalog.uuid) IS
'the clock sequence in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v6_node(pg_catalog.uuid)
RETURNS pg_catalog.macaddr
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_node'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_node(pg_catalog.uuid) IS
'the node in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v1_to_v6(pg_catalog.uuid)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_to_v6'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_to_v6(pg_catalog.uuid) IS
'a UUID of version 1 as version 6, which sorts by time; NULL for any other UUID';

CREATE FUNCTION uuid_v6_to_v1(pg_catalog.uuid)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_to_v1'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_to_v1(pg_catalog.uuid) IS
'a UUID of version 6 as version 1; NULL for any other UUID';

-- UUID version 7.

CREATE FUNCTION uuid_v7_lower_bound(ts pg_catalog.timestamptz)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v7_lower_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v7_lower_bound(pg_catalog.timestamptz) IS
'the smallest UUID of version 7 of this time''s millisecond, for range conditions and partition bounds';

CREATE FUNCTION uuid_v7_timestamp(pg_catalog.uuid)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_uuid_v7_timestamp'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v7_timestamp(pg_catalog.uuid) IS
'the time in a UUID of version 7, in whole milliseconds; NULL for any other UUID';

-- UUIDs of version 6 as bounds, and of versions 6 and 7 for tools that pass them as text.

CREATE FUNCTION uuid_v6_lower_bound(ts pg_catalog.timestamptz)
RETURNS pg_catalog.uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v6_from(ts, 0, '00:00:00:00:00:00'::pg_catalog.macaddr, 0);

COMMENT ON FUNCTION uuid_v6_lower_bound(pg_catalog.timestamptz) IS
'the smallest UUID of version 6 generated at this time or later, for range conditions and partition bounds';

CREATE FUNCTION uuid_v6_timestamp(pg_catalog.text)
RETURNS pg_catalog.timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v6_timestamp($1::pg_catalog.uuid);

COMMENT ON FUNCTION uuid_v6_timestamp(pg_catalog.text) IS
'the time in a UUID of version 6 that is passed as text; NULL for any other UUID';

CREATE FUNCTION uuid_v7_timestamp(pg_catalog.text)
RETURNS pg_catalog.timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v7_timestamp($1::pg_catalog.uuid);

COMMENT ON FUNCTION uuid_v7_timestamp(pg_catalog.text) IS
'the time in a UUID of version 7 that is passed as text; NULL for any other UUID';

-- Scattering ids.

CREATE FUNCTION scatter_digits(
    id bigint,
    digits int DEFAULT 1)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_scatter_digits'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION scatter_digits(bigint, int) IS
'the id with its last decimal digits moved behind the first, so that consecutive ids lie far apart';

CREATE FUNCTION gather_digits(
    scattered bigint,
    digits int DEFAULT 1)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_gather_digits'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION gather_digits(bigint, int) IS
'the id that scatter_digits scattered';

CREATE FUNCTION scatter_bits(
    id bigint,
    bits int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_scatter_bits'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION scatter_bits(bigint, int) IS
'the id with its low bits moved to below the sign, so that consecutive ids lie far apart';

CREATE FUNCTION gather_bits(
    scattered bigint,
    bits int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_gather_bits'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION gather_bits(bigint, int) IS
'the id that scatter_bits scattered';

-- Ids as short text.

CREATE FUNCTION id_to_text(id bigint)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'shardid_id_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_to_text(bigint) IS
'the id as 13 characters of Crockford''s base 32, which sort as the ids do under COLLATE "C"';

CREATE FUNCTION id_from_text(pg_catalog.text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_id_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION id_from_text(pg_catalog.text) IS
'the id that id_to_text wrote; reads upper and lower case, O as 0, I and L as 1';

-- Generating UUIDs of version 1 and ObjectIds, each from a sequence of its own.

CREATE SEQUENCE shardid_uuid_seq AS bigint;

COMMENT ON SEQUENCE shardid_uuid_seq IS
'generator of uuid_v1(): last_value is the time of the last UUID in 100 ns since 1582-10-15';

CREATE SEQUENCE shardid_objectid_seq AS bigint;

COMMENT ON SEQUENCE shardid_objectid_seq IS
'generator of objectid(): last_value holds time and counter of the last ObjectId';

SELECT pg_catalog.pg_extension_config_dump('shardid_uuid_seq'::pg_catalog.regclass, ''::pg_catalog.text);
SELECT pg_catalog.pg_extension_config_dump('shardid_objectid_seq'::pg_catalog.regclass, ''::pg_catalog.text);
ALTER SEQUENCE shardid_uuid_seq OWNER TO pg_database_owner;
ALTER SEQUENCE shardid_objectid_seq OWNER TO pg_database_owner;

CREATE FUNCTION uuid_v1()
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v1'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SUPPORT shardid_support;

COMMENT ON FUNCTION uuid_v1() IS
'generates a UUID of version 1: unique, and later than all earlier ones of this database';

CREATE FUNCTION objectid_from(
    ts pg_catalog.timestamptz,
    machine int,
    pid int,
    counter int)
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'shardid_objectid_from'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION objectid_from(pg_catalog.timestamptz, int, int, int) IS
'builds MongoDB''s ObjectId of this second, machine, process and counter';

CREATE FUNCTION objectid_timestamp(pg_catalog.bytea)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_objectid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION objectid_timestamp(pg_catalog.bytea) IS
'the time in an ObjectId, in whole seconds';

CREATE FUNCTION objectid()
RETURNS pg_catalog.bytea
AS 'MODULE_PATHNAME', 'shardid_objectid'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SUPPORT shardid_support;

COMMENT ON FUNCTION objectid() IS
'generates an ObjectId: unique, and greater than all earlier ones of this database since the last renew_identity()';

CREATE FUNCTION renew_identity()
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_renew_identity'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION renew_identity() IS
'gives the database another node for uuid_v1() and other bytes for objectid(); run it in a copy of a server that runs alongside the original';

-- The random bits are kept in the storage of the two sequences, which a dump leaves out: so a restored copy
-- generates its own. Without arguments the call means this function; if another function of this name has only
-- arguments with defaults, the call is ambiguous.
SELECT renew_identity();

-- Default privileges may have given or taken rights on what is new: it gets those that it has without them.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_schema pg_catalog.text;
    others pg_catalog.text;
    change pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR change IN
        SELECT format('REVOKE ALL ON %1$s FROM PUBLIC%2$s CASCADE; GRANT ALL ON %1$s TO %3$s', o.name,
                      (SELECT string_agg(', ' || a.grantee::regrole, '') FROM aclexplode(o.acl) a WHERE a.grantee <> 0), o.grantees)
        FROM (SELECT tableoid, oid, pronamespace, 'ROUTINE ' || oid::regprocedure, proacl, proowner::regrole || ', PUBLIC' FROM pg_proc
              UNION ALL SELECT tableoid, oid, typnamespace, 'TYPE ' || oid::regtype, typacl, typowner::regrole || ', PUBLIC' FROM pg_type
              UNION ALL SELECT tableoid, oid, oid, 'SCHEMA ' || oid::regnamespace, nspacl, nspowner::regrole::text FROM pg_namespace
              UNION ALL SELECT tableoid, oid, relnamespace, CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass,
                  NULLIF(relacl || ARRAY(SELECT unnest(attacl) FROM pg_attribute WHERE attrelid = c.oid), '{}'),
                  relowner::regrole::text FROM pg_class c) o (classid, objid, schema, name, acl, grantees)
        WHERE o.acl IS NOT NULL AND (o.classid, o.objid) IN (
            SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'shardid'
            WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')
    LOOP
        EXECUTE change;
    END LOOP;
    SELECT n.nspname, string_agg(CASE r.role WHEN 0 THEN 'PUBLIC' ELSE r.role::regrole::text END, ', ' ORDER BY r.role) INTO own_schema, others
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace JOIN pg_database d ON d.datname = current_database(),
        LATERAL (SELECT n.nspowner UNION SELECT a.grantee FROM aclexplode(n.nspacl) a WHERE a.privilege_type = 'CREATE') r (role)
    WHERE e.extname = 'shardid' AND r.role <> 'pg_database_owner'::regrole
        AND NOT pg_has_role(r.role, e.extowner, 'MEMBER') AND NOT pg_has_role(r.role, d.datdba, 'MEMBER') GROUP BY n.nspname;
    IF FOUND THEN
        RAISE WARNING USING MESSAGE = format('other roles can create functions in schema "%s"', own_schema),
            DETAIL = format('A call of a function there can mean one that these roles create: %s.', others),
            HINT = 'If you do not trust them, run DROP EXTENSION shardid, and use a schema in which only you can create.';
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;
