\echo Use "CREATE EXTENSION shardid_lease" to load this file. \quit

-- Only what is in pg_catalog is found by its name alone: no object of another role can be called instead.
SET LOCAL search_path = pg_catalog, pg_temp;

-- The schema's name is fixed: a member asks its registry, on another server, for functions of this schema.
--
-- The caller's role decides what may be done, but only superusers may write these tables: so shardid_as_owner calls the
-- function whose name ends in _by, as the extension's owner, and passes the caller's role first.

-- A schema that exists is refused: other roles' code may be in it, or be put there.
CREATE SCHEMA shardid_lease;

-- ==== A type: roles and sequences that a dump names, and that may be missing where it is restored ====

-- role_oid() and sequence_oid() return NULL for what is missing.

CREATE TYPE shardid_lease.late_name;
CREATE FUNCTION shardid_lease.late_name_in(cstring) RETURNS shardid_lease.late_name
AS 'MODULE_PATHNAME', 'shardid_late_name_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION shardid_lease.late_name_out(shardid_lease.late_name) RETURNS cstring
AS 'MODULE_PATHNAME', 'shardid_late_name_out' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE TYPE shardid_lease.late_name (INPUT = shardid_lease.late_name_in, OUTPUT = shardid_lease.late_name_out, LIKE = text);
CREATE FUNCTION shardid_lease.role_ref(role oid) RETURNS shardid_lease.late_name
AS 'MODULE_PATHNAME', 'shardid_role_ref' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION shardid_lease.sequence_ref(sequence oid) RETURNS shardid_lease.late_name
AS 'MODULE_PATHNAME', 'shardid_sequence_ref' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION shardid_lease.role_oid(role shardid_lease.late_name) RETURNS oid
AS 'MODULE_PATHNAME', 'shardid_role_oid' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION shardid_lease.sequence_oid(sequence shardid_lease.late_name) RETURNS oid
AS 'MODULE_PATHNAME', 'shardid_sequence_oid' LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON TYPE shardid_lease.late_name IS 'a role or a sequence, stored by its OID and shown by its name; or a name read from a dump';

-- ==== The registry: tables. A time is in milliseconds since the epoch of its id space ====

CREATE TABLE shardid_lease.id_space (
    name text PRIMARY KEY,
    owner shardid_lease.late_name NOT NULL,
    epoch timestamptz NOT NULL, shard_bits int NOT NULL, sequence_bits int NOT NULL,
    lease_ms bigint NOT NULL, max_ahead_ms bigint NOT NULL,
    not_before bigint NOT NULL,
    identity text NOT NULL,
    secret text NOT NULL,
    branch text NOT NULL,
    was_set_back boolean NOT NULL);

-- Where the registry of an id space was last confirmed, and how. Dumps do not have it: a registry that is
-- restored from one, even into the same database, has to be confirmed.
CREATE TABLE shardid_lease.registry_confirmation (
    identity text PRIMARY KEY,
    place text NOT NULL, system_identifier text NOT NULL, timeline bigint NOT NULL,
    host text NOT NULL, port int NOT NULL, database text NOT NULL,
    backup text NOT NULL,
    started text NOT NULL,
    was_restored boolean NOT NULL);

CREATE TABLE shardid_lease.granted_shard (
    space text NOT NULL REFERENCES shardid_lease.id_space,
    shard int NOT NULL,
    state text NOT NULL,
    from_ms bigint NOT NULL, until_ms bigint NOT NULL,
    origin text, lease text, place text, family text, moved_at pg_lsn, role shardid_lease.late_name,
    host text, port int, database text,
    since timestamptz,
    -- The last starts of the server in the holder's place, in the order in which they were seen, as microseconds since 1970.
    starts bigint[],
    serial bigint NOT NULL,
    -- Of the id space, when the row was changed last.
    branch text,
    comment text,
    PRIMARY KEY (space, shard));

COMMENT ON TABLE shardid_lease.id_space IS 'the id spaces of this registry';
COMMENT ON TABLE shardid_lease.registry_confirmation IS 'where the registry of each id space was confirmed';
COMMENT ON TABLE shardid_lease.granted_shard IS 'the shards that were ever granted or reserved: their holders and last windows of time';

-- A registry that is restored from a dump has to know what was granted.
SELECT pg_extension_config_dump('shardid_lease.id_space', '');
SELECT pg_extension_config_dump('shardid_lease.granted_shard', '');

CREATE TYPE shardid_lease.registry_in_use AS ();

-- What a member asks, and what its registry answers. The number is the version of both: between two servers it is in each
-- statement, and a registry of another version says that it does not have the type.
CREATE TYPE shardid_lease.request_1 AS (
    kind text, -- join, renew, take_over, return
    space text, shard int, origin text, lease text, registry text, receipt text, displaces bigint,
    place text, family text, moved_at pg_lsn, tick bigint, bound_epoch bigint, bound_shard_bits int, bound_sequence_bits int,
    started bigint, clock bigint, host text, port int, database text);

-- is_final: nothing is left to be released. is_later: the same request can be granted later.
CREATE TYPE shardid_lease.grant_1 AS (
    origin text, lease text, space text, shard int, serial bigint, family text, moved_at pg_lsn,
    from_ms bigint, until_ms bigint, receipt text, registry text, lease_ms bigint, epoch_ms bigint, shard_bits int, sequence_bits int,
    error text, is_final boolean, is_later boolean);

-- Keeps logical replication from changing the rows, which are true in this database only.
CREATE FUNCTION shardid_lease.keep_own_rows() RETURNS trigger
AS 'MODULE_PATHNAME', 'shardid_keep_own_rows' LANGUAGE C;

-- One of these tables that logical replication can change: a restore by pg_restore --disable-triggers leaves a trigger that
-- is not fired for it. Not in SQL: fmgr_sql() locks tables once in a transaction, and read_lease() releases its locks.
CREATE FUNCTION shardid_lease.open_table(own regclass[]) RETURNS regclass LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN (SELECT o FROM unnest(own) o WHERE NOT EXISTS (
        SELECT FROM pg_trigger t WHERE t.tgrelid = o AND t.tgname = 'keep_own_rows' AND t.tgenabled = 'A') LIMIT 1);
END
$body$;

-- ==== The registry: times, and what SQL cannot find out ====

-- ms_of: in whole milliseconds since 1970. now_ms: the clock, in those of an id space.
CREATE FUNCTION shardid_lease.ms_of(ts timestamptz) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM ts) * 1000);

CREATE FUNCTION shardid_lease.now_ms(epoch timestamptz) RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN shardid_lease.ms_of(clock_timestamp()) - shardid_lease.ms_of(epoch);

CREATE FUNCTION shardid_lease.ts_of(ms bigint, epoch timestamptz) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
RETURN epoch + (ms * interval '1 millisecond');

CREATE FUNCTION shardid_lease.check_layout(epoch timestamptz, shard_bits int, sequence_bits int) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_check_layout' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION shardid_lease.place_of(generator oid) RETURNS text
AS 'MODULE_PATHNAME', 'shardid_place_of' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.host_name() RETURNS text
AS 'MODULE_PATHNAME', 'shardid_host_name' LANGUAGE C;
CREATE FUNCTION shardid_lease.try_shard_lock(space text, shard int) RETURNS boolean
AS 'MODULE_PATHNAME', 'shardid_try_shard_lock' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.wait_until_durable() RETURNS void
AS 'MODULE_PATHNAME', 'shardid_wait_until_durable' LANGUAGE C;

-- As in the names of files in pg_wal. Raises an error during recovery.
CREATE FUNCTION shardid_lease.timeline() RETURNS text LANGUAGE sql VOLATILE
RETURN left(pg_walfile_name(pg_current_wal_lsn()), 8);

CREATE FUNCTION shardid_lease.started_us() RETURNS bigint LANGUAGE sql STABLE
RETURN extract(epoch FROM pg_postmaster_start_time()) * 1000000;

-- Where a registry is; and what the recovery that read it has left of the file backup_label.
CREATE FUNCTION shardid_lease.this_server() RETURNS shardid_lease.registry_confirmation LANGUAGE sql VOLATILE
RETURN ROW(NULL, shardid_lease.place_of(0), (SELECT c.system_identifier FROM pg_control_system() c),
    ('x' || shardid_lease.timeline())::bit(32)::bigint, shardid_lease.host_name(), current_setting('port')::int, current_database(),
    coalesce(encode(sha256(pg_read_binary_file('backup_label.old', 0, 1 << 20, true)), 'hex'), ''),
    shardid_lease.started_us(), NULL)::shardid_lease.registry_confirmation;

-- Whether the recovery that began this timeline had no target to stop at: the history of a timeline, which stays in
-- pg_wal, ends with what getRecoveryStopReason() of xlogrecovery.c wrote about it. A server without that file has lost
-- WAL, by pg_resetwal for instance.
CREATE FUNCTION shardid_lease.replayed_all_wal() RETURNS boolean LANGUAGE sql VOLATILE
RETURN shardid_lease.timeline() = '00000001' OR coalesce(encode(
    pg_read_binary_file(format('pg_wal/%s.history', shardid_lease.timeline()), 0, 1 << 20, true), 'escape')
    ~ '[[:space:]]no recovery target specified[[:space:]]*$', false);

-- ==== The registry: what all its functions check ====

-- A snapshot that is older than the last commit would hide what was granted.
CREATE FUNCTION shardid_lease.check_transaction() RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'a registry cannot be used at this isolation level',
            DETAIL = format('The isolation level is %s.', current_setting('transaction_isolation')),
            HINT = 'Run this in a transaction whose isolation level is read committed.';
    END IF;
END
$body$;

-- A standby that is promoted must not have forgotten what an owner was told.
CREATE FUNCTION shardid_lease.check_durability() RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM shardid_lease.check_transaction();
    IF current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'the registry has to wait for its synchronous standby',
            DETAIL = format('synchronous_commit is %s.', current_setting('synchronous_commit')),
            HINT = 'Run SET synchronous_commit = on in this session first.';
    END IF;
END
$body$;

-- If the owner is missing, superusers own the id space.
CREATE FUNCTION shardid_lease.is_owner(caller regrole, owner shardid_lease.late_name) RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(pg_has_role(caller, shardid_lease.role_oid(owner), 'USAGE'), (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = caller));

-- A copy of the registry grants nothing until its owner has confirmed it. A file backup_label.old that was not there
-- before shows that the server was started from a base backup.
CREATE FUNCTION shardid_lease.where_differs(known shardid_lease.registry_confirmation, here shardid_lease.registry_confirmation) RETURNS text
LANGUAGE sql STABLE
RETURN (SELECT nullif(concat_ws(', ',
        CASE WHEN other_cluster THEN format('system identifier %s instead of %s', (here).system_identifier,
            (known).system_identifier) END,
        CASE WHEN (known).timeline <> (here).timeline THEN
            format('timeline %s instead of %s', (here).timeline, (known).timeline) END,
        CASE WHEN other_host THEN format('host %s instead of %s', (here).host, (known).host) END,
        CASE WHEN NOT (other_cluster OR other_host) AND split_part((known).place, '/', 1) <> split_part((here).place, '/', 1)
            THEN 'another data directory or machine-id' END,
        CASE WHEN split_part((known).place, '/', 2) <> split_part((here).place, '/', 2) THEN
            format('another database than "%s" was', (known).database) END,
        CASE WHEN (here).backup NOT IN ('', (known).backup) THEN 'started from a base backup' END), '')
    FROM (VALUES ((known).system_identifier <> (here).system_identifier, (known).host <> (here).host)) d (other_cluster, other_host));

CREATE FUNCTION shardid_lease.why_stopped(space shardid_lease.id_space) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
    known shardid_lease.registry_confirmation;
    differs text;
    open_table text := shardid_lease.open_table('{shardid_lease.id_space,shardid_lease.registry_confirmation,shardid_lease.granted_shard}');
BEGIN
    SELECT * INTO known FROM shardid_lease.registry_confirmation c WHERE c.identity = space.identity;
    differs := shardid_lease.where_differs(known, shardid_lease.this_server());
    RETURN CASE
        WHEN space.was_set_back THEN format('id space "%s" is stopped, as the registry has forgotten what it granted: '
            'its owner must run registry_was_restored()', space.name)
        WHEN known.identity IS NULL THEN format('id space "%s" is stopped, as its registry comes from a dump: its owner '
            'must run registry_was_restored()', space.name)
        WHEN differs IS NOT NULL THEN format('id space "%s" is stopped, as its registry is not where it was confirmed '
            '(%s): its owner must run registry_was_restored() if commits may be lost or if in doubt, or '
            'registry_was_moved() if nothing is lost and no other copy of it runs', space.name, differs)
        WHEN open_table IS NOT NULL THEN format('id space "%s" is stopped, as logical replication can change its registry: '
            'run ALTER TABLE %s ENABLE ALWAYS TRIGGER keep_own_rows there as a superuser', space.name, open_table) END;
END
$body$;

-- A receipt for a grant that the registry does not have proves that the registry was set back: it is given only for
-- what is committed and durable, by receipts(). Each call of registry_was_restored() begins another branch. A receipt
-- is shard.branch.serial.until.signature.
CREATE FUNCTION shardid_lease.signed(space shardid_lease.id_space, claims text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN concat_ws('.', claims,
    encode(sha256(convert_to(concat_ws('|', (space).secret, claims, (space).secret), 'UTF8')), 'hex'));

-- Why the request is refused, whoever holds the shard. If the receipt proves that the registry was set back, the id space
-- is stopped. seen: the serial of the receipt, if it is for the requested shard or if no shard is requested.
CREATE FUNCTION shardid_lease.check_request(request shardid_lease.request_1, space shardid_lease.id_space, OUT why text, OUT seen bigint, OUT is_later boolean)
LANGUAGE plpgsql AS $body$
DECLARE
    last_shard bigint := (1::bigint << space.shard_bits) - 1;
    other_space boolean := coalesce(request.registry <> space.identity, false);
    claims text[] := string_to_array(request.receipt, '.');
BEGIN
    seen := 0; is_later := false;
    why := CASE
        WHEN space.name IS NULL THEN format('id space "%s" does not exist', request.space)
        WHEN num_nulls(request.origin, request.family, request.moved_at, request.place, request.host, request.database) > 0
            OR (request.kind IN ('join', 'renew', 'take_over', 'return') AND request.started BETWEEN 0 AND 1::bigint << 60
                AND request.clock BETWEEN 0 AND 1::bigint << 50 AND request.port BETWEEN 0 AND 65535) IS NOT TRUE
            OR request.shard < 0 OR request.shard IS NULL AND request.kind IN ('renew', 'take_over') OR request.tick < 0 THEN
            'the request is not complete, or a number in it is out of range'
        WHEN length(request::text) > 4000 OR concat(request.host, request.database) ~ '[[:cntrl:]]' THEN
            'the request is too long, or a name in it has control characters'
        WHEN other_space AND request.kind NOT IN ('join', 'take_over') THEN
            format('id space "%s" of this registry is another one than the one that the lease is of: run '
                'take_over_shard() if this registry has replaced that one', space.name)
        WHEN request.shard NOT BETWEEN 0 AND last_shard THEN
            format('id space "%s" has shards from 0 to %s, not %s', space.name, last_shard, request.shard)
        ELSE shardid_lease.why_stopped(space) END;
    IF why IS NULL AND claims IS NOT NULL AND NOT other_space THEN
        IF shardid_lease.signed(space, array_to_string(claims[1:4], '.')) <> request.receipt THEN
            why := format('the receipt in the request is not of this registry''s id space "%s"', space.name);
            RETURN;
        END IF;
        seen := CASE WHEN claims[1]::int = coalesce(request.shard, claims[1]::int) THEN claims[3]::bigint ELSE 0 END;
        -- No registry whose clock is right gives such a one; a copy whose clock is wrong must not put windows off.
        IF claims[4]::bigint > greatest(shardid_lease.now_ms(space.epoch), space.not_before) + 24 * 3600 * 1000 THEN
            why := format('the receipt in the request is of a window until %s, more than a day ahead of the registry',
                shardid_lease.ts_of(claims[4]::bigint, space.epoch));
            RETURN;
        END IF;
        IF (CASE WHEN claims[2] <> space.branch THEN claims[4]::bigint > space.not_before
                ELSE NOT EXISTS (SELECT FROM shardid_lease.granted_shard g WHERE g.space = space.name
                    AND g.shard = claims[1]::int AND g.serial >= claims[3]::bigint) END) THEN
            UPDATE shardid_lease.id_space s
            SET was_set_back = true, not_before = greatest(s.not_before, claims[4]::bigint)
            WHERE s.identity = space.identity AND s.branch = space.branch RETURNING * INTO space;
            is_later := NOT FOUND;
            why := CASE WHEN is_later THEN 'the id space was confirmed or dropped meanwhile' ELSE shardid_lease.why_stopped(space) END;
        END IF;
    END IF;
    IF why IS NULL AND (request.bound_epoch, request.bound_shard_bits, request.bound_sequence_bits) <>
            (shardid_lease.ms_of(space.epoch), space.shard_bits, space.sequence_bits) THEN
        why := format('its ids have another layout than those of id space "%s", which has epoch => ''%s'', '
            'shard_bits => %s, sequence_bits => %s', space.name, space.epoch, space.shard_bits, space.sequence_bits);
    END IF;
END
$body$;

-- ==== The registry: functions for the owners of id spaces ====

CREATE FUNCTION shardid_lease.owned_space(caller regrole, wanted text) RETURNS shardid_lease.id_space
LANGUAGE plpgsql AS $body$
DECLARE
    space shardid_lease.id_space;
BEGIN
    PERFORM shardid_lease.check_durability();
    -- The lock is explained in grant_one().
    SELECT * INTO space FROM shardid_lease.id_space s WHERE s.name = wanted FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('id space "%s" does not exist', wanted),
            DETAIL = 'The registry is this database.',
            HINT = 'SELECT name FROM shardid_lease.id_space shows those that do.';
    ELSIF NOT shardid_lease.is_owner(caller, space.owner) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('must be owner of id space "%s"', wanted),
            DETAIL = format('Its owner is %s, and role %s is not a member of that.', space.owner, caller),
            HINT = format('Run this as %s.', space.owner);
    ELSIF shardid_lease.why_stopped(space) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('id space "%s" is stopped', wanted),
            DETAIL = format('The reason: %s.', shardid_lease.why_stopped(space)),
            HINT = 'Do what the reason says, and call it again.';
    END IF;
    RETURN space;
END
$body$;

CREATE FUNCTION shardid_lease.owned_spaces(caller regrole) RETURNS text[] LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM shardid_lease.check_durability();
    PERFORM FROM shardid_lease.id_space s WHERE shardid_lease.is_owner(caller, s.owner) ORDER BY s.name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = 'there is no id space that the caller owns',
            DETAIL = format('The caller is %s.', caller),
            HINT = 'Run this as the owner of the id spaces, or as a superuser.';
    END IF;
    RETURN ARRAY(SELECT s.name FROM shardid_lease.id_space s WHERE shardid_lease.is_owner(caller, s.owner));
END
$body$;

CREATE FUNCTION shardid_lease.confirm_here(spaces text[], was_restored boolean) RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM shardid_lease.registry_confirmation c
    USING shardid_lease.id_space s WHERE s.name = ANY (spaces) AND c.identity = s.identity;
    INSERT INTO shardid_lease.registry_confirmation
    SELECT s.identity, h.place, h.system_identifier, h.timeline, h.host, h.port, h.database, h.backup, h.started, confirm_here.was_restored
    FROM shardid_lease.id_space s, shardid_lease.this_server() h WHERE s.name = ANY (spaces);
    UPDATE shardid_lease.id_space s
    SET was_set_back = false, owner = coalesce(shardid_lease.role_ref(shardid_lease.role_oid(s.owner)), s.owner)
    WHERE s.name = ANY (spaces);
END
$body$;

CREATE FUNCTION shardid_lease.create_id_space(name text, lease interval DEFAULT '60 seconds', max_ahead interval DEFAULT NULL,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00', shard_bits int DEFAULT 13, sequence_bits int DEFAULT 10) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C;
CREATE FUNCTION shardid_lease.create_id_space_by(
    caller regrole, name text, lease interval, max_ahead interval, epoch timestamptz, shard_bits int, sequence_bits int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    lease_ms bigint := 1000 * extract(epoch FROM lease);
    max_ahead_ms bigint;
BEGIN
    PERFORM shardid_lease.check_durability();
    max_ahead := coalesce(max_ahead, greatest(interval '5 minutes', 2 * lease));
    max_ahead_ms := 1000 * extract(epoch FROM max_ahead);
    IF num_nulls(name, lease, epoch, shard_bits, sequence_bits) > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'an argument of create_id_space() is null',
            DETAIL = 'Each of them needs a value.', HINT = 'Leave out what is to have its default.';
    ELSIF octet_length(name) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_name', MESSAGE = 'name is empty or too long',
            DETAIL = format('It has %s bytes.', octet_length(name)), HINT = 'Pass a name of 1 to 63 bytes.';
    ELSIF lease_ms < 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'lease is out of range',
            DETAIL = format('The lease is %s.', lease), HINT = 'Pass an interval of 1 second or more.';
    -- After two restores of the registry, ids are still within a day of the clock.
    ELSIF NOT max_ahead_ms BETWEEN lease_ms AND 6 * 3600 * 1000 - lease_ms THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'max_ahead is out of range',
            DETAIL = format('max_ahead is %s, and the lease is %s.', max_ahead, lease),
            HINT = 'Pass an interval that is not shorter than the lease, and together with it at most 6 hours.';
    END IF;
    PERFORM shardid_lease.check_layout(epoch, shard_bits, sequence_bits);
    -- Before the row: a session that waits for this lock must not have a row that the lock's holder waits for. So the lock
    -- is one for which no change of a row waits.
    LOCK TABLE shardid_lease.id_space IN SHARE UPDATE EXCLUSIVE MODE;
    INSERT INTO shardid_lease.id_space
    VALUES (name, shardid_lease.role_ref(caller), epoch, shard_bits, sequence_bits, lease_ms, max_ahead_ms,
        0, gen_random_uuid(), concat(gen_random_uuid(), gen_random_uuid()), gen_random_uuid(), false);
    PERFORM shardid_lease.confirm_here(ARRAY[name], false);
    -- Not a member of the extension: so DROP EXTENSION without CASCADE fails where windows may be in use. On a cast nobody has
    -- a right, and nothing of others can depend on it.
    IF NOT EXISTS (SELECT FROM pg_cast c WHERE c.casttarget = 'shardid_lease.registry_in_use'::regtype) THEN
        CREATE CAST (shardid_lease.id_space AS shardid_lease.registry_in_use) WITH INOUT;
    END IF;
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_object', MESSAGE = format('id space "%s" already exists', name),
        DETAIL = 'The registry is this database.', HINT = 'Use it, or another name.';
END
$body$;

CREATE FUNCTION shardid_lease.drop_id_space(name text) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.drop_id_space_by(caller regrole, name text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    dropped shardid_lease.id_space;
BEGIN
    LOCK TABLE shardid_lease.id_space IN SHARE UPDATE EXCLUSIVE MODE;
    dropped := shardid_lease.owned_space(caller, name);
    -- After it has waited for open transactions that grant requests, it sees what they have granted.
    SELECT * INTO dropped FROM shardid_lease.id_space s WHERE s.identity = dropped.identity FOR UPDATE;
    IF dropped.not_before > 0 OR EXISTS (
            SELECT FROM shardid_lease.granted_shard g WHERE g.space = dropped.name AND g.serial > 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use', MESSAGE = format('id space "%s" is in use', dropped.name),
            DETAIL = 'A shard of it was granted or reserved, or can have been before the registry was restored.',
            HINT = 'Use it, or create one with another name.';
    END IF;
    DELETE FROM shardid_lease.granted_shard g WHERE g.space = dropped.name;
    DELETE FROM shardid_lease.id_space s WHERE s.name = dropped.name;
    DELETE FROM shardid_lease.registry_confirmation c WHERE c.identity = dropped.identity;
    IF NOT EXISTS (SELECT FROM shardid_lease.id_space) THEN
        DROP CAST (shardid_lease.id_space AS shardid_lease.registry_in_use);
    END IF;
END
$body$;

CREATE FUNCTION shardid_lease.evict_shard(space text, shard int) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.evict_shard_by(caller regrole, space text, shard int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    its_space shardid_lease.id_space := shardid_lease.owned_space(caller, space);
BEGIN
    UPDATE shardid_lease.granted_shard g
    SET state = 'released', serial = g.serial + 1, branch = its_space.branch
    WHERE g.space = its_space.name AND g.shard = evict_shard_by.shard AND g.state = 'held';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('shard %s of id space "%s" is not held', shard, space),
            DETAIL = 'The view shardid_lease.id_space_shards shows the states of the shards.',
            HINT = 'If it is reserved, run unreserve_shard().';
    END IF;
END
$body$;

CREATE FUNCTION shardid_lease.reserve_shard(space text, shard int, comment text DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C;
CREATE FUNCTION shardid_lease.reserve_shard_by(caller regrole, space text, shard int, comment text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    its_space shardid_lease.id_space := shardid_lease.owned_space(caller, space);
    last_shard bigint := (1::bigint << its_space.shard_bits) - 1;
    kept shardid_lease.granted_shard;
BEGIN
    IF shard IS NULL OR shard NOT BETWEEN 0 AND last_shard THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'shard is out of range',
            DETAIL = format('The shard is %s.', coalesce(shard::text, 'null')),
            HINT = format('Pass a shard from 0 to %s.', last_shard);
    ELSIF NOT shardid_lease.try_shard_lock(space, shard) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('shard %s of id space "%s" is in use', shard, space),
            DETAIL = 'It is being granted or reserved by another transaction.',
            HINT = 'Choose another shard, or try again.';
    END IF;
    INSERT INTO shardid_lease.granted_shard (space, shard, state, from_ms, until_ms, serial)
    VALUES (space, shard, 'released', 0, 0, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO kept FROM shardid_lease.granted_shard g
    WHERE g.space = its_space.name AND g.shard = reserve_shard_by.shard FOR UPDATE;
    IF kept.state = 'held' OR kept.state = 'released'
            AND kept.until_ms > shardid_lease.now_ms(its_space.epoch) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('shard %s of id space "%s" is in use', shard, space),
            DETAIL = format('It is %s, and its last window ends at %s.', kept.state,
                shardid_lease.ts_of(kept.until_ms, its_space.epoch)),
            HINT = CASE kept.state WHEN 'held' THEN 'Run release_shard() on its member, or evict_shard() here, and wait '
                'until then.' ELSE 'Try again then.' END;
    -- A reservation that a restore has forgotten has to be made again at once.
    ELSIF its_space.not_before > shardid_lease.now_ms(its_space.epoch) THEN
        RAISE WARNING USING MESSAGE = format('shard %s of id space "%s" may be in use', shard, space),
            DETAIL = format('A lease that the registry has forgotten can last until %s.',
                shardid_lease.ts_of(its_space.not_before, its_space.epoch)),
            HINT = 'Unless the shard was reserved before, generate no ids with it until then.';
    END IF;
    UPDATE shardid_lease.granted_shard g
    SET state = 'reserved', serial = g.serial + 1, branch = its_space.branch, comment = reserve_shard_by.comment,
        since = clock_timestamp(), origin = NULL, lease = NULL, place = NULL, family = NULL, moved_at = NULL, role = NULL, host = NULL,
        port = NULL, database = NULL, starts = NULL
    WHERE g.space = its_space.name AND g.shard = reserve_shard_by.shard;
END
$body$;

CREATE FUNCTION shardid_lease.unreserve_shard(space text, shard int) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.unreserve_shard_by(caller regrole, space text, shard int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    its_space shardid_lease.id_space := shardid_lease.owned_space(caller, space);
BEGIN
    -- It is not known which ids were generated with the shard, only that no clock was further ahead.
    UPDATE shardid_lease.granted_shard g
    SET state = 'released', serial = g.serial + 1, branch = its_space.branch, comment = NULL,
        until_ms = greatest(g.until_ms, shardid_lease.now_ms(its_space.epoch) + its_space.max_ahead_ms)
    WHERE g.space = its_space.name AND g.shard = unreserve_shard_by.shard AND g.state = 'reserved';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('shard %s of id space "%s" is not reserved', shard, space),
            DETAIL = 'The view shardid_lease.id_space_shards shows the states of the shards.',
            HINT = 'Pass a shard that is reserved.';
    END IF;
END
$body$;

CREATE FUNCTION shardid_lease.registry_was_restored(newest_grant timestamptz DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C;
CREATE FUNCTION shardid_lease.registry_was_restored_by(caller regrole, newest_grant timestamptz)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    spaces text[] := shardid_lease.owned_spaces(caller);
BEGIN
    IF newest_grant > clock_timestamp() + interval '1 day' THEN
        RAISE EXCEPTION USING ERRCODE = 'datetime_field_overflow', MESSAGE = 'newest_grant is too far in the future',
            DETAIL = format('It is %s, and the clock is at %s.', newest_grant, clock_timestamp()),
            HINT = 'Set the registry''s clock right, and pass a time that is at most a day later.';
    END IF;
    -- It waits for open transactions that grant requests; later ones see its changes.
    PERFORM FROM shardid_lease.granted_shard g WHERE g.space = ANY (spaces) ORDER BY g.space, g.shard FOR UPDATE;
    -- No window that the registry has forgotten can end later. Nothing more is forgotten if nothing was granted since the
    -- last call; but a snapshot of then, put back, does not know what was granted later: so only while the server runs.
    UPDATE shardid_lease.id_space s
    SET branch = CASE WHEN known.again THEN s.branch ELSE gen_random_uuid()::text END,
        not_before = greatest(s.not_before, s.max_ahead_ms + s.lease_ms + greatest(
            CASE WHEN NOT known.again THEN greatest(shardid_lease.now_ms(s.epoch), s.not_before,
                (SELECT max(g.until_ms) FROM shardid_lease.granted_shard g WHERE g.space = s.name)) END,
            shardid_lease.ms_of(nullif(newest_grant, '-infinity')) - shardid_lease.ms_of(s.epoch)))
    FROM shardid_lease.id_space k CROSS JOIN LATERAL (SELECT NOT k.was_set_back AND EXISTS (
            SELECT FROM shardid_lease.registry_confirmation c WHERE c.identity = k.identity AND c.was_restored
                AND c.started = (shardid_lease.this_server()).started
                AND shardid_lease.where_differs(c, shardid_lease.this_server()) IS NULL) AND NOT EXISTS (
            SELECT FROM shardid_lease.granted_shard g WHERE g.space = k.name AND g.branch = k.branch) AS again) known
    WHERE s.name = ANY (spaces) AND k.name = s.name;
    PERFORM shardid_lease.confirm_here(spaces, true);
    RAISE NOTICE USING
        MESSAGE = format('no window that is granted from now on begins before %s', (
            SELECT max(shardid_lease.ts_of(s.not_before, s.epoch)) FROM shardid_lease.id_space s
            WHERE s.name = ANY (spaces))),
        DETAIL = 'Reservations and id spaces that were created since the backup must be created again.',
        HINT = 'If an older state of the registry is restored after this, pass that time to registry_was_restored().';
END
$body$;

CREATE FUNCTION shardid_lease.registry_was_moved() RETURNS void
AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C STRICT;
CREATE FUNCTION shardid_lease.registry_was_moved_by(caller regrole) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    spaces text[] := shardid_lease.owned_spaces(caller);
    space shardid_lease.id_space;
    known shardid_lease.registry_confirmation;
    here shardid_lease.registry_confirmation := shardid_lease.this_server();
    is_successor boolean;
    why text;
BEGIN
    FOR space IN SELECT s.* FROM shardid_lease.id_space s WHERE s.name = ANY (spaces) ORDER BY s.name LOOP
        SELECT * INTO known FROM shardid_lease.registry_confirmation c WHERE c.identity = space.identity;
        CONTINUE WHEN shardid_lease.why_stopped(space) IS NULL;
        is_successor := known.system_identifier = here.system_identifier AND here.timeline = known.timeline + 1;
        -- After two changes of timeline, the last state need not be the one that was confirmed. Nor is it after a
        -- recovery that stopped at a target, nor, on the same timeline, if the server was started from a backup.
        why := CASE
            WHEN space.was_set_back THEN 'It has forgotten what it granted.'
            WHEN known.identity IS NULL THEN 'It comes from a dump.'
            WHEN is_successor AND shardid_lease.replayed_all_wal() THEN NULL
            WHEN is_successor OR here.timeline <> CASE WHEN known.system_identifier = here.system_identifier
                THEN known.timeline ELSE 1 END THEN
                format('It was confirmed on timeline %s of system %s, and this is timeline %s of system %s%s.', known.timeline,
                    known.system_identifier, here.timeline, here.system_identifier,
                    CASE WHEN is_successor THEN ', whose recovery stopped at a target' END)
            WHEN here.backup NOT IN ('', known.backup) THEN
                'The server was started from a base backup.'
            WHEN split_part(known.place, '/', 1) = split_part(here.place, '/', 1) AND known.place <> here.place THEN
                'On the same server, the database was copied, made again or moved to a tablespace.' END;
        IF why IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                MESSAGE = format('the registry of id space "%s" may have lost commits', space.name), DETAIL = why,
                HINT = 'Run registry_was_restored().';
        END IF;
        PERFORM shardid_lease.confirm_here(ARRAY[space.name], false);
    END LOOP;
END
$body$;

-- ==== The registry: functions for members. Their steps are those of contrib/lease/model/lease.pml ====

-- The request comes from the generator that has, or had, the shard.
CREATE FUNCTION shardid_lease.is_own(held shardid_lease.granted_shard, caller regrole, origin text) RETURNS boolean
LANGUAGE sql STABLE
RETURN coalesce((held).origin = is_own.origin AND pg_has_role(caller, shardid_lease.role_oid((held).role), 'USAGE'), false);

-- It is of the call of lease_shard() that was granted the shard.
CREATE FUNCTION shardid_lease.is_of_lease(held shardid_lease.granted_shard, caller regrole, origin text, lease text) RETURNS boolean
LANGUAGE sql STABLE
RETURN shardid_lease.is_own(held, caller, origin) AND (held).lease IS NOT DISTINCT FROM is_of_lease.lease;

-- The request is of the incarnation, or of its family for a page that others have not moved: then the last incarnation of
-- the family to be granted a window has drawn from the page since, or is to.
CREATE FUNCTION shardid_lease.is_same(family text, moved_at pg_lsn, wanted shardid_lease.request_1) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(is_same.family = (wanted).family AND (wanted).moved_at IN (is_same.moved_at, '0/0'), false);

CREATE FUNCTION shardid_lease.refusal(origin text, error text, is_final boolean DEFAULT false, is_later boolean DEFAULT false)
RETURNS shardid_lease.grant_1 LANGUAGE sql STABLE
RETURN jsonb_populate_record(NULL::shardid_lease.grant_1,
    jsonb_build_object('origin', origin, 'error', error, 'is_final', is_final, 'is_later', is_later));

CREATE FUNCTION shardid_lease.why_not(space shardid_lease.id_space, shard int, held shardid_lease.granted_shard, own boolean) RETURNS text
LANGUAGE sql
RETURN format('shard %s of id space "%s" ', shard, (space).name) || CASE
        WHEN (held).state IS NULL THEN 'is not granted to any generator'
        WHEN (held).state = 'reserved' THEN format('is reserved: %s', coalesce((held).comment, 'without a comment'))
        WHEN (held).state = 'released' THEN 'was released or evicted: run take_over_shard(), or release_shard() and '
            'lease_shard(), if this database is to have a shard'
        ELSE format(CASE WHEN (held).until_ms > shardid_lease.now_ms((space).epoch) THEN
            'is held by %s, port %s, database "%s" (role %s), since %s until %s'
            ELSE 'has an expired lease, last held by %s, port %s, database "%s" (role %s), since %s until %s' END,
            (held).host, (held).port, (held).database, (held).role, date_trunc('second', (held).since),
            date_trunc('second', shardid_lease.ts_of((held).until_ms, (space).epoch))) END ||
    CASE WHEN own AND (held).state = 'held' THEN ': run release_shard() and lease_shard() if this database is a copy '
        'alongside that one, or take_over_shard() if it replaces that one' ELSE '' END;

-- The lowest free shard that no open transaction has locked.
CREATE FUNCTION shardid_lease.free_shard(space shardid_lease.id_space, caller regrole, request shardid_lease.request_1) RETURNS int
LANGUAGE plpgsql AS $body$
DECLARE
    found_shard int;
    held shardid_lease.granted_shard;
BEGIN
    -- In FROM, all numbers would be generated first.
    FOR found_shard IN SELECT generate_series(0, (1::bigint << space.shard_bits) - 1) LOOP
        CONTINUE WHEN EXISTS (SELECT FROM shardid_lease.granted_shard g
                WHERE g.space = space.name AND g.shard = found_shard AND g.state <> 'released')
            OR NOT shardid_lease.try_shard_lock(space.name, found_shard);
        -- The transaction that had the lock may have granted it.
        SELECT * INTO held FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = found_shard;
        IF NOT FOUND OR held.state = 'released' AND NOT shardid_lease.is_of_lease(held, caller, request.origin, request.lease) THEN
            RETURN found_shard;
        END IF;
    END LOOP;
    RETURN NULL;
END
$body$;

-- Two ids of a shard are equal only if two incarnations generate ids in windows that overlap. What excludes it:
--
--   from >= until     A window begins where the last one of its shard ends, and nothing makes until smaller: so what was
--                     once granted to an incarnation is its own for ever, however late it learns of it.
--   incarnation       (family, moved_at) Only the incarnation that has a window gets a longer one. The family is the server
--                     (system identifier, data directory, machine), its start, and the generator's storage; the move is
--                     where others moved the page, 0/0 if nobody has. A copy, a restart, RESTART or setval begins another
--                     window.
--   place             (server without its start, host name, database, generator) In one place only one server can run: so
--                     a restart in its place gets the next window at once, and any other copy is refused, until it takes
--                     over. A start that returns after another one shows that two servers run in one place.
--   origin            What a generator and its copies have in common: another generator does not renew, take over or
--                     return its shard.
--   lease             Each lease_shard() has another one: so a request to join that arrives after the release of what it
--                     was granted does not undo that, and a release that arrives late does not end the next lease.
--   displaces         A takeover names the last serial of its shard: a late one displaces nobody who came after it.
--   role              Another role does not use an origin that it has read.
--   serial, receipt   The member shows the last serial of its shard that the registry has signed. If the registry does not
--                     know it, it was set back, and stops.
--   branch            After registry_was_restored(), serials of before are no proof, unless their windows end after
--                     not_before, at which all later windows begin. A renewal whose grant was forgotten is granted anew, as
--                     long as nothing has changed the shard since.
--   identity          A new id space of the same name knows no receipts of the last one; its members have to take over.
--   confirmation      A registry that was copied, promoted or restored grants nothing before its owner's word.
--   clock, tick       Each is compared with the registry's clock, the tick also with not_before: a wrong clock does not
--                     move a shard's windows further than max_ahead.
CREATE FUNCTION shardid_lease.grant_one(caller regrole, request shardid_lease.request_1) RETURNS shardid_lease.grant_1 LANGUAGE plpgsql AS $body$
DECLARE
    space shardid_lease.id_space;
    held shardid_lease.granted_shard;
    granted shardid_lease.grant_1;
    chosen int := request.shard;
    joins boolean := coalesce(request.kind = 'join', false);
    takes_over boolean := coalesce(request.kind = 'take_over', false);
    returns boolean := coalesce(request.kind = 'return', false);
    started bigint := request.started;
    why text; later boolean; seen bigint; now_ms bigint; horizon bigint; clock bigint;
    drawn_at bigint; own boolean; stays boolean; same boolean; extends boolean := false; is_forgotten boolean; new_from bigint;
BEGIN
    SELECT * INTO space FROM shardid_lease.id_space s WHERE s.name = request.space;
    SELECT * INTO why, seen, later FROM shardid_lease.check_request(request, space);
    IF why IS NULL AND chosen IS NULL THEN
        -- An earlier transaction, whose answer was lost, may have chosen one for this origin.
        later := NOT shardid_lease.try_shard_lock(request.origin, -1);
        IF later THEN
            why := 'an earlier request of this generator has not ended yet';
        ELSIF returns THEN
            chosen := (SELECT min(g.shard) FROM shardid_lease.granted_shard g
                       WHERE g.space = space.name AND shardid_lease.is_of_lease(g, caller, request.origin, request.lease));
            IF chosen IS NULL THEN
                RETURN shardid_lease.refusal(request.origin, 'nothing was granted to this generator', true);
            END IF;
        ELSE
            chosen := coalesce((SELECT min(g.shard) FROM shardid_lease.granted_shard g WHERE g.space = space.name
                AND shardid_lease.is_own(g, caller, request.origin) AND g.state = 'held' AND g.place = request.place),
                shardid_lease.free_shard(space, caller, request));
            seen := CASE WHEN request.receipt LIKE chosen || '.%' THEN seen ELSE 0 END;
            why := CASE WHEN chosen IS NULL THEN format('id space "%s" has no free shard', space.name) END;
        END IF;
    END IF;
    IF why IS NOT NULL THEN
        RETURN shardid_lease.refusal(request.origin, why, is_later => later);
    END IF;

    -- Where other members can get the shard, too, no request waits for an open transaction.
    SELECT * INTO held FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = chosen;
    own := shardid_lease.is_own(held, caller, request.origin);
    is_forgotten := seen > coalesce(held.serial, 0) AND held.branch IS DISTINCT FROM space.branch;
    IF (CASE WHEN returns THEN NOT own
            WHEN coalesce(held.state, 'released') = 'released' THEN NOT (joins OR takes_over OR is_forgotten)
            ELSE NOT own END) THEN
        RETURN shardid_lease.refusal(request.origin, shardid_lease.why_not(space, chosen, held, false), returns);
    ELSIF NOT returns AND coalesce(held.state, 'released') = 'released' AND NOT shardid_lease.try_shard_lock(space.name, chosen) THEN
        RETURN shardid_lease.refusal(request.origin,
            format('shard %s of id space "%s" is being granted to another generator', chosen, space.name), is_later => true);
    END IF;
    -- What was refused has changed nothing, and waits for nobody. From here on drop_id_space() and registry_was_restored()
    -- wait: both lock the id space before its shards, too.
    PERFORM FROM shardid_lease.id_space s WHERE s.identity = space.identity FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN shardid_lease.refusal(request.origin, format('id space "%s" does not exist', space.name));
    END IF;
    INSERT INTO shardid_lease.granted_shard (space, shard, state, from_ms, until_ms, serial)
    VALUES (space.name, chosen, 'released', 0, 0, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO held FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = chosen FOR UPDATE;
    -- Read under the lock: the clock, and changes that the owner has made meanwhile.
    SELECT * INTO space FROM shardid_lease.id_space s WHERE s.identity = space.identity;
    now_ms := shardid_lease.now_ms(space.epoch);
    horizon := greatest(now_ms, space.not_before) + space.max_ahead_ms;
    clock := request.clock - shardid_lease.ms_of(space.epoch);
    drawn_at := request.tick >> space.sequence_bits;
    own := shardid_lease.is_own(held, caller, request.origin);
    stays := own AND held.state = 'held' AND held.place = request.place;
    same := held.state = 'held' AND shardid_lease.is_same(held.family, held.moved_at, request);
    is_forgotten := seen > held.serial AND held.branch IS DISTINCT FROM space.branch;

    IF shardid_lease.why_stopped(space) IS NOT NULL THEN
        RETURN shardid_lease.refusal(request.origin, shardid_lease.why_stopped(space));
    ELSIF takes_over AND request.displaces IS DISTINCT FROM held.serial THEN
        RETURN shardid_lease.refusal(request.origin, format('another request has changed shard %s of id space "%s" since the takeover began',
            chosen, space.name), is_later => true);
    ELSIF stays AND NOT takes_over AND array_position(held.starts, started) < cardinality(held.starts) THEN
        RETURN shardid_lease.refusal(request.origin, format('two servers run in one place, %s, port %s: one was started at %s, '
            'and this one at %s: end one, and give it a machine-id of its own before it is started again; '
            'take_over_shard() decides which of them has the shard', held.host, held.port,
            to_timestamp(held.starts[cardinality(held.starts)] / 1e6), to_timestamp(started / 1e6)), returns);
    ELSIF returns THEN
        IF NOT shardid_lease.is_of_lease(held, caller, request.origin, request.lease)
                OR held.state = 'held' AND NOT (stays OR same) THEN
            RETURN shardid_lease.refusal(request.origin, shardid_lease.why_not(space, chosen, held, own), true);
        END IF;
        UPDATE shardid_lease.granted_shard g
        SET state = 'released', serial = greatest(held.serial, seen) + 1, branch = space.branch
        WHERE g.space = space.name AND g.shard = chosen RETURNING * INTO held;
    ELSIF clock > now_ms + space.max_ahead_ms THEN
        RETURN shardid_lease.refusal(request.origin, format('its clock is %s ms ahead of the registry''s, and max_ahead of id '
            'space "%s" is %s ms', clock - now_ms, space.name, space.max_ahead_ms));
    ELSIF drawn_at > horizon THEN
        RETURN shardid_lease.refusal(request.origin, format('its generator is %s ms ahead of the registry, and max_ahead of '
            'id space "%s" is %s ms', drawn_at - now_ms, space.name, space.max_ahead_ms));
    ELSIF own AND same AND NOT joins
            AND held.from_ms >= space.not_before THEN
        extends := true;
        new_from := held.from_ms;
    -- A renewal does not get a released shard, unless the registry has forgotten its grant; and a request that arrives
    -- late does not undo a release.
    ELSIF held.state = 'released' AND (takes_over OR is_forgotten
                OR joins AND NOT shardid_lease.is_of_lease(held, caller, request.origin, request.lease))
            OR held.state = 'held' AND own AND (takes_over OR same OR stays) THEN
        new_from := greatest(held.until_ms, clock, drawn_at, space.not_before);
        IF new_from > horizon THEN
            RETURN shardid_lease.refusal(request.origin, format('the windows of shard %s of id space "%s" are %s ms ahead of '
                'the registry''s clock: several servers ask for it, or its server was started or its generator moved too often',
                chosen, space.name, new_from - now_ms));
        END IF;
    ELSE
        RETURN shardid_lease.refusal(request.origin, shardid_lease.why_not(space, chosen, held, own));
    END IF;

    IF NOT returns THEN
        UPDATE shardid_lease.granted_shard g
        SET state = 'held', from_ms = new_from, serial = greatest(held.serial, seen) + 1, branch = space.branch, comment = NULL,
            -- A lease after the clock; a step ahead of it, as step_of() in src/core/window.hpp.
            until_ms = greatest(held.until_ms, clock + space.lease_ms,
                CASE WHEN extends THEN drawn_at ELSE new_from END + greatest(space.lease_ms / 32, 1000)),
            since = CASE WHEN same THEN held.since
                ELSE clock_timestamp() END,
            role = CASE WHEN own AND held.state = 'held' THEN shardid_lease.role_ref(shardid_lease.role_oid(held.role))
                ELSE shardid_lease.role_ref(caller) END,
            starts = CASE WHEN stays THEN (array_remove(held.starts, started) || started)[greatest(cardinality(held.starts) - 8, 1):]
                ELSE ARRAY[started] END,
            origin = request.origin, lease = request.lease, place = request.place,
            family = request.family, moved_at = CASE WHEN extends THEN held.moved_at ELSE request.moved_at END,
            host = request.host, port = request.port, database = request.database
        WHERE g.space = space.name AND g.shard = chosen RETURNING * INTO held;
    END IF;
    granted.origin := held.origin; granted.lease := held.lease; granted.space := held.space;
    granted.shard := held.shard; granted.serial := held.serial;
    RETURN granted;
END
$body$;

-- displaced: before a takeover, what receipts() has returned.
CREATE FUNCTION shardid_lease.grant_shards(requests shardid_lease.request_1[], displaced shardid_lease.grant_1[] DEFAULT NULL)
RETURNS shardid_lease.grant_1[] AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C;
CREATE FUNCTION shardid_lease.grant_shards_by(caller regrole, requests shardid_lease.request_1[], displaced shardid_lease.grant_1[])
RETURNS shardid_lease.grant_1[] LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
    request shardid_lease.request_1;
    answers shardid_lease.grant_1[] := '{}';
BEGIN
    PERFORM shardid_lease.check_transaction();
    -- All use one order, otherwise two members could wait for each other.
    FOR request IN SELECT r.* FROM unnest(requests) r ORDER BY r.space, r.shard LOOP
        request.displaces := coalesce((SELECT d.serial FROM unnest(displaced) d WHERE d.origin = request.origin LIMIT 1), request.displaces);
        answers := array_append(answers, shardid_lease.grant_one(caller, request));
    END LOOP;
    RETURN answers;
END
$body$;

-- A second transaction: what the first one has changed counts once it is committed, on disk, and on the standbys that
-- commits wait for, also if that wait was canceled. With requests: the serials that these would displace.
CREATE FUNCTION shardid_lease.receipts(answers shardid_lease.grant_1[], requests shardid_lease.request_1[] DEFAULT NULL)
RETURNS shardid_lease.grant_1[] AS 'MODULE_PATHNAME', 'shardid_as_owner' LANGUAGE C;
CREATE FUNCTION shardid_lease.receipts_by(caller regrole, answers shardid_lease.grant_1[], requests shardid_lease.request_1[])
RETURNS shardid_lease.grant_1[] LANGUAGE plpgsql SECURITY DEFINER SET synchronous_commit = 'on' AS $body$
DECLARE
    answer shardid_lease.grant_1;
    complete shardid_lease.grant_1[];
    space shardid_lease.id_space;
    held shardid_lease.granted_shard;
BEGIN
    PERFORM shardid_lease.check_transaction();
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'active_sql_transaction',
            MESSAGE = 'receipts() cannot be called in a transaction that has changed something',
            DETAIL = 'A receipt is for what is committed.', HINT = 'Call it after the commit.';
    END IF;
    complete := ARRAY(
        SELECT jsonb_populate_record(NULL::shardid_lease.grant_1, jsonb_build_object('origin', r.origin, 'serial', coalesce(g.serial, 0)))
        FROM unnest(requests) r LEFT JOIN shardid_lease.granted_shard g ON g.space = r.space AND g.shard = r.shard);
    FOR answer IN SELECT a.* FROM unnest(answers) a LOOP
        IF answer.error IS NULL THEN
            SELECT * INTO space FROM shardid_lease.id_space s WHERE s.name = answer.space;
            SELECT * INTO held FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = answer.shard;
            IF shardid_lease.is_of_lease(held, caller, answer.origin, answer.lease) AND held.serial = answer.serial THEN
                answer := (held.origin, held.lease, held.space, held.shard, held.serial, held.family, held.moved_at, held.from_ms,
                    held.until_ms, shardid_lease.signed(space, concat_ws('.', held.shard, space.branch, held.serial, held.until_ms)),
                    space.identity, space.lease_ms, shardid_lease.ms_of(space.epoch), space.shard_bits, space.sequence_bits,
                    NULL, NULL, NULL);
            ELSE
                answer := shardid_lease.refusal(answer.origin, 'the shard has changed since it was granted', is_later => true);
            END IF;
        END IF;
        complete := array_append(complete, answer);
    END LOOP;
    PERFORM shardid_lease.wait_until_durable() WHERE EXISTS (SELECT FROM unnest(complete) c WHERE c.error IS NULL OR c.is_final);
    RETURN complete;
END
$body$;

CREATE VIEW shardid_lease.id_space_shards AS
SELECT g.space, g.shard,
    CASE WHEN g.state = 'held'
            AND g.until_ms <= shardid_lease.now_ms(s.epoch)
        THEN 'expired' ELSE g.state END AS state,
    g.host, g.port, g.database, g.role, g.since,
    CASE WHEN g.state <> 'reserved'
        THEN shardid_lease.ts_of(g.until_ms, s.epoch) END AS until,
    g.comment
FROM shardid_lease.granted_shard g JOIN shardid_lease.id_space s ON s.name = g.space
WHERE g.serial > 0 AND (pg_has_role(shardid_lease.role_oid(s.owner), 'USAGE')
    OR pg_has_role(shardid_lease.role_oid(g.role), 'USAGE')
    OR pg_has_role('pg_monitor', 'USAGE'));

COMMENT ON FUNCTION shardid_lease.create_id_space IS
'creates an id space, of which members lease shards: no two of its ids are equal';
COMMENT ON FUNCTION shardid_lease.drop_id_space IS 'drops an id space of which nothing was ever granted';
COMMENT ON FUNCTION shardid_lease.evict_shard IS
'releases a shard whose holder no longer exists, so that any generator can lease it';
COMMENT ON FUNCTION shardid_lease.reserve_shard IS 'keeps a shard from being granted, for a generator without a lease';
COMMENT ON FUNCTION shardid_lease.unreserve_shard IS 'lets a reserved shard be granted again';
COMMENT ON FUNCTION shardid_lease.registry_was_restored IS
'confirms a registry that may have lost commits: no window that it grants overlaps one that it has forgotten';
COMMENT ON FUNCTION shardid_lease.registry_was_moved IS
'confirms a registry in another place that has lost nothing since it last granted, and of which no other copy runs';
COMMENT ON FUNCTION shardid_lease.grant_shards IS 'called by members: grants, renews or releases leases of shards';
COMMENT ON FUNCTION shardid_lease.receipts IS
'called by members after the commit: the granted windows, and proofs of them; before a takeover: what it displaces';
COMMENT ON VIEW shardid_lease.id_space_shards IS 'the shards of this registry''s id spaces: their holders, and the ends of their windows';

-- ==== The member: tables and views ====

-- Its leased generators, and the window of time that each has. Dumps carry the former only: a copy knows that it is a member,
-- and has to ask. A lease has a random name, another one for each lease_shard(): only what has this name belongs together.

CREATE TABLE shardid_lease.leased_generator (
    origin uuid PRIMARY KEY,
    lease uuid NOT NULL,
    generator shardid_lease.late_name NOT NULL,
    server text NOT NULL,
    space text NOT NULL,
    shard int,
    registry text,
    state text NOT NULL,
    epoch timestamptz,
    shard_bits int,
    sequence_bits int);

COMMENT ON TABLE shardid_lease.leased_generator IS
'the generators of this database that hold a lease, and what they lease';

CREATE TABLE shardid_lease.lease_window (
    origin uuid PRIMARY KEY,
    lease uuid NOT NULL,
    family text NOT NULL,
    moved_at pg_lsn NOT NULL,
    from_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    lease_ms bigint NOT NULL,
    serial bigint NOT NULL,
    receipt text,
    renewed_at timestamptz,
    failed_at timestamptz,
    -- Since when there was no answer, until failed_at.
    silent_since timestamptz,
    is_refused boolean NOT NULL DEFAULT false,
    error text);

COMMENT ON TABLE shardid_lease.lease_window IS
'the window of time that each leased generator was granted last, and errors since then';

-- Not those of generators that were dropped.
SELECT pg_extension_config_dump('shardid_lease.leased_generator', 'WHERE shardid_lease.sequence_oid(generator) IS NOT NULL');

-- A window of this family was granted to the generator's present storage, on this server, since it was started.
CREATE FUNCTION shardid_lease.is_own_family(generator regclass, family text) RETURNS boolean
AS 'MODULE_PATHNAME', 'shardid_is_own_family' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

CREATE VIEW shardid_lease.shard_leases AS
SELECT c.oid::regclass AS generator, l.space, l.shard, l.server,
    CASE WHEN l.state <> 'leased' THEN l.state
        WHEN w.own AND shardid_lease.ts_of(w.until_ms, l.epoch) > clock_timestamp()
        THEN 'held' ELSE 'not held' END AS state,
    CASE WHEN w.own THEN shardid_lease.ts_of(w.from_ms, l.epoch) END AS "from",
    CASE WHEN w.own THEN shardid_lease.ts_of(w.until_ms, l.epoch) END AS until,
    w.renewed_at, w.failed_at, w.error
FROM shardid_lease.leased_generator l
    JOIN pg_class c ON c.oid = shardid_lease.sequence_oid(l.generator)
    LEFT JOIN LATERAL (
        SELECT v.*, shardid_lease.is_own_family(c.oid::regclass, v.family)
            AND v.lease = l.lease AND v.until_ms > 0 AS own
        FROM shardid_lease.lease_window v WHERE v.origin = l.origin) w ON true
WHERE pg_has_role(c.relowner, 'USAGE')
    OR pg_has_role('pg_monitor', 'USAGE');

COMMENT ON VIEW shardid_lease.shard_leases IS
'the leased generators of this database: their shards, windows of time, and errors since the last renewal';

-- ==== The member: what the library reads, in a session and in the background worker ====

-- The sequence can be one from a dump, renamed since its restore.
CREATE FUNCTION shardid_lease.may_be_restored(generator oid) RETURNS boolean
AS 'MODULE_PATHNAME', 'shardid_may_be_restored' LANGUAGE C STRICT;

-- The lease of a generator; sealed for a reader, if it is not to be seen which lease it has.
CREATE FUNCTION shardid_lease.lease_of(generator oid, is_reader boolean) RETURNS shardid_lease.leased_generator
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    found_rows shardid_lease.leased_generator[] := ARRAY(
        SELECT l FROM shardid_lease.leased_generator l WHERE shardid_lease.sequence_oid(l.generator) = lease_of.generator);
    its shardid_lease.leased_generator := found_rows[1];
    is_one boolean := cardinality(found_rows) < 2;
    open_table text := shardid_lease.open_table('{shardid_lease.leased_generator,shardid_lease.lease_window}');
    lost shardid_lease.leased_generator;
BEGIN
    IF NOT (is_one OR is_reader) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" has two leases', its.generator),
            DETAIL = format('Table shardid_lease.leased_generator has the rows of %s for it.', (
                SELECT string_agg(format('origin %s, %s', l.origin, coalesce('last renewed here at ' || w.renewed_at, 'never renewed here')), ' and '
                    ORDER BY w.renewed_at DESC NULLS LAST, l.origin)
                FROM unnest(found_rows) l LEFT JOIN shardid_lease.lease_window w ON w.origin = l.origin AND w.lease = l.lease)),
            HINT = 'As a superuser, delete the row that does not belong to it; a dump brings rows that were never renewed here.';
    ELSIF its.origin IS NOT NULL AND open_table IS NOT NULL AND NOT is_reader THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('logical replication can change the lease of generator "%s"', its.generator),
            DETAIL = format('Trigger keep_own_rows of table %s is not enabled always, perhaps since a restore by pg_restore '
                '--disable-triggers.', open_table),
            HINT = format('As a superuser, run ALTER TABLE %s ENABLE ALWAYS TRIGGER keep_own_rows.', open_table);
    ELSIF its.origin IS NULL THEN
        SELECT * INTO lost FROM shardid_lease.leased_generator l
        WHERE l.state = 'leased' AND shardid_lease.sequence_oid(l.generator) IS NULL AND l.generator::text !~ '^[0-9]+$' LIMIT 1;
        IF FOUND AND shardid_lease.may_be_restored(generator) THEN
            IF NOT is_reader THEN
                RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                    MESSAGE = format('generator "%s" may be leased under another name', generator::regclass),
                    DETAIL = format('A dump that was restored here has a lease of sequence %s, which does not exist.', lost.generator),
                    HINT = 'Rename that sequence back and generate an id with it; or, if it was dropped, delete its row from '
                        'shardid_lease.leased_generator as a superuser.';
            END IF;
            its := lost;
            is_one := false;
        END IF;
    END IF;
    IF NOT is_one OR its.state = 'leased' AND num_nulls(its.shard, its.epoch, its.shard_bits, its.sequence_bits) > 0 THEN
        its.state := 'sealed';
    END IF;
    RETURN its;
END
$body$;

-- The lease of the generator, or of this origin, if that is not null; and the window that was stored last for it, perhaps
-- of another lease.
CREATE FUNCTION shardid_lease.known_lease(
    generator oid, origin uuid, is_reader boolean, OUT its shardid_lease.leased_generator, OUT last shardid_lease.lease_window)
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $body$
BEGIN
    IF origin IS NULL THEN
        its := shardid_lease.lease_of(generator, is_reader);
    ELSE
        SELECT * INTO its FROM shardid_lease.leased_generator l WHERE l.origin = known_lease.origin;
    END IF;
    SELECT * INTO last FROM shardid_lease.lease_window w WHERE w.origin = its.origin;
END
$body$;

CREATE FUNCTION shardid_lease.is_connection_option(name text) RETURNS boolean
AS 'MODULE_PATHNAME', 'shardid_is_connection_option' LANGUAGE C STRICT;

-- How a role reaches the registry behind a foreign server, by its user mapping. Of two options with one name libpq takes
-- the later one. password_required is postgres_fdw's, and only superusers can set it.
CREATE FUNCTION shardid_lease.address_of(server text, role oid, OUT conninfo text, OUT needs_password boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $body$
DECLARE
    role_name text := pg_get_userbyid(role);
    found record;
    mapping record;
BEGIN
    SELECT s.oid, s.srvoptions, w.fdwname, w.fdwoptions INTO found
    FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE s.srvname = server;
    SELECT m.umserver, m.umoptions AS options, o.* INTO mapping
    FROM pg_user_mapping m, LATERAL (SELECT max(option_value) FILTER (WHERE option_name = 'password') AS password,
        max(option_value) FILTER (WHERE option_name = 'password_required') AS required FROM pg_options_to_table(m.umoptions)) o
    WHERE m.umserver = found.oid AND m.umuser IN (role, 0) ORDER BY m.umuser DESC LIMIT 1;
    needs_password := mapping.required IS DISTINCT FROM 'false' AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = role);
    IF found.oid IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('server "%s" does not exist', server),
            HINT = 'Run CREATE SERVER ... FOREIGN DATA WRAPPER dblink_fdw, and CREATE USER MAPPING.';
    ELSIF found.fdwname NOT IN ('dblink_fdw', 'postgres_fdw') THEN
        RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
            MESSAGE = format('server "%s" does not lead to a PostgreSQL database', server),
            DETAIL = format('Its foreign-data wrapper is "%s".', found.fdwname),
            HINT = 'Run CREATE SERVER ... FOREIGN DATA WRAPPER dblink_fdw.';
    ELSIF NOT has_server_privilege(role, found.oid, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format('permission denied for foreign server %s', server),
            DETAIL = format('Role "%s", which owns the generator, has no USAGE on it.', role_name),
            HINT = format('Run GRANT USAGE ON FOREIGN SERVER %I TO %I.', server, role_name);
    ELSIF mapping.umserver IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('user mapping not found for user "%s", server "%s"', role_name, server), HINT = 'Run CREATE USER MAPPING.';
    ELSIF needs_password AND coalesce(mapping.password, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = '2F003', MESSAGE = 'password is required',
            DETAIL = format('Role "%s", which owns the generator, is no superuser, and its user mapping for server "%s" has no password.',
                role_name, server),
            HINT = 'Run ALTER USER MAPPING ... OPTIONS (ADD password ''...'').';
    END IF;
    conninfo := (
        SELECT string_agg(format('%s=''%s''', o.option_name, replace(replace(o.option_value, E'\\', E'\\\\'), '''', E'\\''')), ' '
            ORDER BY o.ordinality)
        FROM pg_options_to_table('{fallback_application_name=shardid_lease}'::text[] || found.fdwoptions || found.srvoptions
            || mapping.options || ('client_encoding=' || getdatabaseencoding())) WITH ORDINALITY o
        WHERE shardid_lease.is_connection_option(o.option_name));
END
$body$;

-- ==== The member: what it asks the registry, and what becomes of the answers ====

-- A renewal, from the session that needs it to the window that it uses: renew_window() of src/keeper.cpp starts a worker with
-- what it knows of the page, a WorkerTask; work() sends a request_1, by request_of(); and stores the grant_1 that is
-- answered as a row of lease_window, which the session reads as a KnownLease. Each way it is text (exchange.cpp); the
-- registry keeps a row of granted_shard, and receipts() completes the grant_1 in a second transaction. wait_for_window()
-- does the same and waits; where no worker can be had, ask_in_session() asks without one and stores nothing.

-- What is on its page, and its owner.
CREATE TYPE shardid_lease.page AS (
    family text, moved_at pg_lsn, tick bigint, owner oid, bound_epoch bigint, bound_shard_bits int, bound_sequence_bits int);

-- NULL if a transaction has locked the sequence, or if it is missing.
CREATE FUNCTION shardid_lease.page_of(generator oid) RETURNS shardid_lease.page
AS 'MODULE_PATHNAME', 'shardid_page_of' LANGUAGE C STRICT;

-- What a member sends: a request of this kind, or to return what is sealed.
CREATE FUNCTION shardid_lease.request_of(its shardid_lease.leased_generator, page shardid_lease.page, kind text)
RETURNS shardid_lease.request_1 LANGUAGE sql STABLE
RETURN ROW(CASE WHEN kind <> 'join' AND (its).state <> 'leased' THEN 'return' ELSE kind END,
    (its).space, (its).shard, (its).origin, (its).lease, (its).registry,
    (SELECT w.receipt FROM shardid_lease.lease_window w WHERE w.origin = (its).origin), NULL,
    shardid_lease.place_of(shardid_lease.sequence_oid((its).generator)), (page).family, (page).moved_at,
    (page).tick, (page).bound_epoch, (page).bound_shard_bits, (page).bound_sequence_bits,
    shardid_lease.started_us(), shardid_lease.ms_of(clock_timestamp()), shardid_lease.host_name(), current_setting('port')::int,
    current_database())::shardid_lease.request_1;

-- The registry's answers, or why there are none, and whether a later try does not help.
CREATE TYPE shardid_lease.reply AS (answers shardid_lease.grant_1[], error text, is_refusal boolean);

-- Sends the requests, and waits for at most this long, or 0: in the background worker, for shardid_lease.registry_timeout; a
-- takeover first asks what it displaces.
CREATE FUNCTION shardid_lease.exchange(conninfo text, needs_password boolean, requests text, takes_over boolean, wait_ms int,
    OUT answers text, OUT error text, OUT is_refusal boolean)
AS 'MODULE_PATHNAME', 'shardid_exchange' LANGUAGE C STRICT;

CREATE FUNCTION shardid_lease.read_answers(answers text) RETURNS shardid_lease.grant_1[] LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN answers::shardid_lease.grant_1[];
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$body$;

CREATE FUNCTION shardid_lease.ask(server text, role oid, requests shardid_lease.request_1[], takes_over boolean, wait_ms int)
RETURNS shardid_lease.reply LANGUAGE sql STABLE
RETURN (SELECT ROW(shardid_lease.read_answers(e.answers), e.error, e.is_refusal)::shardid_lease.reply
    FROM shardid_lease.address_of(server, role) a,
        shardid_lease.exchange(a.conninfo, a.needs_password, requests::text, takes_over, wait_ms) e);

-- What came of a request. is_refused: a later try does not help.
CREATE TYPE shardid_lease.outcome AS (
    origin text, fault text, is_answered boolean, is_refused boolean, answer shardid_lease.grant_1, epoch timestamptz);

-- The registry may belong to another party: an answer is for the lease and the incarnation that asked, and its numbers
-- are bounded, so that they are valid times.
CREATE FUNCTION shardid_lease.check_answer(request shardid_lease.request_1, reply shardid_lease.reply) RETURNS shardid_lease.outcome
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    most_ms CONSTANT bigint := 1::bigint << 47;
    came shardid_lease.outcome;
    answer shardid_lease.grant_1;
BEGIN
    SELECT a.* INTO answer FROM unnest(reply.answers) a WHERE a.origin = request.origin LIMIT 1;
    came := (request.origin, NULL, FOUND, CASE WHEN FOUND THEN answer.is_later IS NOT TRUE ELSE reply.is_refusal END, answer, NULL);
    IF NOT came.is_answered OR answer.error IS NOT NULL THEN
        came.fault := left(CASE WHEN came.is_answered THEN 'The registry says: ' || answer.error
            ELSE coalesce(btrim(regexp_replace(reply.error, '[[:space:]]+', ' ', 'g')), 'The registry gave no answer') END, 1000);
        RETURN came;
    ELSIF (answer.epoch_ms BETWEEN -most_ms AND most_ms
            AND 0 <= answer.from_ms AND answer.from_ms < answer.until_ms AND answer.until_ms <= most_ms
            AND answer.lease_ms BETWEEN 1 AND 6 * 3600 * 1000 AND answer.serial BETWEEN 0 AND most_ms
            AND answer.shard_bits BETWEEN 0 AND 31 AND answer.sequence_bits BETWEEN 0 AND 32 - answer.shard_bits
            AND answer.shard BETWEEN 0 AND (1::bigint << answer.shard_bits) - 1
            AND length(answer.registry) <= 100 AND length(answer.receipt) <= 1000) IS NOT TRUE THEN
        came.fault := 'The registry gave an answer that cannot be read';
        RETURN came;
    END IF;
    -- Exact: a product of milliseconds would be rounded.
    came.epoch := timestamptz '1970-01-01 00:00:00+00' + answer.epoch_ms / 86400000 * interval '24 hours'
        + answer.epoch_ms % 86400000 * interval '1 millisecond';
    came.fault := CASE
        WHEN answer.lease IS DISTINCT FROM request.lease OR answer.shard <> request.shard
                OR request.kind <> 'return' AND NOT shardid_lease.is_same(answer.family, answer.moved_at, request)
                OR request.kind NOT IN ('join', 'take_over') AND answer.registry <> request.registry THEN
            'The registry gave the answer to another request'
        WHEN request.kind <> 'return' AND EXISTS (SELECT FROM shardid_lease.leased_generator l WHERE l.lease::text = request.lease
                AND (l.epoch, l.shard_bits, l.sequence_bits) <> (came.epoch, answer.shard_bits, answer.sequence_bits)) THEN
            'The registry says: the id space has another layout than the one that was leased from' END;
    RETURN came;
END
$body$;

-- One comparison decides what an answer is stored for: that of the lease's name. What was once granted to an incarnation is
-- its own for ever; so an older window of the lease would do no harm, but its receipt proves less.
CREATE FUNCTION shardid_lease.store_answer(request shardid_lease.request_1, reply shardid_lease.reply) RETURNS shardid_lease.outcome
LANGUAGE plpgsql AS $body$
DECLARE
    came shardid_lease.outcome;
    answer shardid_lease.grant_1;
    its shardid_lease.leased_generator;
    last_failed_at timestamptz;
    at timestamptz := clock_timestamp();
BEGIN
    came.origin := request.origin;
    came := shardid_lease.check_answer(request, reply);
    answer := came.answer;
    SELECT * INTO its FROM shardid_lease.leased_generator l
    WHERE l.origin = request.origin::uuid AND l.lease = request.lease::uuid FOR UPDATE;
    IF NOT FOUND THEN
        came.fault := 'The generator''s lease is another one now';
    ELSIF came.fault IS NOT NULL THEN
        INSERT INTO shardid_lease.lease_window VALUES (its.origin, its.lease, '', '0/0', 0, 0, 0, 0)
        ON CONFLICT ON CONSTRAINT lease_window_pkey DO NOTHING;
        SELECT w.failed_at INTO last_failed_at FROM shardid_lease.lease_window w WHERE w.origin = its.origin;
        UPDATE shardid_lease.lease_window w
        SET failed_at = at, is_refused = came.is_refused, error = came.fault,
            silent_since = CASE WHEN NOT came.is_answered THEN coalesce(w.silent_since, at) END
        WHERE w.origin = its.origin;
        -- At most once in a minute.
        IF date_trunc('minute', last_failed_at) IS DISTINCT FROM date_trunc('minute', at) THEN
            RAISE LOG USING MESSAGE = format('could not renew the lease of generator "%s"', its.generator),
                DETAIL = came.fault || '.', HINT = 'See shardid_lease.shard_leases.';
        END IF;
    ELSIF request.kind = 'return' THEN
        UPDATE shardid_lease.lease_window w
        SET serial = answer.serial, receipt = answer.receipt, failed_at = NULL, silent_since = NULL, error = NULL
        WHERE w.origin = its.origin;
    ELSE
        INSERT INTO shardid_lease.lease_window AS w
        VALUES (its.origin, its.lease, answer.family, answer.moved_at, answer.from_ms, answer.until_ms, answer.lease_ms,
            answer.serial, answer.receipt, at)
        ON CONFLICT ON CONSTRAINT lease_window_pkey DO UPDATE SET (lease, family, moved_at, from_ms, until_ms, lease_ms,
                serial, receipt, renewed_at, failed_at, silent_since, error)
            = (excluded.lease, excluded.family, excluded.moved_at, excluded.from_ms, excluded.until_ms, excluded.lease_ms,
                excluded.serial, excluded.receipt, at, NULL, NULL, NULL)
        WHERE w.lease <> excluded.lease OR w.serial < excluded.serial OR its.registry <> answer.registry;
    END IF;
    IF request.kind = 'return' AND (came.fault IS NULL OR answer.is_final) THEN
        UPDATE shardid_lease.leased_generator l SET state = 'released' WHERE l.origin = its.origin;
    ELSIF came.fault IS NULL AND (request.kind = 'join' AND its.state = 'joining'
            OR its.state = 'leased' AND its.registry <> answer.registry) THEN
        UPDATE shardid_lease.leased_generator l
        SET state = 'leased', shard = answer.shard, registry = answer.registry, epoch = came.epoch,
            shard_bits = answer.shard_bits, sequence_bits = answer.sequence_bits
        WHERE l.origin = its.origin;
    END IF;
    RETURN came;
-- One generator's trouble does not keep the others' answers from being stored.
EXCEPTION WHEN OTHERS THEN
    came.fault := left('Cannot store the answer: ' || sqlerrm, 1000);
    RETURN came;
END
$body$;

-- Asks, in a transaction that has locked nothing that others change, and stores what is answered.
CREATE FUNCTION shardid_lease.settle(requests shardid_lease.request_1[], server text, owner oid, takes_over boolean)
RETURNS shardid_lease.outcome[] LANGUAGE plpgsql AS $body$
DECLARE
    reply shardid_lease.reply;
    why text;
BEGIN
    BEGIN
        reply := shardid_lease.ask(server, owner, requests, takes_over, 0);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
        reply := (NULL, 'Cannot ask the registry: ' || concat_ws(': ', sqlerrm, nullif(why, '')), true);
    END;
    RETURN ARRAY(SELECT shardid_lease.store_answer(r, reply) FROM unnest(requests) r);
END
$body$;

-- Of a request that was not granted, or whose caller no longer waits.
CREATE FUNCTION shardid_lease.forget_join(forgotten uuid) RETURNS void LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM shardid_lease.lease_window w USING shardid_lease.leased_generator l
    WHERE l.lease = forgotten AND l.registry IS NULL AND w.origin = l.origin;
    DELETE FROM shardid_lease.leased_generator l WHERE l.lease = forgotten AND l.registry IS NULL;
    UPDATE shardid_lease.lease_window w SET failed_at = NULL, silent_since = NULL, error = NULL
    FROM shardid_lease.leased_generator l WHERE l.lease = forgotten AND w.origin = l.origin;
    UPDATE shardid_lease.leased_generator l SET state = 'released' WHERE l.lease = forgotten AND l.state = 'joining';
END
$body$;

-- What a session is told apart from errors.
CREATE TYPE shardid_lease.notice AS (is_warning boolean, message text, detail text, hint text);

-- What the background worker does, and nothing else: it stores what must not be lost, commits, asks the registry, and stores
-- the answers. A renewal is for all leases of the owner with one registry, its own first, with what the session has seen of
-- its page; it also returns those that are sealed. All else is for one generator, but for a takeover that names several.
-- Returns how many requests were granted; of one generator's, its shard.
CREATE PROCEDURE shardid_lease.work(
    task text, generator oid, name text, owner oid, family text, moved_at pg_lsn, tick bigint, space text, server text, wanted int, others oid[],
    INOUT granted int, INOUT notice shardid_lease.notice)
LANGUAGE plpgsql AS $body$
DECLARE
    its shardid_lease.leased_generator := shardid_lease.lease_of(generator, false);
    was text := its.state;
    asked uuid := its.lease;
    page shardid_lease.page;
    origins uuid[];
    requests shardid_lease.request_1[];
    outcomes shardid_lease.outcome[];
    came shardid_lease.outcome;
    is_silent boolean := false;
BEGIN
    granted := 0;
    came := (its.origin, 'The sequence is locked by a transaction', false, NULL, NULL, NULL);
    IF task = 'join' AND was = 'leased' THEN
        IF (its.space, its.server) = (space, server) AND its.shard = coalesce(wanted, its.shard) THEN
            granted := its.shard;
            RETURN;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" holds a lease already', name),
            DETAIL = format('It has shard %s of id space "%s".', its.shard, its.space), HINT = 'Run shardid_lease.release_shard() first.';
    ELSIF task <> 'join' AND (its.origin IS NULL OR was = 'released' OR was = 'joining' AND task <> 'release'
            OR was = 'sealed' AND task = 'take_over') THEN
        IF task = 'renew' THEN
            RETURN;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format('generator "%s" holds no lease', name),
            HINT = CASE task WHEN 'release' THEN 'Nothing is to be released.' ELSE 'Run shardid_lease.lease_shard().' END;
    END IF;
    -- A release is stored before the registry is told. The window stays the incarnation's for ever: so a session that still
    -- uses it, or a transaction that has begun before, generates no id that another holder of the shard generates.
    IF task = 'release' THEN
        UPDATE shardid_lease.leased_generator l SET state = 'sealed' WHERE l.origin = its.origin AND l.state = 'leased';
    ELSIF task = 'renew' THEN
        -- A row from a dump follows its sequence from now on, even if the sequence is renamed; a row whose sequence was
        -- dropped is deleted.
        UPDATE shardid_lease.leased_generator l SET generator = shardid_lease.sequence_ref(shardid_lease.sequence_oid(l.generator))
        WHERE shardid_lease.sequence_oid(l.generator) IS NOT NULL
            AND ROW(l.generator)::record *<> ROW(shardid_lease.sequence_ref(shardid_lease.sequence_oid(l.generator)))::record;
        WITH dropped AS (
            DELETE FROM shardid_lease.leased_generator l
            WHERE shardid_lease.sequence_oid(l.generator) IS NULL AND l.generator::text ~ '^[0-9]+$' RETURNING l.origin)
        DELETE FROM shardid_lease.lease_window w USING dropped d WHERE w.origin = d.origin;
    END IF;
    origins := ARRAY(SELECT l.origin FROM shardid_lease.leased_generator l
        WHERE (task <> 'join' OR was = 'sealed') AND (l.origin = its.origin
            OR l.server = its.server AND (task = 'renew' AND l.state IN ('leased', 'sealed')
                OR l.state = 'leased' AND shardid_lease.sequence_oid(l.generator) = ANY (others)))
        ORDER BY l.origin <> its.origin, l.origin);
    -- In hundreds, so that the registry's answer comes in time, as long as it answers.
    WHILE cardinality(origins) > 0 LOOP
        requests := ARRAY(
            SELECT shardid_lease.request_of(l, p.page, CASE task WHEN 'take_over' THEN task ELSE 'renew' END)
            FROM shardid_lease.leased_generator l CROSS JOIN LATERAL (
                SELECT CASE WHEN l.origin = its.origin AND work.family <> ''
                    THEN (work.family, work.moved_at, work.tick, owner, NULL, NULL, NULL)::shardid_lease.page
                    ELSE shardid_lease.page_of(shardid_lease.sequence_oid(l.generator)) END AS page) p
            WHERE l.origin = ANY (origins[:100]) AND (p.page).family IS NOT NULL AND (l.origin = its.origin OR (p.page).owner = owner));
        origins := origins[101:];
        COMMIT;
        CONTINUE WHEN cardinality(requests) = 0;
        outcomes := shardid_lease.settle(requests, its.server, owner, task = 'take_over');
        COMMIT;
        came := coalesce((SELECT o FROM unnest(outcomes) o WHERE o.origin = its.origin::text), came);
        granted := granted + (SELECT count(*) FROM unnest(outcomes) o WHERE o.fault IS NULL);
        is_silent := NOT EXISTS (SELECT FROM unnest(outcomes) o WHERE o.is_answered);
        EXIT WHEN is_silent;
    END LOOP;
    IF task = 'renew' OR cardinality(others) > 0 THEN
        IF is_silent AND task = 'take_over' THEN
            RAISE EXCEPTION USING ERRCODE = 'cannot_connect_now', MESSAGE = (outcomes[1]).fault;
        END IF;
        RETURN;
    END IF;
    SELECT * INTO its FROM shardid_lease.leased_generator l WHERE l.origin = its.origin;

    IF task = 'join' THEN
        -- An answer that it has another id space of this name does not keep the caller from leasing there.
        IF was = 'sealed' AND came.fault IS NOT NULL AND NOT came.is_answered AND (its.space, its.server) = (space, server) THEN
            RAISE EXCEPTION USING ERRCODE = 'cannot_connect_now',
                MESSAGE = format('the release of generator "%s" has not reached its registry', name), DETAIL = came.fault || '.',
                HINT = 'Call it again when the registry answers. If the registry no longer exists, delete the generator''s row from '
                    'shardid_lease.leased_generator as a superuser.';
        END IF;
        page := shardid_lease.page_of(generator);
        IF page.family IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'object_in_use', MESSAGE = format('sequence "%s" is locked by a transaction', name),
                HINT = 'Call it again when that has ended.';
        END IF;
        -- Stored before the registry is asked: a caller that asks again, because the answer was lost, has the same lease.
        INSERT INTO shardid_lease.leased_generator AS l (origin, lease, generator, server, space, shard, state)
        VALUES (coalesce(its.origin, gen_random_uuid()),
            CASE WHEN (its.state, its.space, its.server) = ('joining', work.space, work.server)
                    AND its.shard IS NOT DISTINCT FROM wanted THEN its.lease ELSE gen_random_uuid() END,
            shardid_lease.sequence_ref(work.generator), work.server, work.space, wanted, 'joining')
        ON CONFLICT ON CONSTRAINT leased_generator_pkey DO UPDATE SET (lease, generator, server, space, shard, state, epoch,
                shard_bits, sequence_bits)
            = (excluded.lease, excluded.generator, excluded.server, excluded.space, excluded.shard, 'joining', NULL, NULL, NULL)
        RETURNING * INTO its;
        asked := its.lease;
        requests := ARRAY[shardid_lease.request_of(its, page, 'join')];
        COMMIT;
        outcomes := shardid_lease.settle(requests, its.server, owner, false);
        came := outcomes[1];
        IF came.fault IS NOT NULL AND came.is_answered THEN
            PERFORM shardid_lease.forget_join(asked);
        END IF;
        SELECT * INTO its FROM shardid_lease.leased_generator l WHERE l.origin = its.origin;
        COMMIT;
    ELSIF was = 'joining' THEN
        PERFORM shardid_lease.forget_join(asked);
    END IF;
    IF task <> 'release' AND came.fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = CASE WHEN came.is_refused THEN '55006' ELSE '57P03' END,
            MESSAGE = CASE task WHEN 'join' THEN format('id space "%s" grants no lease to generator "%s"', space, name)
                ELSE format('generator "%s" cannot take over its shard', name) END,
            DETAIL = came.fault || '.',
            HINT = CASE WHEN came.is_refused IS NOT TRUE THEN 'Call it again later.'
                WHEN task = 'join' THEN 'Do what the registry says; if the holder of the shard no longer exists, run '
                    'shardid_lease.evict_shard() there, or ask for another shard.'
                ELSE 'Do what the registry says; if another holder of the shard no longer exists, run shardid_lease.evict_shard() there.' END;
    ELSIF task = 'join' AND its.state IS DISTINCT FROM 'leased' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format('generator "%s" holds no lease', name),
            HINT = 'Call lease_shard() again.';
    ELSIF came.fault IS NOT NULL AND (came.answer).is_final THEN
        notice := (false, format('generator "%s" had no shard to release', name), format('It generates no more ids. %s.', came.fault), NULL);
    -- It may have been granted a shard, whose answer was lost.
    ELSIF came.fault IS NOT NULL AND was = 'joining' THEN
        notice := (false, format('generator "%s" had not been granted a shard', name),
            format('If the registry has granted one, it stays held until it is evicted there. %s.', came.fault),
            'See shardid_lease.id_space_shards on the registry.');
    ELSIF came.fault IS NOT NULL THEN
        notice := (true, format('generator "%s" has released its lease, but the registry does not know it', name),
            format('Shard %s of id space "%s" stays granted to this server. %s.', its.shard, its.space, came.fault),
            'The next renewal tries it again, and so does release_shard().');
    END IF;
    granted := its.shard;
END
$body$;

-- A renewal by a session that asks by itself: it stores nothing, and keeps what would be stored. STABLE: the library gives
-- it a snapshot of what is committed now, whatever its transaction has.
CREATE FUNCTION shardid_lease.ask_in_session(origin uuid, lease uuid, owner oid, family text, moved_at pg_lsn, tick bigint,
    silent_since timestamptz, wait_ms int) RETURNS shardid_lease.lease_window
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $body$
DECLARE
    its shardid_lease.leased_generator;
    request shardid_lease.request_1;
    came shardid_lease.outcome;
    answer shardid_lease.grant_1;
    known shardid_lease.lease_window;
BEGIN
    SELECT * INTO its FROM shardid_lease.leased_generator l
    WHERE l.origin = ask_in_session.origin AND l.lease = ask_in_session.lease AND l.state = 'leased';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    request := shardid_lease.request_of(its, (family, moved_at, tick, owner, NULL, NULL, NULL)::shardid_lease.page, 'renew');
    came := shardid_lease.check_answer(request, shardid_lease.ask(its.server, owner, ARRAY[request], false, wait_ms));
    answer := came.answer;
    IF came.fault IS NULL THEN
        known := (its.origin, its.lease, answer.family, answer.moved_at, answer.from_ms, answer.until_ms, answer.lease_ms, answer.serial,
            NULL, clock_timestamp(), NULL, NULL, false, NULL);
    ELSE
        known := (its.origin, its.lease, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, clock_timestamp(),
            CASE WHEN NOT came.is_answered THEN coalesce(silent_since, clock_timestamp()) END, came.is_refused, came.fault);
    END IF;
    RETURN known;
END
$body$;

-- ==== The member: functions ====

-- Each has the background worker ask the registry (contrib/lease/src/worker.cpp), as the owner of the generator.
CREATE FUNCTION shardid_lease.lease_shard(
    space text, server name, generator regclass DEFAULT NULL, shard int DEFAULT NULL) RETURNS int
AS 'MODULE_PATHNAME', 'shardid_lease_shard' LANGUAGE C;

COMMENT ON FUNCTION shardid_lease.lease_shard IS
'leases a shard of an id space for a generator, which from then on generates ids only while it holds the lease';

CREATE FUNCTION shardid_lease.take_over_shard(generator regclass DEFAULT NULL) RETURNS int
AS 'MODULE_PATHNAME', 'shardid_take_over_shard' LANGUAGE C;

COMMENT ON FUNCTION shardid_lease.take_over_shard IS
'grants a leased shard to this server at once, even if another copy of the server holds it';

-- Returns how many have taken over.
CREATE FUNCTION shardid_lease.take_over_batch(generators regclass[]) RETURNS int
AS 'MODULE_PATHNAME', 'shardid_take_over_batch' LANGUAGE C STRICT;

CREATE FUNCTION shardid_lease.take_over_shards() RETURNS int LANGUAGE plpgsql AS $body$
DECLARE
    began timestamptz := clock_timestamp();
    batch record;
    silent text[] := '{}'; -- servers whose registries did not answer
    why text;
    wanted int := 0;
    taken int := 0;
    failed record;
BEGIN
    FOR batch IN
        -- A generator with two leases is left out: which one is its own is not known.
        SELECT s.server, count(*) AS wanted, array_agg(s.generator) FILTER (WHERE s.leases = 1) AS generators
        FROM (SELECT l.generator, l.server, l.state, c.relowner, count(*) OVER (PARTITION BY c.oid) AS leases,
                (row_number() OVER (PARTITION BY l.server, c.relowner ORDER BY c.oid) - 1) / 100 AS number
            FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator
            WHERE pg_has_role(c.relowner, 'USAGE')) s
        WHERE s.state IN ('held', 'not held')
        GROUP BY s.server, s.relowner, s.number
    LOOP
        wanted := wanted + batch.wanted;
        CONTINUE WHEN batch.server = ANY (silent);
        BEGIN
            taken := taken + coalesce(shardid_lease.take_over_batch(batch.generators), 0);
        EXCEPTION WHEN cannot_connect_now THEN
            silent := silent || batch.server;
            why := format('Server "%s": %s', batch.server, sqlerrm);
        END;
    END LOOP;
    IF taken < wanted THEN
        SELECT format('Generator "%s": %s', l.generator, l.error) AS why, l.error INTO failed FROM shardid_lease.shard_leases l
        WHERE l.state IN ('held', 'not held') AND l.failed_at >= began ORDER BY l.failed_at DESC LIMIT 1;
        RAISE EXCEPTION USING ERRCODE = CASE WHEN failed.error LIKE 'The registry says%' THEN 'object_in_use' ELSE 'cannot_connect_now' END,
            MESSAGE = format('%s of %s generators cannot take over their shards', wanted - taken, wanted),
            DETAIL = coalesce(failed.why, why, 'They have two leases, or are locked by a transaction') || '.',
            HINT = 'shardid_lease.shard_leases shows the errors of all. Do what they say, and call it again: what was taken over stays.';
    END IF;
    RETURN taken;
END
$body$;

COMMENT ON FUNCTION shardid_lease.take_over_shards IS
'takes over the shards of all of the caller''s leased generators, as take_over_shard() does, and returns how many';

CREATE FUNCTION shardid_lease.release_shard(generator regclass DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_release_shard' LANGUAGE C;

COMMENT ON FUNCTION shardid_lease.release_shard IS
'releases a leased shard, and waits for transactions that use its generator; it generates no ids until it is leased again';

CREATE FUNCTION shardid_lease.renew_now(generator regclass) RETURNS void
AS 'MODULE_PATHNAME', 'shardid_renew_now' LANGUAGE C STRICT;

CREATE FUNCTION shardid_lease.renew_leases() RETURNS int LANGUAGE plpgsql AS $body$
DECLARE
    leased regclass;
BEGIN
    FOR leased IN
        SELECT min(s.oid)::regclass
        FROM (SELECT c.oid, l.server, l.state, c.relowner, count(*) OVER (PARTITION BY c.oid) AS leases
            FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator
            WHERE pg_has_role(c.relowner, 'USAGE')) s
        WHERE s.leases = 1 AND s.state IN ('held', 'not held', 'sealed')
        GROUP BY s.server, s.relowner
    LOOP
        PERFORM shardid_lease.renew_now(leased);
    END LOOP;
    RETURN (SELECT count(*)
            FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator
            WHERE l.state = 'held' AND pg_has_role(c.relowner, 'USAGE'));
END
$body$;

COMMENT ON FUNCTION shardid_lease.renew_leases IS
'renews the leases of the caller''s generators now, and returns how many hold a window; for cron, in a database that rarely generates ids';

-- What holds for all that is made here. Default privileges may have given or taken rights on it: it gets those that it has
-- without them.
DO $body$
DECLARE
    change text;
BEGIN
    FOR change IN
        SELECT format('CREATE TRIGGER keep_own_rows BEFORE INSERT OR UPDATE OR DELETE ON %1$s FOR EACH ROW '
            'EXECUTE FUNCTION shardid_lease.keep_own_rows(); ALTER TABLE %1$s ENABLE ALWAYS TRIGGER keep_own_rows', oid::regclass)
        FROM pg_class WHERE relnamespace = 'shardid_lease'::regnamespace AND relkind = 'r'
        UNION ALL SELECT format('COMMENT ON ROUTINE %s IS ''used by shardid_lease itself''', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'shardid_lease'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
        UNION ALL SELECT format('COMMENT ON TYPE %s IS ''used by shardid_lease itself''', reltype::regtype)
        FROM pg_class WHERE relnamespace = 'shardid_lease'::regnamespace AND relkind = 'c'
        UNION ALL SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', p.oid::regprocedure)
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = 'shardid_lease'::regnamespace AND l.lanname = 'plpgsql' AND p.prokind = 'f'
        UNION ALL
        SELECT format('REVOKE ALL ON %1$s FROM PUBLIC%2$s CASCADE; GRANT ALL ON %1$s TO %3$s', o.name,
                      (SELECT string_agg(', ' || a.grantee::regrole, '') FROM aclexplode(o.acl) a WHERE a.grantee <> 0), o.grantees)
        FROM (SELECT tableoid, oid, pronamespace, 'ROUTINE ' || oid::regprocedure, proacl, proowner::regrole || ', PUBLIC' FROM pg_proc
              UNION ALL SELECT tableoid, oid, typnamespace, 'TYPE ' || oid::regtype, typacl, typowner::regrole || ', PUBLIC' FROM pg_type
              UNION ALL SELECT tableoid, oid, oid, 'SCHEMA ' || oid::regnamespace, nspacl, nspowner::regrole::text FROM pg_namespace
              UNION ALL SELECT tableoid, oid, relnamespace, CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass,
                  NULLIF(relacl || ARRAY(SELECT unnest(attacl) FROM pg_attribute WHERE attrelid = c.oid), '{}'),
                  relowner::regrole::text FROM pg_class c) o (classid, objid, schema, name, acl, grantees)
        WHERE o.acl IS NOT NULL AND o.schema = 'shardid_lease'::regnamespace
    LOOP
        EXECUTE change;
    END LOOP;
END
$body$;

-- No other role's objects are in the schema: USAGE is all that other roles need, and what views, types and members call.
-- Everything else is for superusers, and for roles to which they grant it.
GRANT USAGE ON SCHEMA shardid_lease TO PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA shardid_lease FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shardid_lease.ms_of, shardid_lease.now_ms, shardid_lease.ts_of, shardid_lease.role_oid,
    shardid_lease.sequence_oid, shardid_lease.role_ref, shardid_lease.sequence_ref, shardid_lease.late_name_in,
    shardid_lease.late_name_out, shardid_lease.is_own_family,
    shardid_lease.lease_shard, shardid_lease.take_over_shard, shardid_lease.take_over_shards, shardid_lease.take_over_batch,
    shardid_lease.release_shard, shardid_lease.renew_now, shardid_lease.renew_leases TO PUBLIC;
GRANT SELECT (name, owner, epoch, shard_bits, sequence_bits, lease_ms, max_ahead_ms, not_before,
    identity, was_set_back) ON shardid_lease.id_space TO PUBLIC;
GRANT SELECT (identity, system_identifier, timeline, host, port, database, was_restored)
    ON shardid_lease.registry_confirmation TO PUBLIC;
GRANT SELECT ON shardid_lease.id_space_shards, shardid_lease.shard_leases TO PUBLIC;
-- For pg_dump.
GRANT SELECT ON shardid_lease.id_space, shardid_lease.granted_shard TO pg_database_owner;
GRANT SELECT ON shardid_lease.leased_generator TO pg_database_owner, pg_monitor;
