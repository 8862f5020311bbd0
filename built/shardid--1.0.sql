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

CREATE FUNCTION uuid_v1_timestamp(pg_catalog.uuid)
RETURNS pg_catalog.timestamptz
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_timestamp(pg_catalog.uuid) IS
'the time in a UUID of version 1, in whole microseconds; NULL for any other UUID';

CREATE FUNCTION uuid_v1_hundred_ns(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_hundred_ns'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_hundred_ns(pg_catalog.uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 1; NULL for any other UUID';

CREATE FUNCTION uuid_v1_clock_seq(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_clock_seq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_clock_seq(pg_catalog.uuid) IS
'the clock sequence in a UUID of version 1; NULL for any other UUID';

CREATE FUNCTION uuid_v1_node(pg_catalog.uuid)
RETURNS pg_catalog.macaddr
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_node'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

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
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_timestamp(pg_catalog.uuid) IS
'the time in a UUID of version 6, in whole microseconds; NULL for any other UUID';

CREATE FUNCTION uuid_v6_hundred_ns(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_hundred_ns'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_hundred_ns(pg_catalog.uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v6_clock_seq(pg_catalog.uuid)
RETURNS int
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_clock_seq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_clock_seq(pg_catalog.uuid) IS
'the clock sequence in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v6_node(pg_catalog.uuid)
RETURNS pg_catalog.macaddr
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_node'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v6_node(pg_catalog.uuid) IS
'the node in a UUID of version 6; NULL for any other UUID';

CREATE FUNCTION uuid_v1_to_v6(pg_catalog.uuid)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v1_to_v6'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION uuid_v1_to_v6(pg_catalog.uuid) IS
'a UUID of version 1 as version 6, which sorts by time; NULL for any other UUID';

CREATE FUNCTION uuid_v6_to_v1(pg_catalog.uuid)
RETURNS pg_catalog.uuid
AS 'MODULE_PATHNAME', 'shardid_uuid_v6_to_v1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

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
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

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

-- What follows in the script that is installed is that of files of contrib/portable/: the Makefile puts it here.

-- Partitions by time on an id.
--
-- What depends on a table runs code of its owner's: planning computes constants in the expressions of its indexes, and so does ATTACH.
-- So nobody but the owner may ask for these commands.
--
-- The last argument tells where the functions are, wherever search_path leads: id_lower_bound, id_timestamp, and, for the procedure
-- below, this one. They are called by name, but with arguments of just their types, so that no other function of that name is meant.
--
-- A row without a command and without a step is an obstacle.

CREATE FUNCTION shardid_partition_steps(
    parent pg_catalog.regclass,
    every interval,
    ahead int,
    keep interval,
    since pg_catalog.timestamptz,
    epoch pg_catalog.timestamptz,
    shard_bits int,
    sequence_bits int,
    timezone pg_catalog.text,
    reports boolean,
    own pg_catalog.regprocedure[],
    OUT command pg_catalog.text,
    OUT step pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
SET standard_conforming_strings = on SET datestyle = 'ISO' SET intervalstyle = 'postgres' SET timezone = 'UTC' AS $$
DECLARE
    turn CONSTANT numeric := 9223372036854775808;       -- where ids become negative
    -- Names of partitions: year, and quarter, or week, or month, day and hour.
    named CONSTANT text := '_((?:19[7-9]|20\d|21\d)\d)(?:q([1-4])|w(0[1-9]|[1-4]\d|5[0-3])|(0[1-9]|1[0-2])'
                           '(?:(0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])?)?)?(?:_positive|_negative)?(?:_\d+)?$';
    present timestamptz := date_trunc('milliseconds', clock_timestamp());
    latest timestamptz := present;                      -- of the clock and the generator's last id
    oldest timestamptz;                                 -- of what is kept
    months int;
    days int;
    hours int;
    pattern text;                                       -- of the names
    of_parent record;
    key record;
    grants text;
    columns text;
    unlinking text;                                     -- foreign keys to it, without which rows can be moved
    linking text;
    rest regclass;                                      -- the default partition
    silencing text;                                     -- disables its triggers
    waking text;
    waking_clones text;                                 -- those of the partition, which are like its parent's
    in_rest bigint;
    parts record;
    part record;
    time_of text := format('SELECT %s((CASE WHEN $1 < 9223372036854775808 THEN $1 ELSE $1 - 18446744073709551616 END)::bigint, $2, $3, $4)',
                           own[2]::regproc);
    period_of text;
    period record;                                      -- with bounds that are unsigned
    lead bigint;
    next_ids oid[] := ARRAY(SELECT p.oid FROM pg_proc p WHERE p.proname = 'next_id'
                            AND oidvectortypes(p.proargtypes) LIKE '%regclass, timestamp with time zone, integer, integer');
    of_default record;                                  -- of the column: its call of next_id, and the last values of generators
    layout record;                                      -- of the ids that the default generates
    at timestamptz;
    names text[] := '{}';
    name text;
    qualified text;
    creation text;
    attaching text;
BEGIN
    IF parent IS NULL OR every IS NULL OR ahead IS NULL OR timezone IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'an argument is null',
            DETAIL = 'Only keep, since and the layout can be null.', HINT = 'Pass a value, or leave the argument out.';
    END IF;

    -- The table.
    SELECT n.nspname, c.relname, c.relnamespace, c.relacl, c.relowner, c.relpersistence, c.relrowsecurity, c.relreplident,
           format('%I.%I', n.nspname, c.relname) AS name,
           (SELECT ' USING ' || quote_ident(a.amname) FROM pg_am a WHERE a.oid = c.relam) AS method,
           (SELECT ' TABLESPACE ' || quote_ident(t.spcname) FROM pg_tablespace t WHERE t.oid = c.reltablespace) AS place
    INTO of_parent FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
    IF NOT FOUND THEN
        RAISE undefined_table USING MESSAGE = format('table with OID %s does not exist', parent::oid),
            HINT = 'Pass the name of a table.';
    ELSIF of_parent.relowner <> quote_ident(current_user)::regrole THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', of_parent.name),
            DETAIL = format('Its owner is %s, and the current user is %s.', of_parent.relowner::regrole, quote_ident(current_user)),
            HINT = format('Connect as %s.', of_parent.relowner::regrole);
    ELSIF EXISTS (SELECT FROM pg_roles r JOIN pg_stat_get_activity(pg_backend_pid()) ON usesysid = r.oid
                  WHERE r.rolsuper AND r.rolname <> current_user) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser cannot run this as another role',
            DETAIL = 'Functions of its tables could run RESET ROLE.', HINT = format('Connect as %s.', of_parent.relowner::regrole);
    END IF;
    SELECT a.attname, a.attnum, p.partdefid INTO key
    FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid = 'bigint'::regtype;
    IF NOT FOUND OR of_parent.relpersistence = 't' THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not partitioned by range of a bigint', of_parent.name),
            DETAIL = format('It is %s.', COALESCE('partitioned by ' || pg_get_partkeydef(parent), 'not partitioned')
                            || CASE of_parent.relpersistence WHEN 't' THEN ' and temporary' ELSE '' END),
            HINT = 'Pass a permanent table that was created with PARTITION BY RANGE (id).';
    END IF;
    rest := NULLIF(key.partdefid, 0);
    -- Its rows are read.
    SELECT c.oid::regclass AS name, c.relowner::regrole AS owner INTO part
    FROM pg_partition_tree(rest) t JOIN pg_class c ON c.oid = t.relid WHERE c.relowner <> of_parent.relowner LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of default partition %s', part.name),
            DETAIL = format('Its owner is %s, and that of %s is %s.', part.owner, of_parent.name, of_parent.relowner::regrole),
            HINT = format('Run ALTER TABLE %s OWNER TO %s as a superuser.', part.name, of_parent.relowner::regrole);
    END IF;

    -- The periods.
    IF isfinite(every) THEN
        months := extract(year FROM every) * 12 + extract(month FROM every);
        days := extract(day FROM every);
        hours := CASE WHEN extract(epoch FROM every - make_interval(months => months, days => days)) % 3600 = 0
                      THEN extract(epoch FROM every - make_interval(months => months, days => days)) / 3600 END;
    END IF;
    pattern := CASE WHEN months > 0 AND days = 0 AND hours = 0 AND 12 % months = 0 THEN
                        CASE months WHEN 12 THEN 'YYYY' WHEN 3 THEN 'YYYY"q"Q' ELSE 'YYYYMM' END
                    WHEN months = 0 AND days = 0 AND hours > 0 AND 24 % hours = 0 THEN
                        CASE hours WHEN 24 THEN 'YYYYMMDD' ELSE 'YYYYMMDDHH24' END
                    WHEN months = 0 AND days = 1 AND hours = 0 THEN 'YYYYMMDD'
                    WHEN months = 0 AND days = 7 AND hours = 0 THEN 'IYYY"w"IW' END;
    IF pattern IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'partitions of this length are not supported',
            DETAIL = format('The interval is %s.', every),
            HINT = 'Pass a number of hours that divides a day, a day, a week, a number of months that divides a year, or a year.';
    ELSIF ahead NOT BETWEEN 0 AND 10000 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'ahead is out of range', DETAIL = format('ahead is %s.', ahead),
            HINT = 'Pass the number of partitions after the present one, from 0 to 10000.';
    ELSIF NOT (keep > '0' AND isfinite(keep) AND LEAST(extract(year FROM keep), extract(month FROM keep), extract(day FROM keep),
               extract(hour FROM keep), extract(minute FROM keep), extract(second FROM keep)) >= 0) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'keep is not a positive length of time', DETAIL = format('keep is %s.', keep),
            HINT = 'Pass a positive interval, or NULL to keep all.';
    ELSIF NOT isfinite(since) THEN
        RAISE datetime_field_overflow USING MESSAGE = 'since is infinite', DETAIL = format('since is %s.', since),
            HINT = 'Pass a time, or NULL for the present.';
    END IF;
    -- From longer ago there is no time.
    IF keep < '6000 years' THEN
        oldest := (present AT TIME ZONE timezone - keep) AT TIME ZONE timezone;
    END IF;

    -- The period of a time: where it begins in local time, its first and its next instant, and its bounds. Of an hour that is repeated,
    -- the first run belongs to the period before. An hour that is left out is no period.
    period_of := format($period$
        SELECT s.start, f.first, f.next,
               CASE WHEN f.first_ms < z.end_ms THEN (SELECT l + CASE WHEN l < 0 THEN 18446744073709551616 ELSE 0 END
                                                     FROM %1$s(f.first, $1, $2, $3) l) END AS low,
               CASE WHEN f.next_ms < z.end_ms THEN (SELECT h + CASE WHEN h < 0 THEN 18446744073709551616 ELSE 0 END
                                                    FROM %1$s(f.next, $1, $2, $3) h) ELSE 18446744073709551616 END AS high
        FROM (SELECT 2::numeric ^ (64 - $2 - $3) AS end_ms) z,
             LATERAL (SELECT $8 AT TIME ZONE $7 AS at) l,
             LATERAL (SELECT CASE WHEN extract(month FROM $4) + extract(year FROM $4) > 0 THEN date_trunc('year', l.at)
                                       + (extract(month FROM l.at)::int - 1) / $5 * $4
                                  WHEN extract(day FROM $4) = 7 THEN date_trunc('week', l.at)
                                  WHEN $6 > 0 THEN date_trunc('day', l.at) + extract(hour FROM l.at)::int / $6 * $4
                                  ELSE date_trunc('day', l.at) END AS start) p,
             LATERAL (SELECT p.start - n * $4 AS start FROM generate_series(0, 24) n
                      WHERE (p.start - n * $4) AT TIME ZONE $7 <= $8 ORDER BY n LIMIT 1) s,
             LATERAL (SELECT GREATEST(s.start AT TIME ZONE $7, $1) AS first,
                             -- A local time that is left out becomes a later one, and another period may begin before that.
                             (SELECT min((s.start + n * $4) AT TIME ZONE $7) FROM generate_series(1, 24) n) AS next) i,
             LATERAL (SELECT i.first, i.next, extract(epoch FROM i.first - $1) * 1000 AS first_ms,
                             extract(epoch FROM i.next - $1) * 1000 AS next_ms) f$period$, own[1]::regproc);

    -- The partitions, with their bounds as PostgreSQL orders them.
    SELECT array_agg(c.oid ORDER BY b.low) AS oids, array_agg(b.low ORDER BY b.low) AS lows, array_agg(b.high ORDER BY b.low) AS highs,
           array_agg(i.inhdetachpending ORDER BY b.low) AS pending,
           range_agg(numrange(b.low, b.high)) FILTER (WHERE NOT i.inhdetachpending) AS taken,
           -- One at most, which takes no rows any more.
           max(c.oid::regclass::text) FILTER (WHERE i.inhdetachpending) AS leaving,
           range_agg(numrange(b.low, b.high)) FILTER (WHERE i.inhdetachpending) AS left_out
    INTO parts
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
         regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM [(](.*)[)] TO [(](.*)[)]$') t,
         LATERAL (SELECT CASE t[1] WHEN 'MINVALUE' THEN -turn ELSE btrim(t[1], '''')::numeric END AS low,
                         CASE t[2] WHEN 'MAXVALUE' THEN turn ELSE btrim(t[2], '''')::numeric END AS high) b
    WHERE i.inhparent = parent AND b.low < b.high;

    -- Another layout would make partitions that get no rows. What the default passes to next_id tells it, also in functions that the
    -- default calls: they depend on it if they have an SQL body. Of another body only a call without a layout is understood.
    WITH RECURSIVE used (class, oid) AS (
        SELECT a.tableoid, a.oid FROM pg_attrdef a WHERE a.adrelid = parent AND a.adnum = key.attnum
        UNION
        SELECT d.refclassid, d.refobjid FROM used u JOIN pg_depend d ON d.classid = u.class AND d.objid = u.oid
        WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid <> ALL (next_ids)),
    refs AS (
        SELECT u.class, u.oid, d.refobjid, p.pronamespace
        FROM used u JOIN pg_depend d ON d.classid = u.class AND d.objid = u.oid
             LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid AND p.oid = ANY (next_ids)
        WHERE p.oid IS NOT NULL OR d.refclassid = 'pg_class'::regclass),
    calls (text) AS (
        SELECT CASE WHEN r.class = 'pg_proc'::regclass
                    THEN substring(pg_get_function_sqlbody(r.oid) FROM '^(?:RETURN|BEGIN ATOMIC\s+SELECT)\s+\S*(\mnext_id\(.*)')
                    ELSE (SELECT pg_get_expr(a.adbin, a.adrelid) FROM pg_attrdef a WHERE a.oid = r.oid) END
        FROM (SELECT DISTINCT r.class, r.oid FROM refs r WHERE r.pronamespace IS NOT NULL) r
        UNION ALL
        SELECT CASE WHEN lower(c[1]) IN (SELECT lower(quote_ident(n.nspname)) FROM pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace
                                         WHERE o.oid = ANY (next_ids)) THEN c[2] END
        FROM used u JOIN pg_proc p ON u.class = p.tableoid AND p.oid = u.oid,
             regexp_replace(p.prosrc, '--[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/', ' ', 'g') body,
             regexp_match(body, '(?i)^(?:(?!next_id\s*\().)*\m(\w+)\.next_id\s*(\((?:\s*generator\s*(?:=>|:=))?[^(),=]*\))(?:(?!next_id\s*\().)*$') c
        WHERE body ~* '\mnext_id\s*\(' AND p.prosqlbody IS NULL)
    SELECT EXISTS (SELECT FROM used) AS is_set,
           -- Not if the epoch or a width is an expression.
           (SELECT CASE WHEN count(*) = 1 THEN max(regexp_replace(c.text, $re$'(?:[^']|'')*'::regclass$re$, '::regclass')) END
            FROM calls c
            HAVING bool_and((c.text ~ ('(::regclass, (?!(epoch|shard_bits|sequence_bits) => )|epoch => )(?!''[^'']*''::timestamp with time zone)'
                '|_bits => (?!\d+[,)])|::timestamp with time zone, (\d+, )?(?!\d+[,)]|shard_bits => |sequence_bits => )')) IS NOT TRUE)) AS call,
           ARRAY(SELECT CASE WHEN has_sequence_privilege(s.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(s.oid) END
                 FROM refs r JOIN pg_class s ON r.pronamespace IS NULL AND s.oid = r.refobjid OR s.relnamespace = r.pronamespace AND s.relname = 'shardid_seq'
                 WHERE s.relkind = 'S') AS last_values
    INTO of_default;
    SELECT COALESCE(substring(of_default.call FROM '''([^'']*)''::timestamp with time zone')::timestamptz, '2011-08-24 21:07:01.721+00') AS epoch,
           COALESCE(substring(of_default.call FROM '(?:shard_bits => |::timestamp with time zone, )(\d+)')::int, 13) AS shard_bits,
           COALESCE(substring(of_default.call FROM '(?:sequence_bits => |::timestamp with time zone, (?:shard_bits => )?\d+, )(\d+)')::int, 10)
               AS sequence_bits
    INTO layout;
    IF of_default.is_set AND of_default.call IS NULL AND num_nulls(epoch, shard_bits, sequence_bits) > 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('the layout of the ids of %s is unknown', of_parent.name),
            DETAIL = format('It cannot be read from the default, %s.', (SELECT pg_get_expr(a.adbin, a.adrelid) FROM pg_attrdef a
                                                                         WHERE a.adrelid = parent AND a.adnum = key.attnum)),
            HINT = 'Pass epoch, shard_bits and sequence_bits.';
    END IF;
    epoch := COALESCE(epoch, layout.epoch);
    shard_bits := COALESCE(shard_bits, layout.shard_bits);
    sequence_bits := COALESCE(sequence_bits, layout.sequence_bits);

    -- A generator is ahead of the clock after that was set back. This also refuses what is no layout, and a clock outside its range.
    EXECUTE format('SELECT max(t.last >> $3) - div(l + CASE WHEN l < 0 THEN 18446744073709551616 ELSE 0 END, 2::numeric ^ ($2 + $3))
                    FROM unnest($5) t (last) RIGHT JOIN %s($4, $1, $2, $3) l ON true GROUP BY l', own[1]::regproc)
    INTO lead USING epoch, shard_bits, sequence_bits, present, of_default.last_values;
    -- More is not a time.
    IF lead BETWEEN 1 AND 86400000::bigint * 366 THEN
        latest := present + lead * '1 millisecond'::interval;
    END IF;

    IF of_default.call IS NOT NULL THEN
        IF (layout.epoch, layout.shard_bits, layout.sequence_bits) <> (epoch, shard_bits, sequence_bits) THEN
            RAISE invalid_parameter_value USING MESSAGE = format('the default of %s generates ids of another layout', of_parent.name),
                DETAIL = format('The default has epoch %s, shard_bits %s, sequence_bits %s; the call has epoch %s, shard_bits %s, sequence_bits %s.',
                                layout.epoch, layout.shard_bits, layout.sequence_bits, epoch, shard_bits, sequence_bits),
                HINT = 'Leave them out, or pass those of the default.';
        END IF;
    ELSE
        -- Without it the partitions do. All that are made for periods last whole hours, in a layout of ten bits or more after the time.
        -- One of this layout is where its name says or, if that says nothing, begins at a whole minute.
        SELECT format('%I.%I', s.nspname, c.relname) AS name, c.relname, u.low, u.high INTO part
        FROM unnest(parts.oids, parts.lows, parts.highs) p (oid, low, high)
             JOIN pg_class c ON c.oid = p.oid JOIN pg_namespace s ON s.oid = c.relnamespace,
             LATERAL (SELECT p.low + CASE WHEN p.low < 0 THEN 2 * turn ELSE 0 END AS low,
                             p.high + CASE WHEN p.low < 0 THEN 2 * turn ELSE 0 END AS high) u,
             LATERAL (SELECT extract(epoch FROM epoch) * 1000 + div(u.low, 2::numeric ^ (shard_bits + sequence_bits)) AS low,
                             extract(epoch FROM epoch) * 1000 + div(u.high, 2::numeric ^ (shard_bits + sequence_bits)) AS high) ms,
             LATERAL (SELECT regexp_match(c.relname, named)) n (m),
             LATERAL (SELECT CASE WHEN m[3] IS NOT NULL THEN to_date(m[1] || m[3], 'IYYYIW')
                                  WHEN m[1] IS NOT NULL
                                  THEN make_date(m[1]::int, COALESCE(m[2]::int * 3 - 2, m[4]::int, 1), 1) + COALESCE(m[5]::int - 1, 0) END) f (first),
             LATERAL (SELECT extract(epoch FROM f.first - interval '7 days') * 1000 AS low,
                             extract(epoch FROM f.first + CASE WHEN m[5] IS NOT NULL THEN interval '1 day' WHEN m[3] IS NOT NULL THEN '7 days'
                                                               WHEN m[2] IS NOT NULL THEN '3 months' WHEN m[4] IS NOT NULL THEN '6 months'
                                                               ELSE '1 year' END + interval '7 days') * 1000 AS high) t
        WHERE u.low > 0 AND p.low > -turn AND p.high < turn AND (u.high - u.low) % (3600000 * 1024::numeric) = 0
          AND COALESCE(ms.low > t.high OR ms.high < t.low,
                       u.low % (2::numeric ^ (shard_bits + sequence_bits)) <> 0 OR ms.low % 60000 <> 0)
        ORDER BY u.low LIMIT 1;
        IF FOUND THEN
            EXECUTE time_of INTO at USING part.low, epoch, shard_bits, sequence_bits;
            RAISE invalid_parameter_value USING MESSAGE = format('partition %s was created for ids of another layout', part.name),
                DETAIL = format('With epoch %s, shard_bits %s, sequence_bits %s it begins at %s.', epoch, shard_bits, sequence_bits, at),
                HINT = 'Pass the epoch, shard_bits and sequence_bits of the ids. If these are right, detach the partition.';
        END IF;
    END IF;

    -- What is missing. Row security of the parent is not that of a partition: then nobody gets rights on that.
    -- Default privileges are not the parent's either.
    SELECT concat(
        (SELECT format(E';\nREVOKE ALL ON TABLE %%1$s FROM %s', string_agg(replace(d.name, '%', '%%'), ', ' ORDER BY d.name COLLATE "C"))
         FROM (SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
               FROM pg_default_acl d, aclexplode(d.defaclacl) a
               WHERE d.defaclrole = of_parent.relowner AND d.defaclobjtype = 'r' AND d.defaclnamespace IN (0, of_parent.relnamespace)
                 AND a.grantee <> of_parent.relowner) d (name)
         HAVING count(*) > 0),
        string_agg(format(E';\nGRANT %s ON TABLE %%1$s TO %s%s', g.privileges,
                          replace(CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, '%', '%%'),
                          CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '' ORDER BY g.grantee, g.is_grantable))
    INTO grants
    FROM (SELECT a.grantee, a.is_grantable, string_agg(DISTINCT a.privilege_type, ', ' ORDER BY a.privilege_type) AS privileges
          FROM aclexplode(of_parent.relacl) a WHERE a.grantee <> of_parent.relowner GROUP BY 1, 2) g
    WHERE NOT of_parent.relrowsecurity;
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) INTO columns
    FROM pg_attribute a WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '';

    -- A DELETE that moves rows would follow foreign keys to them, or be refused by those.
    SELECT string_agg(format(E'ALTER TABLE %s DROP CONSTRAINT %I;\n', c.conrelid::regclass, c.conname), '' ORDER BY c.oid),
           string_agg(format(E';\nALTER TABLE %s ADD CONSTRAINT %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)), ''
                      ORDER BY c.oid)
    INTO unlinking, linking
    FROM pg_constraint c
    WHERE rest IS NOT NULL AND c.contype = 'f' AND c.conparentid = 0
      AND c.confrelid IN (SELECT t.relid FROM pg_partition_tree(rest) t UNION ALL SELECT a.relid FROM pg_partition_ancestors(parent) a);

    -- Nor may a row that only moves fire triggers. Those of foreign keys stay on. Until the end nobody else writes to it.
    SELECT string_agg(format(E'ALTER TABLE ONLY %s DISABLE TRIGGER USER;\n', c.oid::regclass), '' ORDER BY p.level, c.oid),
           string_agg(format(E';\nALTER TABLE ONLY %s ENABLE TRIGGER USER%s', c.oid::regclass, t.others), '' ORDER BY p.level, c.oid)
    INTO silencing, waking
    FROM pg_partition_tree(rest) p JOIN pg_class c ON c.oid = p.relid,
         LATERAL (SELECT string_agg(format(E';\nALTER TABLE ONLY %s %s TRIGGER %I', t.tgrelid::regclass,
                                           CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END,
                                           t.tgname), '' ORDER BY t.tgname)
                  FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'O') t (others);
    SELECT COALESCE(string_agg(format(E';\nALTER TABLE ONLY %%1$s %s TRIGGER %s',
                                      CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END,
                                      replace(quote_ident(t.tgname), '%', '%%')), '' ORDER BY t.tgname), '')
    INTO waking_clones
    FROM pg_trigger t WHERE t.tgrelid = parent AND NOT t.tgisinternal AND t.tgenabled <> 'O' AND t.tgtype & 1 = 1;

    at := GREATEST(LEAST(since, present), oldest, epoch);
    IF extract(epoch FROM latest - at) / extract(epoch FROM every) > 10000 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'too many partitions',
            DETAIL = format('From %s on there are more than 10000.', at), HINT = 'Pass a later time, or longer periods.';
    END IF;
    LOOP
        EXECUTE period_of INTO period USING epoch, shard_bits, sequence_bits, every, months, hours, timezone, at;
        EXIT WHEN period.low IS NULL;
        IF period.first > latest THEN
            EXIT WHEN ahead = 0;
            ahead := ahead - 1;
        END IF;
        at := period.next;
        FOR part IN
            SELECT lower(gap) AS low, upper(gap) AS high, CASE WHEN NOT (period.low < turn AND period.high > turn) THEN ''
                                                               WHEN lower(gap) < 0 THEN '_negative' ELSE '_positive' END AS half
            FROM unnest(nummultirange(numrange(LEAST(period.low, turn), LEAST(period.high, turn)),
                                      numrange(GREATEST(period.low, turn) - 2 * turn, GREATEST(period.high, turn) - 2 * turn))
                        - COALESCE(parts.taken, '{}')) gap
            ORDER BY lower(gap) < 0, lower(gap)
        LOOP
            -- A partition of this name may hold a part of the period.
            FOR other IN 1 .. 1000 LOOP
                name := of_parent.relname || '_' || to_char(period.start, pattern) || part.half || COALESCE('_' || NULLIF(other, 1), '');
                EXIT WHEN name <> ALL (names) AND (to_regclass(format('%I.%I', of_parent.nspname, name)) = ANY (parts.oids)) IS NOT TRUE;
            END LOOP;
            names := names || name;
            IF octet_length(name) > 63 THEN
                RAISE name_too_long USING MESSAGE = format('the name of table %s is too long for partitions', of_parent.name),
                    DETAIL = format('A partition would be "%s", and a name has at most 63 bytes.', name), HINT = 'Rename the table.';
            END IF;
            qualified := format('%I.%I', of_parent.nspname, name);
            creation := format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)%s%s', qualified, of_parent.name,
                               of_parent.method, of_parent.place)
                        || CASE of_parent.relreplident WHEN 'f' THEN format(E';\nALTER TABLE %s REPLICA IDENTITY FULL', qualified) ELSE '' END
                        || format(grants, qualified);
            attaching := format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', of_parent.name, qualified,
                                CASE part.low WHEN -turn THEN 'MINVALUE' ELSE quote_literal(part.low) END,
                                CASE part.high WHEN turn THEN 'MAXVALUE' ELSE quote_literal(part.high) END);
            IF rest IS NOT NULL THEN
                EXECUTE format('SELECT count(*) FROM %s WHERE %I BETWEEN $1 AND $2', rest, key.attname)
                INTO in_rest USING part.low::bigint, (part.high - 1)::bigint;
            END IF;
            command := NULL;
            IF parts.left_out && numrange(part.low, part.high) THEN
                IF reports THEN
                    RAISE WARNING USING ERRCODE = 'object_in_use',
                        MESSAGE = format('partition %s is being detached from %s', parts.leaving, of_parent.name),
                        DETAIL = 'It takes no rows, and no partition for them can be created.',
                        HINT = format('Wait for that, or, if it was canceled, run ALTER TABLE %s DETACH PARTITION %s FINALIZE.',
                                      of_parent.name, parts.leaving);
                END IF;
            ELSIF to_regclass(qualified) IS NOT NULL OR to_regtype(qualified) IS NOT NULL THEN
                IF reports THEN
                    RAISE WARNING USING ERRCODE = 'duplicate_table',
                        MESSAGE = format('%s is not a partition of %s', qualified, of_parent.name),
                        DETAIL = 'The missing partition would have this name.',
                        HINT = format('Rename it, or, if it is a table for these rows, run %s.', attaching);
                END IF;
            ELSIF in_rest > 0 THEN
                IF reports THEN
                    RAISE WARNING USING ERRCODE = 'check_violation',
                        MESSAGE = format('default partition %s has rows of partition %s', rest, qualified),
                        DETAIL = format('Their number is %s.', in_rest),
                        -- The INSERT comes after ATTACH: a publication of the table then sends it, as it does the DELETE.
                        HINT = format(E'Move them by these commands:\nBEGIN;\n%1$s%2$s;\n%3$s'
                                      'CREATE TEMPORARY TABLE moved_rows ON COMMIT DROP AS SELECT %4$s FROM %5$s WITH NO DATA;\n'
                                      'WITH moved AS (DELETE FROM %5$s WHERE %6$I BETWEEN %7$L AND %8$L RETURNING %4$s)\n'
                                      'INSERT INTO pg_temp.moved_rows SELECT %4$s FROM moved%9$s;\n%10$s;\n'
                                      'ALTER TABLE ONLY %11$s DISABLE TRIGGER USER;\n'
                                      'INSERT INTO %11$s (%4$s) OVERRIDING SYSTEM VALUE SELECT %4$s FROM pg_temp.moved_rows;\n'
                                      'SET CONSTRAINTS ALL IMMEDIATE;\n'
                                      'ALTER TABLE ONLY %11$s ENABLE TRIGGER USER%12$s%13$s;\nCOMMIT;',
                                      unlinking, creation, silencing, columns, rest, key.attname, part.low, part.high - 1, waking, attaching,
                                      qualified, format(waking_clones, qualified), linking);
                END IF;
            ELSE
                command := creation || E';\n' || attaching;
            END IF;
            step := command;
            RETURN NEXT;
        END LOOP;
    END LOOP;

    -- Detached, and not dropped after that.
    FOR part IN
        SELECT format('%I.%I', of_parent.nspname, c.relname) AS name, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
        FROM pg_class c, regexp_match(c.relname, named) m,
             LATERAL (SELECT CASE WHEN m[3] IS NOT NULL THEN to_date(m[1] || m[3], 'IYYYIW')
                                  ELSE make_date(m[1]::int, COALESCE(m[2]::int * 3 - 2, m[4]::int, 1), 1) + COALESCE(m[5]::int - 1, 0) END) f (first)
        WHERE reports AND oldest > epoch AND c.relnamespace = of_parent.relnamespace AND c.relowner = of_parent.relowner
          AND c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition
          AND starts_with(c.relname, of_parent.relname || '_' || to_char(f.first, replace(pattern, 'HH24', '')))
          AND f.first + GREATEST(every, interval '1 day') <= oldest AT TIME ZONE timezone
        ORDER BY c.relname
    LOOP
        RAISE NOTICE USING MESSAGE = format('table %s is older than keep, but no partition of %s', part.name, of_parent.name),
            DETAIL = 'It was detached, and not dropped after that.',
            HINT = format('If its rows are not needed, run DROP %s %s.', part.kind, part.name);
    END LOOP;

    -- What is older than is kept: partitions that ended by then, if they have the bounds of a period.
    FOR part IN
        SELECT p.pending, format('%I.%I', n.nspname, c.relname) AS name, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind,
               u.low, u.high
        FROM unnest(parts.oids, parts.lows, parts.highs, parts.pending) p (oid, low, high, pending)
             JOIN pg_class c ON c.oid = p.oid JOIN pg_namespace n ON n.oid = c.relnamespace,
             LATERAL (SELECT p.low + CASE WHEN p.low < 0 THEN 2 * turn ELSE 0 END AS low,
                             p.high + CASE WHEN p.low < 0 THEN 2 * turn ELSE 0 END AS high) u
        WHERE oldest > epoch
        ORDER BY u.low
    LOOP
        EXECUTE time_of INTO at USING part.low, epoch, shard_bits, sequence_bits;
        EXIT WHEN at >= oldest;
        EXECUTE period_of INTO period USING epoch, shard_bits, sequence_bits, every, months, hours, timezone, at;
        -- The period in which ids become negative has two.
        IF (part.low = period.low OR part.low = turn AND period.low < turn AND period.high > turn)
           AND (part.high = period.high OR part.high = turn AND period.low < turn AND period.high > turn) THEN
            CONTINUE WHEN period.next > oldest;
            command := format('ALTER TABLE %s DETACH PARTITION %s', of_parent.name, part.name);
            step := format(E'%s%s;\nDROP %s %s', command, CASE WHEN part.pending THEN ' FINALIZE' ELSE '' END, part.kind, part.name);
            -- CONCURRENTLY is refused where there is a default partition, or one that is being detached.
            IF parts.leaving IS NOT NULL OR rest IS NOT NULL THEN
                command := step;
            ELSE
                command := command || ' CONCURRENTLY';
                RETURN NEXT;
                command := format('DROP %s %s', part.kind, part.name);
                step := NULL;
            END IF;
            RETURN NEXT;
        ELSIF reports THEN
            EXECUTE time_of INTO at USING part.high - 1, epoch, shard_bits, sequence_bits;
            IF at < oldest THEN
                RAISE NOTICE USING MESSAGE = format('partition %s is older than keep, but its bounds are not those of a period', part.name),
                    DETAIL = 'It stays.',
                    HINT = format('If its rows are not needed, run ALTER TABLE %s DETACH PARTITION %s, and DROP %s %2$s.',
                                  of_parent.name, part.name, part.kind);
            END IF;
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION shardid_partition_steps(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz,
    pg_catalog.timestamptz, int, int, pg_catalog.text, boolean, pg_catalog.regprocedure[]) IS
'the commands of id_partition_commands, and as steps that a procedure can run';

CREATE FUNCTION id_partition_commands(
    parent pg_catalog.regclass,
    every interval,
    ahead int DEFAULT 3,
    keep interval DEFAULT NULL::interval,
    since pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    epoch pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    shard_bits int DEFAULT NULL::int,
    sequence_bits int DEFAULT NULL::int,
    timezone pg_catalog.text DEFAULT 'UTC'::pg_catalog.text)
RETURNS SETOF pg_catalog.text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s.command
    FROM shardid_partition_steps(
        parent, every, ahead, keep, since, epoch, shard_bits, sequence_bits, timezone, true, ARRAY[
            'id_lower_bound(pg_catalog.timestamptz, pg_catalog.timestamptz, int, int)'::pg_catalog.regprocedure,
            'id_timestamp(bigint, pg_catalog.timestamptz, int, int)'::pg_catalog.regprocedure]) s
    WHERE s.command IS NOT NULL;
END;

COMMENT ON FUNCTION id_partition_commands(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz,
    pg_catalog.timestamptz, int, int, pg_catalog.text) IS
'the commands that create the missing partitions of a table by time, and drop old ones; warns of what prevents them';

-- Without SET search_path, with which no procedure can commit: each transaction sets it before it looks up any name.
CREATE PROCEDURE maintain_id_partitions(
    parent pg_catalog.regclass,
    every interval,
    ahead int DEFAULT 3,
    keep interval DEFAULT NULL::interval,
    since pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    epoch pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    shard_bits int DEFAULT NULL::int,
    sequence_bits int DEFAULT NULL::int,
    timezone pg_catalog.text DEFAULT 'UTC'::pg_catalog.text,
    own pg_catalog.regprocedure[] DEFAULT ARRAY[
            'id_lower_bound(pg_catalog.timestamptz, pg_catalog.timestamptz, int, int)'::pg_catalog.regprocedure,
            'id_timestamp(bigint, pg_catalog.timestamptz, int, int)'::pg_catalog.regprocedure,
            'shardid_partition_steps(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz, pg_catalog.timestamptz, int, int,
                                     pg_catalog.text, boolean, pg_catalog.regprocedure[])'::pg_catalog.regprocedure])
LANGUAGE plpgsql AS $$
DECLARE
    is_first boolean;
    is_over boolean;
    timeout int;
    parts pg_catalog.text;
    known_parts pg_catalog.text;
    steps pg_catalog.text[];
    tried pg_catalog.text[];
    failed int;
    gave_way boolean;
    next pg_catalog.text;
    message pg_catalog.text;
    detail pg_catalog.text;
    hint pg_catalog.text;
BEGIN
    -- In a transaction block this fails, before anything is done.
    COMMIT;
    LOOP
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        is_first := tried IS NULL;
        IF is_first THEN
            tried := '{}';
            SELECT COALESCE(NULLIF(setting::int, 0), 1000) INTO timeout FROM pg_settings WHERE name = 'lock_timeout';
        END IF;
        -- For the turn, with which no query is in the way.
        PERFORM set_config('lock_timeout', timeout::text, true);
        is_over := true;
        next := NULL;
        BEGIN
            -- So two calls at once take turns. For others than the owner nothing is locked, and they are told why below.
            IF EXISTS (SELECT FROM pg_class c WHERE c.oid = parent AND c.relkind = 'p' AND c.relowner = quote_ident(current_user)::regrole) THEN
                EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', parent);
            END IF;
            -- What is missing is looked up again if others have changed the partitions or, to say so, the owner.
            SELECT string_agg(i.inhrelid::text, ' ' ORDER BY i.inhrelid) INTO parts FROM pg_inherits i WHERE i.inhparent = parent;
            IF is_first OR parts IS DISTINCT FROM known_parts
                OR NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = parent AND c.relowner = quote_ident(current_user)::regrole)
            THEN
                EXECUTE format('SELECT array_agg(s.step ORDER BY s.place) FILTER (WHERE s.step IS NOT NULL AND s.step <> ALL ($11)), '
                               '       $12 + count(*) FILTER (WHERE $10 AND s.command IS NULL AND s.step IS NULL) '
                               'FROM %s($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $13) '
                               'WITH ORDINALITY s (command, step, place)', own[3]::regproc)
                INTO steps, failed
                USING parent, every, ahead, keep, since, epoch, shard_bits, sequence_bits, timezone, is_first, tried, COALESCE(failed, 0), own;
                known_parts := parts;
            END IF;
            -- Each drop would make all others wait once more for the same session.
            IF gave_way THEN
                steps := ARRAY(SELECT s.step FROM unnest(steps) WITH ORDINALITY s (step, place) WHERE starts_with(s.step, 'CREATE ') ORDER BY s.place);
            END IF;
            next := steps[1];
            steps := steps[2:];
            IF next IS NOT NULL THEN
                is_over := false;
                -- Far less than deadlock_timeout: in a deadlock this gives way, and the application is not refused.
                PERFORM set_config('lock_timeout', LEAST(timeout, 300)::text, true);
                tried := tried || next;
                EXECUTE next;
                IF NOT starts_with(next, 'CREATE ') THEN
                    RAISE NOTICE USING MESSAGE = format('partition %s is older than keep, and is dropped',
                                                        substring(split_part(next, E'\nDROP ', 2) FROM 'TABLE (.*)'));
                END IF;
                SELECT string_agg(i.inhrelid::text, ' ' ORDER BY i.inhrelid) INTO known_parts FROM pg_inherits i WHERE i.inhparent = parent;
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = format('could not get a lock for a partition of %s', parent),
                    DETAIL = COALESCE('The commands are: ' || next, 'The lock is that of the table.'),
                    HINT = CASE WHEN next IS NULL THEN 'The next call tries it again.'
                                ELSE 'The next call tries it again. This call drops no more partitions.' END;
                gave_way := true;
            WHEN OTHERS THEN
                IF next IS NULL THEN
                    RAISE;
                END IF;
                GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                failed := failed + 1;
                RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = format('could not maintain a partition of %s: %s', parent, message),
                    DETAIL = concat_ws(' ', NULLIF(detail, ''), 'The commands are: ' || next),
                    HINT = COALESCE(NULLIF(hint, ''), 'Remove the cause, and call it again.');
        END;
        IF is_over AND failed > 0 THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('partitions of %s are not maintained', parent),
                DETAIL = format('Their number is %s. The warnings before this say why. All else is done.', failed),
                HINT = 'Remove the causes, and call it again.';
        END IF;
        EXIT WHEN is_over;
        COMMIT;
    END LOOP;
END
$$;

COMMENT ON PROCEDURE maintain_id_partitions(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz,
    pg_catalog.timestamptz, int, int, pg_catalog.text, pg_catalog.regprocedure[]) IS
'creates the missing partitions of a table by time and drops old ones, each in a transaction of its own that waits 0.3 s for a lock';


-- The commands that change the columns of a schema. Everything in them is named with its schema, and every name is quoted. No
-- name gets out of a comment by a line break. Only columns of the caller's own tables are read and changed: functions in an
-- index run with the rights of the role that reads max(id).
--
-- The steps are functions in the same schema. They are called by name, but with arguments of just their types, so that no other function
-- of that name is meant.

CREATE FUNCTION shardid_new_default(
    ids pg_catalog.text,
    of_function pg_catalog.oid,
    one_generator pg_catalog.oid,
    home pg_catalog.oid,
    layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    r record;
BEGIN
    IF of_function IS NULL THEN
        RETURN format('%s.next_id(%s)', ids, concat_ws(', ',
            CASE WHEN one_generator IS DISTINCT FROM home THEN 'generator => %1$L' END, replace(layout, '%', '%%')));
    END IF;
    SELECT p.pronargs - p.pronargdefaults AS needed, p.prorettype, p.proretset,
           COALESCE(p.proargtypes[0] = 'regclass'::regtype, false) AS takes_generator,
           format('%s.%I', p.pronamespace::regnamespace, p.proname) AS name INTO r
    FROM pg_proc p WHERE p.oid = of_function;
    IF r.prorettype IS DISTINCT FROM 'bigint'::regtype OR r.proretset OR r.needed > r.takes_generator::int
       OR one_generator IS NULL AND NOT r.takes_generator THEN
        RAISE invalid_parameter_value USING MESSAGE = 'function cannot be the default of these columns',
            DETAIL = format('The function is %s.', of_function::regprocedure),
            HINT = CASE WHEN one_generator IS NULL THEN 'Pass a function that returns bigint and takes a generator, of type regclass.'
                        ELSE 'Pass a function that returns bigint and takes no argument, or a generator of type regclass.' END;
    END IF;
    RETURN replace(r.name, '%', '%%') || CASE WHEN r.takes_generator THEN '(%1$L::pg_catalog.regclass)' ELSE '()' END;
END
$$;

COMMENT ON FUNCTION shardid_new_default(pg_catalog.text, pg_catalog.oid, pg_catalog.oid, pg_catalog.oid, pg_catalog.text) IS
'the default that id_migration_commands gives to columns: a format, to which the generator is passed';

-- Every column whose value comes from a sequence, and those of other schemas that share one by their defaults (not is_here). Of
-- a partitioned table with an identity the partitions have one, too, from PostgreSQL 17 on.

CREATE FUNCTION shardid_sequence_columns(of_schema pg_catalog.oid)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
    WITH RECURSIVE bases (type, base) AS (    -- types and domains over them
        SELECT oid, oid FROM pg_type WHERE typtype <> 'd'
        UNION ALL
        SELECT t.oid, bases.base FROM bases JOIN pg_type t ON t.typtype = 'd' AND t.typbasetype = bases.type),
    uses AS MATERIALIZED (
        SELECT q.objid AS attrdef, q.refobjid AS seq, c.relnamespace = of_schema AS is_here
        FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid JOIN pg_attrdef d ON d.oid = q.objid JOIN pg_class c ON c.oid = d.adrelid
        WHERE q.classid = 'pg_attrdef'::regclass AND q.refclassid = 'pg_class'::regclass)
    SELECT jsonb_agg(to_jsonb(k)) FROM (
        SELECT c.relnamespace = of_schema AS is_here, c.oid AS rel, c.oid::regclass::text AS name, a.attnum AS num, quote_ident(a.attname) AS col, c.relowner AS owner,
               a.attidentity AS identity, a.attidentity <> '' AND c.relispartition AND a.attinhcount > 0 AS of_parent,
               c.relkind = 'p' AS is_parted, c.relkind = 'f' AS is_foreign, CASE WHEN a.attidentity = '' THEN e.expression END AS expression,
               COALESCE(i.seq, e.seq) AS seq, i.seq AS identity_seq, format_type(b.base, NULL) AS type, e.is_plain,
               e.cast_to <> format_type(a.atttypid, NULL) AS is_other_type
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN bases b ON b.type = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum AND a.attgenerated = ''
        LEFT JOIN LATERAL (
            SELECT x.expression, x.is_plain, x.cast_to, COALESCE(
                       (SELECT q.refobjid FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid
                        WHERE q.classid = 'pg_attrdef'::regclass AND q.objid = d.oid AND q.refclassid = 'pg_class'::regclass LIMIT 1),
                       -- A name that is looked up at each INSERT.
                       (SELECT s.oid FROM parse_ident(x.late) part, pg_class s
                        WHERE s.relkind = 'S' AND s.relname = part[cardinality(part)]
                          AND s.relnamespace = CASE cardinality(part) WHEN 1 THEN c.relnamespace
                                               ELSE (SELECT n.oid FROM pg_namespace n WHERE n.nspname = part[1]) END)) AS seq
            FROM (SELECT y.expression,
                         y.expression ~ '^\(?nextval\(\(?E?''(?:[^'']|'''')*''(?:::text)?\)?::regclass\)\)?(?:::[^()]+)?$' AS is_plain,
                         substring(y.expression FROM '\)::([^()]+)$') AS cast_to,
                         substring(y.expression FROM $re$'((?:[a-z_][a-z0-9_]*|"[^"'\\]+")(?:\.(?:[a-z_][a-z0-9_]*|"[^"'\\]+"))?)'::text$re$) AS late
                  FROM pg_get_expr(d.adbin, d.adrelid) y (expression)) x) e ON true
        LEFT JOIN LATERAL (
            SELECT q.objid AS seq FROM pg_depend q JOIN pg_attribute o ON o.attrelid = q.refobjid AND o.attnum = q.refobjsubid
            WHERE a.attidentity <> '' AND q.classid = 'pg_class'::regclass AND q.refclassid = 'pg_class'::regclass AND q.deptype = 'i'
              AND q.refobjid IN (c.oid, pg_partition_root(c.oid)) AND o.attname = a.attname
            ORDER BY q.refobjid = c.oid DESC LIMIT 1) i ON true
        WHERE (c.relnamespace = of_schema
               OR d.oid IN (SELECT o.attrdef FROM uses u JOIN uses o ON o.seq = u.seq WHERE u.is_here AND NOT o.is_here))
          AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't'
          AND (a.attidentity <> '' OR e.expression ~ '\mnextval\(')
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.oid AND q.deptype = 'e')) k);
END
$$;

COMMENT ON FUNCTION shardid_sequence_columns(pg_catalog.oid) IS
'the columns of a schema whose values come from a sequence';

CREATE FUNCTION shardid_unchanged_columns(columns pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me CONSTANT oid := quote_ident(current_user)::regrole;
BEGIN
    RETURN (
    WITH RECURSIVE bases (type, base) AS (    -- types and domains over them
        SELECT oid, oid FROM pg_type WHERE typtype <> 'd'
        UNION ALL
        SELECT t.oid, bases.base FROM bases JOIN pg_type t ON t.typtype = 'd' AND t.typbasetype = bases.type),
    c AS MATERIALIZED (
        SELECT c.*
        FROM jsonb_to_recordset(columns) c (is_here bool, rel oid, name text, num int, col text, owner oid, identity text, of_parent bool, is_parted bool,
                                            is_foreign bool, expression text, seq oid, identity_seq oid, type text, is_plain bool, is_other_type bool)),
    references_of AS MATERIALIZED (
        SELECT f.confrelid AS rel, f.confkey[n]::int AS num, f.conrelid AS referrer, f.conkey[n]::int AS referrer_num
        FROM pg_constraint f, generate_subscripts(f.confkey, 1) n WHERE f.contype = 'f'),
    referrers (root, root_num, rel, num) AS (
        SELECT rel, num, rel, num FROM c
        UNION
        SELECT r.root, r.root_num, f.referrer, f.referrer_num FROM referrers r JOIN references_of f USING (rel, num)),
    narrow AS MATERIALIZED (
        SELECT root AS rel, root_num AS num, string_agg(format('%s.%I (%s)', r.rel::regclass, a.attname, pg_size_pretty(pg_total_relation_size(r.rel))), ', '
                                                        ORDER BY r.rel::regclass::text, a.attnum) AS columns
        FROM referrers r JOIN pg_attribute a ON a.attrelid = r.rel AND a.attnum = r.num JOIN bases ON type = a.atttypid
        WHERE r.rel <> root AND base IN ('int'::regtype, 'smallint'::regtype) GROUP BY root, root_num),
    -- Parts and heirs of other roles, which are read with their table.
    family (root, rel) AS (
        SELECT rel, rel FROM c
        UNION
        SELECT root, inhrelid FROM family JOIN pg_inherits ON inhparent = rel),
    strange AS MATERIALIZED (
        SELECT root AS rel, min(oid::regclass::text) AS heir FROM family JOIN pg_class ON oid = family.rel WHERE relowner <> me GROUP BY root),
    -- What does not hold each value of its sequence, or computes with it.
    sharing AS MATERIALIZED (
        SELECT seq, string_agg(format('%s.%s', name, col), ', ' ORDER BY name, num) AS columns
        FROM c WHERE identity = '' AND (type <> 'bigint' OR NOT is_plain OR is_other_type) GROUP BY seq)
    SELECT jsonb_agg(to_jsonb(c) || jsonb_build_object('why_not',
               CASE WHEN NOT c.is_here THEN ''
                    WHEN c.is_foreign THEN 'is in a foreign table: not changed.'
                    WHEN c.identity = '' AND (NOT c.is_plain OR c.type = 'bigint' AND c.is_other_type) THEN format('has a default that is more than nextval: not changed. It is %s.', c.expression)
                    WHEN c.seq IS NULL THEN format('has a default whose sequence is not found: not changed. It is %s.', c.expression)
                    WHEN c.identity = '' AND EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.seq AND q.deptype = 'i')
                         THEN 'uses the sequence of an identity: not changed.'
                    WHEN c.owner <> me THEN format('belongs to %s: not changed. Run this as that role.', c.owner::regrole)
                    WHEN heir <> '' THEN format('is inherited by %s, which belongs to another role: not changed.', heir)
                    WHEN c.type IN ('integer', 'smallint') THEN
                        format('is %s, which holds no id: not changed. ALTER TYPE bigint rewrites %s, with its indexes, under ACCESS EXCLUSIVE%s%s.',
                               c.type, s.size, ' and so each integer column that references it: ' || narrow.columns, '. Drop first: ' || v.views)
                    WHEN c.type <> 'bigint' THEN format('is %s: not changed.', c.type)
                    WHEN narrow.columns <> '' THEN
                        format('is referenced by integer columns, which hold no id: not changed. First make them bigint: %s.', narrow.columns)
                    WHEN u.users <> '' THEN format('is an identity whose sequence is used by %s: not changed. DROP IDENTITY would drop it.', u.users)
                    WHEN EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_attribute pa ON pa.attrelid = p.partrelid
                                 WHERE p.partstrat <> 'h' AND pa.attnum = ANY (p.partattrs) AND quote_ident(pa.attname) = c.col
                                   AND (p.partrelid = c.rel OR p.partrelid IN (SELECT pg_partition_ancestors(c.rel))))
                         THEN 'is the key of its partitions: not changed. First make partitions for the new ids.'
                    WHEN (SELECT seqcycle FROM pg_sequence WHERE seqrelid = c.seq) THEN 'has a sequence that cycles, whose values are no ids: not changed.'
                    WHEN sharing.columns <> '' THEN
                        format('shares its sequence with columns that would not hold its values after the way back: not changed. '
                               'First make them bigint with the default nextval, or give them another sequence: %s.', sharing.columns)
               END))
    FROM c LEFT JOIN narrow USING (rel, num) LEFT JOIN strange USING (rel) LEFT JOIN sharing USING (seq)
    LEFT JOIN LATERAL (
        SELECT pg_size_pretty(COALESCE(sum(pg_total_relation_size(p.relid)), pg_total_relation_size(c.rel))) AS size
        FROM pg_partition_tree(c.rel) p) s ON c.type IN ('integer', 'smallint')
    CROSS JOIN LATERAL (
        SELECT string_agg(pg_describe_object(q.classid, q.objid, q.objsubid), ', ' ORDER BY q.classid, q.objid)
        FROM pg_depend q WHERE q.refclassid = 'pg_class'::regclass AND q.refobjid = c.identity_seq AND q.deptype = 'n') u (users)
    CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT w.ev_class::regclass::text, ', ')
        FROM pg_depend q JOIN pg_rewrite w ON w.oid = q.objid
        WHERE q.classid = 'pg_rewrite'::regclass AND q.refclassid = 'pg_class'::regclass AND q.refobjid = c.rel
          AND q.refobjsubid = c.num AND w.ev_class <> c.rel) v (views));
END
$$;

COMMENT ON FUNCTION shardid_unchanged_columns(pg_catalog.jsonb) IS
'these columns, with the reason if id_migration_commands cannot change one';

CREATE FUNCTION shardid_notes_of_change(ids pg_catalog.text, columns pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
BEGIN
    RETURN QUERY
    WITH changed AS (
        SELECT k.rel, k.name, k.num, k.col, k.seq, k.identity
        FROM jsonb_to_recordset(columns) k (rel oid, name text, num int, col text, seq oid, identity text, why_not text)
        WHERE k.why_not IS NULL),
    words AS (
        -- Names of sequences, of which each character stands for itself.
        SELECT DISTINCT k.seq, '\m' || regexp_replace(lower(c.relname), '(\W)', '[\1]', 'g') || '\M' AS pattern, c.relname AS word, lower(c.relname) AS lower_word
        FROM changed k JOIN pg_class c ON c.oid = k.seq WHERE c.relname !~ '[\^\[\]\\]'
        UNION ALL
        SELECT NULL, '\m' || w || '\M', w, w FROM unnest(ARRAY['currval', 'lastval', 'setval', 'pg_get_serial_sequence']) w),
    functions AS MATERIALIZED (
        SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0) AS name, lower(COALESCE(pg_get_function_sqlbody(p.oid), p.prosrc)) AS body,
               (SELECT string_agg(pg_describe_object('pg_trigger'::regclass, t.oid, 0), ', ' ORDER BY t.oid)
                FROM pg_trigger t WHERE t.tgfoid = p.oid AND t.tgparentid = 0) AS triggers
        FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
        WHERE s.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prokind <> 'a' AND EXISTS (SELECT FROM changed)
          AND (a_mark IS NULL OR quote_ident(s.nspname) <> ids OR p.proname !~ '^(shardid_|next_ids?$|raise_generator$|id_)')
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_proc'::regclass AND q.objid = p.oid AND q.deptype = 'e')),
    notes AS (
        SELECT 1 AS place, f.name || COALESCE(', called by ' || f.triggers, '') AS object,
               format('mentions %s. next_id is seen by neither the sequence nor currval nor lastval: use RETURNING there.',
                      string_agg(DISTINCT w.word, ', ')) AS note
        FROM functions f
        -- Almost no word is in it, and strpos says so faster than a pattern.
        JOIN words w ON CASE WHEN strpos(f.body, w.lower_word) > 0 THEN f.body ~ w.pattern END
        GROUP BY f.name, f.triggers
        UNION ALL
        SELECT 2, pg_describe_object(q.classid, q.objid, q.objsubid),
               format('uses sequence %s, which continues with its own numbers.', k.seq::regclass)
        FROM (SELECT DISTINCT seq FROM changed) k
        JOIN pg_depend q ON q.refclassid = 'pg_class'::regclass AND q.refobjid = k.seq AND q.deptype = 'n' AND q.classid <> 'pg_proc'::regclass
        LEFT JOIN pg_attrdef d ON q.classid = 'pg_attrdef'::regclass AND d.oid = q.objid
        WHERE NOT EXISTS (SELECT FROM changed WHERE changed.rel = d.adrelid AND changed.num = d.adnum)
        UNION ALL
        SELECT 3, format('constraint %I on %s', x.conname, k.name), format('limits the column: %s.', pg_get_constraintdef(x.oid))
        FROM changed k JOIN pg_constraint x ON x.contype = 'c' AND x.conrelid = k.rel AND k.num = ANY (x.conkey)
        UNION ALL
        SELECT 4, k.name, format('is published by %s: a subscriber keeps its own default.', string_agg(DISTINCT quote_ident(x.pubname), ', '))
        FROM (SELECT DISTINCT rel, name FROM changed) k JOIN pg_class c ON c.oid = k.rel
        JOIN pg_publication_tables x ON x.tablename = c.relname AND x.schemaname = c.relnamespace::regnamespace::text
        GROUP BY k.name
        UNION ALL
        SELECT 5, k.name, 'receives rows from a subscription, with the ids of the publisher.'
        FROM (SELECT DISTINCT rel, name FROM changed) k WHERE EXISTS (SELECT FROM pg_subscription_rel x WHERE x.srrelid = k.rel)
        UNION ALL
        SELECT 7, format('%s.%I', d.adrelid::regclass, a.attname),
               format('has the default %s, which sees no id of next_id: rows get an earlier one. Use RETURNING.', pg_get_expr(d.adbin, d.adrelid))
        FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE EXISTS (SELECT FROM changed) AND pg_get_expr(d.adbin, d.adrelid) ~ '\m(lastval|currval)\('
        UNION ALL
        SELECT 8, 'currval and lastval', 'of a session from before the switch return an earlier id, and no error. Such clients must use RETURNING.'
        WHERE EXISTS (SELECT FROM changed)
        UNION ALL
        SELECT 6, format('%s.%s', k.name, k.col), 'is GENERATED ALWAYS, which refuses ids in an INSERT. A default accepts them.'
        FROM changed k WHERE k.identity = 'a')
    SELECT '-- ' || translate(object || ' ' || note, E'\n\r', '  ') FROM notes ORDER BY place, object;
END
$$;

COMMENT ON FUNCTION shardid_notes_of_change(pg_catalog.text, pg_catalog.jsonb) IS
'the comments of id_migration_commands on the columns that change';

CREATE FUNCTION shardid_inserters(columns pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT COALESCE(jsonb_agg(to_jsonb(w)), '[]') FROM (
        WITH RECURSIVE insertable (rel, through) AS (
            SELECT k.rel, k.rel FROM jsonb_to_recordset(columns) k (rel oid, why_not text) WHERE k.why_not IS NULL
            UNION
            -- A view of a role that cannot insert itself leads nobody's rows to the table.
            SELECT i.rel, w.ev_class FROM insertable i JOIN pg_depend q ON q.refclassid = 'pg_class'::regclass AND q.refobjid = i.through
            JOIN pg_rewrite w ON q.classid = 'pg_rewrite'::regclass AND w.oid = q.objid
            JOIN pg_class v ON v.oid = w.ev_class AND has_any_column_privilege(v.relowner, i.through, 'INSERT'))
        SELECT DISTINCT x.rel, CASE x.role WHEN 0 THEN 'public' ELSE pg_get_userbyid(x.role) END AS name,
               CASE x.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.role)) END AS quoted
        FROM (SELECT i.rel, x.grantee FROM insertable i JOIN pg_class c ON c.oid = i.through,
                  aclexplode(COALESCE(c.relacl, acldefault('r', c.relowner))) x WHERE x.privilege_type = 'INSERT'
              UNION
              SELECT i.rel, x.grantee FROM insertable i JOIN pg_attribute a ON a.attrelid = i.through, aclexplode(a.attacl) x
              WHERE x.privilege_type = 'INSERT'
              UNION
              SELECT i.rel, m.roleid FROM insertable i, pg_auth_members m WHERE m.roleid = 'pg_write_all_data'::regrole) x (rel, role)) w);
END
$$;

COMMENT ON FUNCTION shardid_inserters(pg_catalog.jsonb) IS
'the roles with INSERT on each of these tables, also through views';

CREATE FUNCTION shardid_missing_grants(
    ids pg_catalog.text,
    of_function pg_catalog.oid,
    one_generator pg_catalog.oid,
    inserters pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    as_caller CONSTANT boolean := NOT COALESCE((SELECT p.prosecdef FROM pg_proc p WHERE p.oid = of_function), false);
    -- What no dependency shows: a function in PL/pgSQL uses what it names.
    its_text CONSTANT text := (SELECT p.prosrc FROM pg_proc p WHERE p.oid = of_function AND p.prosqlbody IS NULL AND NOT p.prosecdef);
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
    rights CONSTANT text := CASE WHEN a_mark IS NULL THEN 'USAGE' ELSE 'USAGE, UPDATE' END;
    own_next_id CONSTANT oid := to_regprocedure(ids || '.next_id(regclass, timestamptz, int, int)');
BEGIN
    RETURN QUERY
    WITH RECURSIVE called (oid, home) AS (
        SELECT f.oid, f.pronamespace FROM pg_proc f
        WHERE f.pronamespace <> 'pg_catalog'::regnamespace AND strpos(its_text, f.oid::regproc || '(') > 0
          AND its_text ~ ('(?<![\w$".])' || regexp_replace(f.oid::regproc::text, '(\W)', '\\\1', 'g') || '\(')),
    functions (oid) AS (
        SELECT COALESCE(of_function, own_next_id)
        UNION
        SELECT called.oid FROM called
        UNION
        SELECT q.refobjid FROM functions f JOIN pg_proc p ON p.oid = f.oid AND NOT p.prosecdef
        JOIN pg_depend q ON q.classid = 'pg_proc'::regclass AND q.objid = f.oid
        WHERE q.refclassid = 'pg_proc'::regclass AND q.refobjid <> p.prosupport),
    named AS (
        SELECT DISTINCT w.name, w.quoted FROM jsonb_to_recordset(inserters) w (name text, quoted text)),
    read (oid, relkind, home) AS (
        SELECT c.oid, c.relkind, c.relnamespace FROM pg_class c
        WHERE c.relkind IN ('S', 'r', 'p', 'v', 'm') AND c.relnamespace <> 'pg_catalog'::regnamespace
          AND strpos(its_text, c.oid::regclass::text) > 0
          AND its_text ~ ('(?<![\w$".])' || regexp_replace(c.oid::regclass::text, '(\W)', '\\\1', 'g') || '(?![\w$".])')),
    objects AS (
        SELECT c.oid, c.relkind FROM pg_class c WHERE c.oid = one_generator AND as_caller
        UNION
        SELECT c.oid, c.relkind FROM pg_depend q JOIN pg_class c ON c.oid = q.refobjid
        WHERE q.classid = 'pg_proc'::regclass AND q.objid = of_function AND as_caller AND q.refclassid = 'pg_class'::regclass
          AND c.relkind IN ('S', 'r', 'p', 'v', 'm')
        UNION
        SELECT oid, relkind FROM read),
    homes (oid) AS (    -- schemas, which are looked up by name at each call
        SELECT home FROM called UNION SELECT home FROM read),
    missing AS (
        SELECT n.quoted, format('GRANT USAGE ON SCHEMA %s TO %s', h.oid::regnamespace, n.quoted) AS command,
               has_schema_privilege(h.oid, 'USAGE WITH GRANT OPTION') AS is_grantable
        FROM named n, homes h WHERE NOT has_schema_privilege(n.name, h.oid, 'USAGE')
        UNION ALL
        SELECT n.quoted, format('GRANT %s ON SEQUENCE %s TO %s', rights, o.oid::regclass, n.quoted),
               has_sequence_privilege(o.oid, 'USAGE WITH GRANT OPTION')
        FROM named n, objects o
        WHERE CASE WHEN o.relkind = 'S' THEN NOT has_sequence_privilege(n.name, o.oid, 'USAGE')
                                             OR a_mark IS NOT NULL AND NOT has_sequence_privilege(n.name, o.oid, 'UPDATE') END
        UNION ALL
        SELECT n.quoted, format('GRANT SELECT ON %s TO %s', o.oid::regclass, n.quoted), has_table_privilege(o.oid, 'SELECT WITH GRANT OPTION')
        FROM named n, objects o WHERE CASE WHEN o.relkind <> 'S' THEN NOT has_table_privilege(n.name, o.oid, 'SELECT') END
        UNION ALL
        SELECT n.quoted, format('GRANT EXECUTE ON FUNCTION %s TO %s', f.oid::regprocedure, n.quoted),
               has_function_privilege(f.oid, 'EXECUTE WITH GRANT OPTION')
        FROM named n, functions f WHERE NOT has_function_privilege(n.name, f.oid, 'EXECUTE')
        UNION ALL
        SELECT n.quoted, format('CALL %s.shardid_grant_marks(%L)', ids, n.name), has_sequence_privilege(a_mark, 'USAGE WITH GRANT OPTION')
        FROM named n WHERE CASE WHEN a_mark IS NOT NULL AND as_caller THEN NOT (has_sequence_privilege(n.name, a_mark, 'USAGE')
                                                                 AND has_sequence_privilege(n.name, a_mark, 'UPDATE')) END)
    SELECT CASE WHEN is_grantable THEN command ELSE '-- The owner must run: ' || translate(command, E'\n\r', '  ') END
    FROM missing ORDER BY quoted, command;
END
$$;

COMMENT ON FUNCTION shardid_missing_grants(pg_catalog.text, pg_catalog.oid, pg_catalog.oid, pg_catalog.jsonb) IS
'the GRANTs that roles with INSERT lack for the new default';

CREATE FUNCTION shardid_columns_by_sequence(columns pg_catalog.jsonb, inserters pg_catalog.jsonb)
RETURNS SETOF pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH k AS MATERIALIZED (
        SELECT k.*, count(*) FILTER (WHERE NOT k.of_parent) OVER (PARTITION BY k.seq) AS n
        FROM jsonb_to_recordset(columns) k (rel oid, name text, col text, identity text, of_parent bool, is_parted bool,
                                          expression text, seq oid, why_not text)
        WHERE k.why_not IS NULL),
    granted AS MATERIALIZED (
        SELECT k.seq, array_agg(DISTINCT w.quoted) AS grantees
        FROM k JOIN jsonb_to_recordset(inserters) w (rel oid, name text, quoted text) USING (rel) WHERE w.name <> current_user GROUP BY k.seq)
    SELECT to_jsonb(u) FROM (
        SELECT k.seq, k.seq::regclass::text AS seq_name, max(k.identity) AS identity, k.n, granted.grantees,
               jsonb_agg(to_jsonb(k) ORDER BY NOT k.is_parted, k.name) AS columns,
               (array_agg(k.col ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS col,
               (array_agg(k.name ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS parent,
               (array_agg(k.expression ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS expression,
               -- Less than deadlock_timeout: in a deadlock this gives way, and the application is not refused.
               format(E'SET LOCAL lock_timeout = %L;\nLOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', CASE WHEN k.n = 1 THEN '3s' ELSE '900ms' END,
                      string_agg(CASE WHEN k.identity = '' THEN 'ONLY ' ELSE '' END || k.name, ', ' ORDER BY NOT k.is_parted, k.name)
                          FILTER (WHERE NOT k.of_parent)) AS locking,
               format(CASE WHEN k.n = 1 THEN '%s' ELSE '(%s) highest (id)' END,
                      string_agg(format(CASE WHEN k.n = 1 THEN '%2$s' ELSE 'SELECT %1$s FROM %2$s' END, k.col, k.name), ' UNION ALL '
                                 ORDER BY k.name) FILTER (WHERE NOT k.of_parent)) AS source
        FROM k LEFT JOIN granted USING (seq) GROUP BY k.seq, k.n, granted.grantees ORDER BY min(k.name), k.seq) u;
END
$$;

COMMENT ON FUNCTION shardid_columns_by_sequence(pg_catalog.jsonb, pg_catalog.jsonb) IS
'the columns that change, grouped by sequence, since those of one sequence change together';

CREATE FUNCTION shardid_change_commands(
    ids pg_catalog.text,
    of_sequence pg_catalog.jsonb,
    u_generator pg_catalog.text,
    own_generator boolean,
    layout pg_catalog.text,
    default_call pg_catalog.text,
    soon bigint)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    u record;
    highest bigint;
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
    rights CONSTANT text := CASE WHEN a_mark IS NULL THEN 'USAGE' ELSE 'USAGE, UPDATE' END;
    new_id CONSTANT text := format(default_call, u_generator);
    id CONSTANT text := CASE WHEN (of_sequence ->> 'n')::int = 1 THEN of_sequence ->> 'col' ELSE 'id' END;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (grantees text[], columns jsonb, locking text, source text);
    EXECUTE format('SELECT max(%s) FROM %s', id, u.source) INTO highest;
    RETURN concat_ws(E'\n',
        -- It belongs to no column: clients call setval on the sequence that pg_get_serial_sequence returns.
        CASE WHEN own_generator THEN format('CREATE SEQUENCE %s;', u_generator) END,
        CASE WHEN own_generator THEN
            (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s;', rights, u_generator, g), E'\n' ORDER BY g) FROM unnest(u.grantees) g) END,
        -- Without a shard this fails as next_id does: now, and not at the first INSERT.
        format('DO %L;', format($try$BEGIN IF %s IS NULL THEN RAISE 'the new default generates no id' USING ERRCODE = '55000'; END IF; END$try$, new_id)),
        u.locking,
        CASE WHEN highest >= soon THEN format('SELECT %s.raise_generator(%s) FROM %s;', ids,
            concat_ws(', ', quote_literal(u_generator), format('pg_catalog.max(%s)', id), layout), u.source) END,
        (SELECT string_agg(concat_ws(E'\n',
             CASE WHEN k.identity <> '' AND NOT k.of_parent THEN format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', k.name, k.col) END,
             format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', k.name, k.col, new_id)), E'\n' ORDER BY NOT k.is_parted, k.name)
         FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, of_parent bool, is_parted bool)));
END
$$;

COMMENT ON FUNCTION shardid_change_commands(pg_catalog.text, pg_catalog.jsonb, pg_catalog.text, boolean, pg_catalog.text, pg_catalog.text, bigint) IS
'the commands of id_migration_commands for the columns of a sequence';

CREATE FUNCTION shardid_sequence_rights(sequence pg_catalog.regclass)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
BEGIN
    SELECT * INTO c FROM pg_class WHERE oid = sequence;
    RETURN concat_ws(E'\n',
        (SELECT string_agg(DISTINCT format('REVOKE ALL ON SEQUENCE %s FROM %s;', sequence,
                                              CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END), E'\n')
         FROM pg_default_acl d, aclexplode(d.defaclacl) x
         WHERE d.defaclobjtype = 'S' AND d.defaclrole = c.relowner AND d.defaclnamespace IN (0, c.relnamespace) AND x.grantee <> c.relowner),
        (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s%s;', x.privilege_type, sequence,
                                     CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END,
                                     CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), E'\n')
         FROM aclexplode(c.relacl) x WHERE x.grantee <> c.relowner));
END
$$;

COMMENT ON FUNCTION shardid_sequence_rights(pg_catalog.regclass) IS
'the commands that restore the privileges of a sequence that is created anew';

CREATE FUNCTION shardid_back_commands(
    ids pg_catalog.text,
    of_sequence pg_catalog.jsonb,
    u_generator pg_catalog.text,
    own_generator boolean,
    layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    u record;
    r record;
    rights text;
    commands text;
    tag text;
    id CONSTANT text := CASE WHEN (of_sequence ->> 'n')::int = 1 THEN of_sequence ->> 'col' ELSE 'id' END;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (seq oid, seq_name text, identity text, columns jsonb, col text, parent text,
         expression text, locking text, source text);
    SELECT q.*, CASE WHEN q.seqincrement < 0 THEN 'LEAST' ELSE 'GREATEST' END AS edge,
           CASE WHEN q.seqincrement < 0 THEN 'min' ELSE 'max' END AS furthest,
           q.seqincrement > 0 AND q.seqmax < 9223372036854775807 AS is_narrow,
           pg_sequence_last_value(u.seq::regclass) AS last,
           obj_description(c.oid, 'pg_class') AS comment INTO r
    FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid WHERE q.seqrelid = u.seq;
    EXECUTE format('SELECT %s.shardid_sequence_rights($1)', ids) INTO rights USING u.seq::regclass;
    commands := concat_ws(E'\n', u.locking,
        (SELECT string_agg(
             CASE WHEN k.identity = '' THEN format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', k.name, k.col,
                                                  -- Its first string has all backslashes: one that reads alike in every session.
                                                  CASE WHEN strpos(k.expression, '\') = 0 THEN k.expression
                                                       ELSE regexp_replace(replace(k.expression, '\', '\\'), '''', 'E''') END)
                 ELSE format('ALTER TABLE ONLY %s ALTER COLUMN %s DROP DEFAULT;', k.name, k.col) END, E'\n' ORDER BY NOT k.is_parted, k.name)
         FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, is_parted bool, expression text)),
        CASE WHEN u.identity <> '' THEN format(E'ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY\n'
            '    (SEQUENCE NAME %s START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s);',
            u.parent, u.col, CASE u.identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, u.seq_name, r.seqstart, r.seqincrement,
            r.seqmin, r.seqmax, r.seqcache) END,
        -- Ids of rows that were deleted are not repeated either.
        format('highest := (SELECT pg_catalog.%s(%s) FROM %s);', r.furthest, id, u.source),
        CASE WHEN r.seqincrement > 0 THEN
            format(E'highest := GREATEST(highest,\n'
                   '    (SELECT %1$s.id_lower_bound(s.last_ts + interval ''1 ms''%3$s) FROM %1$s.id_generator_status(%2$L%3$s) s));',
                   ids, u_generator, ', ' || layout) END,
        CASE WHEN r.is_narrow THEN format(E'IF highest > %s THEN\n    %s;\nEND IF;', r.seqmax,
            CASE WHEN u.identity = '' THEN format('ALTER SEQUENCE %s AS bigint NO MAXVALUE', u.seq_name)
                 ELSE format('ALTER TABLE %s ALTER COLUMN %s SET NO MAXVALUE', u.parent, u.col) END) END,
        format(E'PERFORM pg_catalog.setval(%L, %s(highest%s, s.last_value), true)\nFROM %s s WHERE s.is_called OR highest %s s.last_value;',
               u.seq_name, r.edge,
               CASE WHEN r.seqincrement > 1 THEN format(' + ((s.last_value - highest) %% %1$s + %1$s) %% %1$s', r.seqincrement) END,
               u.seq_name, CASE WHEN r.seqincrement < 0 THEN '<=' ELSE '>=' END),
        CASE WHEN u.identity <> '' AND r.last IS NOT NULL THEN format('PERFORM pg_catalog.setval(%L, %s(%s, s.last_value)) FROM %s s;',
                                                               u.seq_name, r.edge, r.last, u.seq_name) END,
        CASE WHEN u.identity <> '' THEN NULLIF(rights, '') END,
        CASE WHEN u.identity <> '' AND r.comment <> '' THEN format('COMMENT ON SEQUENCE %s IS %L;', u.seq_name, r.comment) END,
        CASE WHEN own_generator AND to_regclass(u_generator) IS NULL THEN format('DROP SEQUENCE IF EXISTS %s;', u_generator) END);
    tag := 'back';
    WHILE strpos(commands, '$' || tag || '$') > 0 LOOP
        tag := tag || '_';
    END LOOP;
    -- A column that has not changed keeps its sequence as it is.
    commands := format(E'DO $%1$s$\n#variable_conflict use_column\nDECLARE\n    highest bigint;\nBEGIN\n'
                       -- Saved defaults name functions, types and operators of pg_catalog without it.
                       'PERFORM pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true),\n'
                       '    pg_catalog.set_config(''quote_all_identifiers'', ''off'', true),\n'
                       '    pg_catalog.set_config(''standard_conforming_strings'', ''on'', true);\n'
                       'IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum\n'
                       '               WHERE attrelid = %3$L::pg_catalog.regclass AND attname = %4$L\n'
                       '                 AND (attidentity <> '''' OR pg_catalog.pg_get_expr(adbin, adrelid) = %5$L)) THEN\n'
                       '%2$s\nEND IF;\nEND\n$%1$s$', tag, commands, u.parent, (parse_ident(u.col))[1], u.expression);
    RETURN commands;
END
$$;

COMMENT ON FUNCTION shardid_back_commands(pg_catalog.text, pg_catalog.jsonb, pg_catalog.text, boolean, pg_catalog.text) IS
'the commands that restore the columns of a sequence as they are now';

CREATE FUNCTION id_migration_commands(
    schema pg_catalog.regnamespace,
    back boolean DEFAULT false,
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    function pg_catalog.regprocedure DEFAULT NULL::pg_catalog.regprocedure,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    home pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC'
    SET standard_conforming_strings = on SET quote_all_identifiers = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    -- The functions are in the schema of this sequence, wherever the extension was moved.
    ids CONSTANT text := (SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = home);
    layout CONSTANT text := CASE WHEN (epoch, shard_bits, sequence_bits) <> ('2011-08-24 21:07:01.721+00', 13, 10)
        THEN format('epoch => %L, shard_bits => %s, sequence_bits => %s', epoch, shard_bits, sequence_bits) END;
    default_call text;    -- a format, to which the generator is passed
    soon bigint;
    columns jsonb;        -- whose values come from a sequence
    inserters jsonb;
    u record;
    u_generator text;
    is_empty boolean := true;
BEGIN
    IF schema IS NULL OR back IS NULL OR epoch IS NULL OR shard_bits IS NULL OR sequence_bits IS NULL OR ids IS NULL THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_roles JOIN pg_stat_get_activity(pg_backend_pid()) ON usesysid = oid WHERE rolsuper AND rolname <> current_user) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser cannot run this as another role',
            DETAIL = 'Functions of its tables could run RESET ROLE.',
            HINT = format('Connect as "%s", or as a role without rights that is a member of it.', current_user);
    END IF;
    EXECUTE format('SELECT %s.shardid_new_default($1, $2, $3, $4, $5)', ids)
    INTO default_call USING ids, function::oid, generator::oid, home::oid, layout;
    IF NOT back THEN
        IF EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = generator AND d.refobjsubid > 0) THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('generator "%s" is owned by a column', generator),
                DETAIL = 'DROP TABLE would drop it, and many scripts set the sequences of columns to the highest id, which stops a generator.',
                HINT = format('Run ALTER SEQUENCE %s OWNED BY NONE, or pass another sequence.', generator);
        END IF;
        -- Ids below this are below all that are generated from now on, even if the clock steps back.
        EXECUTE format('SELECT %s.id_lower_bound(greatest($1, clock_timestamp() - interval ''30 days''), $1, $2, $3)', ids)
            USING epoch, shard_bits, sequence_bits INTO soon;
    END IF;

    EXECUTE format('SELECT %1$s.shardid_unchanged_columns(%1$s.shardid_sequence_columns($1))', ids) INTO columns USING schema::oid;
    IF NOT back THEN
        RETURN QUERY EXECUTE format('SELECT %s.shardid_notes_of_change($1, $2)', ids) USING ids, columns;
        EXECUTE format('SELECT %s.shardid_inserters($1)', ids) INTO inserters USING columns;
        RETURN QUERY EXECUTE format('SELECT %s.shardid_missing_grants($1, $2, $3, $4)', ids)
        USING ids, function::oid, generator::oid, inserters;
    END IF;

    -- The columns of one sequence change together: in one row, which is one transaction.
    FOR u IN EXECUTE format('SELECT s.of_sequence, r.* FROM %s.shardid_columns_by_sequence($1, $2) WITH ORDINALITY s (of_sequence, place), '
                            'jsonb_to_record(s.of_sequence) r (seq oid) ORDER BY s.place', ids) USING columns, inserters
    LOOP
        u_generator := COALESCE(generator::text, (
            SELECT format('%s.%I', c.relnamespace::regnamespace,
                          CASE WHEN octet_length(c.relname) > 53 THEN md5(c.relname) ELSE c.relname END || '_generator')
            FROM pg_class c WHERE c.oid = u.seq));
        IF back THEN
            RETURN QUERY EXECUTE format('SELECT %s.shardid_back_commands($1, $2, $3, $4, $5)', ids)
            USING ids, u.of_sequence, u_generator, generator IS NULL, layout;
        ELSE
            RETURN QUERY EXECUTE format('SELECT %s.shardid_change_commands($1, $2, $3, $4, $5, $6, $7)', ids)
            USING ids, u.of_sequence, u_generator, generator IS NULL, layout, default_call, soon;
        END IF;
        is_empty := false;
    END LOOP;

    IF back AND is_empty THEN
        RETURN NEXT '-- No column has an identity or a default from a sequence. Save the way back before the columns change.';
    END IF;
    IF is_empty OR NOT back THEN
        RETURN QUERY SELECT '-- ' || translate(format('%s.%s %s', k.name, k.col, k.why_not), E'\n\r', '  ')
        FROM jsonb_to_recordset(columns) k (name text, col text, why_not text) WHERE k.why_not <> '' ORDER BY k.name, k.col;
    END IF;
END
$$;

COMMENT ON FUNCTION id_migration_commands(pg_catalog.regnamespace, boolean, pg_catalog.regclass, pg_catalog.regprocedure,
                                          pg_catalog.timestamptz, int, int, pg_catalog.regclass) IS
'the commands that make next_id the default of a schema''s columns instead of their sequences, or those that undo it';

