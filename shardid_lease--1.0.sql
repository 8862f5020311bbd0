\echo Use "CREATE EXTENSION shardid_lease" to load this file. \quit

-- As in shardid--1.0.sql, all that is not made here is named with its schema, and every literal has its type.
-- tools/check_scripts.py checks this.
--
-- The schema's name is fixed: a member asks its registry, on another server, for functions of this schema.
--
-- Who calls decides what may be done, and nobody but a superuser writes these tables: so what SQL calls is
-- shardid_as_owner, which calls the function of the same name with _by, as the extension's owner, and passes the
-- caller's role first.

-- What is found here by name is what this script makes.

CREATE FUNCTION check_schema()
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_check_lease_schema'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

SELECT shardid_lease.check_schema();
DROP FUNCTION shardid_lease.check_schema();

-- The registry: id spaces, and who holds their shards. A time is in milliseconds since the space's epoch.

CREATE TABLE id_space (
    name pg_catalog.text PRIMARY KEY,
    owner pg_catalog.regrole NOT NULL,
    epoch pg_catalog.timestamptz NOT NULL,
    shard_bits int NOT NULL,
    sequence_bits int NOT NULL,
    lease_ms bigint NOT NULL,
    max_ahead_ms bigint NOT NULL,
    reclaim_after_ms bigint NOT NULL,
    not_before bigint NOT NULL);

COMMENT ON TABLE id_space IS
'the id spaces of this registry';

CREATE TABLE granted_shard (
    space pg_catalog.text NOT NULL REFERENCES id_space,
    shard int NOT NULL,
    state pg_catalog.text NOT NULL,
    from_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    origin pg_catalog.text,
    place pg_catalog.text,
    incarnation pg_catalog.text,
    role pg_catalog.regrole,
    host pg_catalog.text,
    port int,
    database pg_catalog.text,
    system_identifier pg_catalog.text,
    timeline bigint,
    since pg_catalog.timestamptz,
    PRIMARY KEY (space, shard));

COMMENT ON TABLE granted_shard IS
'the shards that were ever granted: to whom, and the window of time that was granted last';

-- A registry that is restored from a dump has to know what was granted.
SELECT pg_catalog.pg_extension_config_dump('id_space'::pg_catalog.regclass, ''::pg_catalog.text);
SELECT pg_catalog.pg_extension_config_dump('granted_shard'::pg_catalog.regclass, ''::pg_catalog.text);

CREATE FUNCTION ms_of(ts pg_catalog.timestamptz)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.floor(pg_catalog.date_part('epoch'::pg_catalog.text, ts) OPERATOR(pg_catalog.*) 1000);

COMMENT ON FUNCTION ms_of(pg_catalog.timestamptz) IS
'the time in whole milliseconds since 1970';

CREATE FUNCTION ts_of(ms bigint, epoch pg_catalog.timestamptz)
RETURNS pg_catalog.timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN epoch OPERATOR(pg_catalog.+) (ms OPERATOR(pg_catalog.*) '1 millisecond'::pg_catalog.interval);

COMMENT ON FUNCTION ts_of(bigint, pg_catalog.timestamptz) IS
'the time that is so many milliseconds after the epoch';

CREATE FUNCTION create_id_space_by(
    caller pg_catalog.regrole,
    name pg_catalog.text,
    lease interval,
    max_ahead interval,
    reclaim_after interval,
    epoch pg_catalog.timestamptz,
    shard_bits int,
    sequence_bits int)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    lease_ms bigint := 1000 * extract(epoch FROM lease);
    max_ahead_ms bigint := 1000 * extract(epoch FROM max_ahead);
    reclaim_after_ms bigint := 1000 * extract(epoch FROM reclaim_after);
BEGIN
    IF name IS NULL OR lease IS NULL OR max_ahead IS NULL OR reclaim_after IS NULL OR epoch IS NULL OR
            shard_bits IS NULL OR sequence_bits IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'an argument of create_id_space() is null',
            HINT = 'Leave out what is to have its default.';
    END IF;
    IF NOT lease_ms BETWEEN 1000 AND 86400000 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'lease is out of range',
            DETAIL = format('The lease is %s.', lease),
            HINT = 'Pass an interval from 1 second to 1 day.';
    ELSIF NOT max_ahead_ms BETWEEN lease_ms AND 86400000 THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'max_ahead is out of range',
            DETAIL = format('max_ahead is %s, and the lease is %s.', max_ahead, lease),
            HINT = 'Pass an interval from the length of the lease to 1 day.';
    ELSIF reclaim_after_ms < lease_ms THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range', MESSAGE = 'reclaim_after is out of range',
            DETAIL = format('reclaim_after is %s, and the lease is %s.', reclaim_after, lease),
            HINT = 'Pass an interval that is no shorter than the lease.';
    END IF;
    PERFORM shardid_lease.check_layout(epoch, shard_bits, sequence_bits);
    INSERT INTO shardid_lease.id_space
    VALUES (name, caller, epoch, shard_bits, sequence_bits, lease_ms, max_ahead_ms, reclaim_after_ms, 0);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
        MESSAGE = format('id space "%s" already exists', name),
        HINT = 'Use it, or another name.';
END
$body$;

COMMENT ON FUNCTION create_id_space_by(
    pg_catalog.regrole, pg_catalog.text, interval, interval, interval, pg_catalog.timestamptz, int, int) IS
'what create_id_space() does for its caller';

CREATE FUNCTION check_layout(epoch pg_catalog.timestamptz, shard_bits int, sequence_bits int)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_check_layout'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION check_layout(pg_catalog.timestamptz, int, int) IS
'raises an error unless ids can have this layout';

CREATE FUNCTION owned_space(caller pg_catalog.regrole, wanted pg_catalog.text)
RETURNS id_space
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    found_space shardid_lease.id_space;
BEGIN
    SELECT * INTO found_space FROM shardid_lease.id_space WHERE id_space.name = wanted FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('id space "%s" does not exist', wanted),
            HINT = 'SELECT name FROM shardid_lease.id_space shows those that do.';
    ELSIF NOT pg_has_role(caller, found_space.owner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('must be owner of id space "%s"', wanted),
            DETAIL = format('Its owner is %s, and role %s is not a member of that.', found_space.owner, caller),
            HINT = format('Run this as %s.', found_space.owner);
    END IF;
    RETURN found_space;
END
$body$;

COMMENT ON FUNCTION owned_space(pg_catalog.regrole, pg_catalog.text) IS
'the id space, locked, if the caller owns it';

CREATE FUNCTION drop_id_space_by(caller pg_catalog.regrole, name pg_catalog.text)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    dropped shardid_lease.id_space := shardid_lease.owned_space(caller, name);
    held int[];
BEGIN
    SELECT array_agg(g.shard ORDER BY g.shard) INTO held
    FROM shardid_lease.granted_shard g
    WHERE g.space = dropped.name
        AND (g.state = 'permanent' OR
             g.state = 'held' AND g.until_ms > shardid_lease.ms_of(clock_timestamp()) - shardid_lease.ms_of(dropped.epoch));
    IF held IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('id space "%s" has shards that are held', dropped.name),
            DETAIL = format('There are %s, the first is shard %s.', cardinality(held), held[1]),
            HINT = 'Run release_shard() on the members; or, where a member is gone, evict_shard() here.';
    END IF;
    DELETE FROM shardid_lease.granted_shard g WHERE g.space = dropped.name;
    DELETE FROM shardid_lease.id_space s WHERE s.name = dropped.name;
END
$body$;

COMMENT ON FUNCTION drop_id_space_by(pg_catalog.regrole, pg_catalog.text) IS
'what drop_id_space() does for its caller';

CREATE FUNCTION evict_shard_by(caller pg_catalog.regrole, space pg_catalog.text, shard int)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    its_space shardid_lease.id_space := shardid_lease.owned_space(caller, space);
BEGIN
    PERFORM shardid_lease.commit_durably();
    -- Of what a permanent holder drew nothing is known, but that its clock was not further ahead.
    UPDATE shardid_lease.granted_shard g
    SET state = 'released',
        until_ms = CASE g.state
            WHEN 'permanent' THEN greatest(g.until_ms,
                shardid_lease.ms_of(clock_timestamp()) - shardid_lease.ms_of(its_space.epoch) + its_space.max_ahead_ms)
            ELSE g.until_ms END
    WHERE g.space = its_space.name AND g.shard = evict_shard_by.shard AND g.state <> 'released';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('shard %s of id space "%s" is not held', shard, space),
            HINT = 'SELECT * FROM shardid_lease.id_space_shards shows who holds which.';
    END IF;
END
$body$;

COMMENT ON FUNCTION evict_shard_by(pg_catalog.regrole, pg_catalog.text, int) IS
'what evict_shard() does for its caller';

-- Windows that were granted, and that the restored registry does not know, end no later than this: a window was
-- never granted further ahead of the registry's clock.

CREATE FUNCTION registry_was_restored_by(caller pg_catalog.regrole)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM shardid_lease.commit_durably();
    UPDATE shardid_lease.id_space s
    SET not_before = greatest(s.not_before, shardid_lease.ms_of(clock_timestamp()) - shardid_lease.ms_of(s.epoch)) +
        s.max_ahead_ms + s.lease_ms
    WHERE pg_has_role(caller, s.owner, 'USAGE');
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = 'there is no id space that the caller owns',
            DETAIL = format('The caller is %s.', caller),
            HINT = 'Run this as the owner of the id spaces, or as a superuser.';
    END IF;
END
$body$;

COMMENT ON FUNCTION registry_was_restored_by(pg_catalog.regrole) IS
'what registry_was_restored() does for its caller';

-- What is granted has to outlive a crash of the registry, whatever the member's role has set.

CREATE FUNCTION commit_durably()
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$body$;

COMMENT ON FUNCTION commit_durably() IS
'has the commit of this transaction wait for disk and synchronous standbys';

CREATE FUNCTION refusal(request pg_catalog.jsonb, error pg_catalog.text)
RETURNS pg_catalog.jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.jsonb_build_object('generator'::pg_catalog.text, request OPERATOR(pg_catalog.->) 'generator'::pg_catalog.text,
    'ok'::pg_catalog.text, false, 'error'::pg_catalog.text, error);

COMMENT ON FUNCTION refusal(pg_catalog.jsonb, pg_catalog.text) IS
'the answer to a request that is refused';

CREATE FUNCTION refusal_of_held(request pg_catalog.jsonb, space id_space, held granted_shard)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    RETURN shardid_lease.refusal(request, format(
        CASE held.state
            WHEN 'permanent' THEN 'shard %s of id space "%s" is reserved for %s, port %s, database "%s" (role %s), since %s'
            ELSE 'shard %s of id space "%s" is held by %s, port %s, database "%s" (role %s), since %s until %s' END,
        held.shard, space.name, held.host, held.port, held.database, held.role, date_trunc('second', held.since),
        date_trunc('second', shardid_lease.ts_of(held.until_ms, space.epoch))));
END
$body$;

COMMENT ON FUNCTION refusal_of_held(pg_catalog.jsonb, id_space, granted_shard) IS
'the answer to a request for a shard that somebody else holds';

-- The lowest shard that the caller may have: one of its own, or one that nobody has.

CREATE FUNCTION free_shard(
    space id_space, caller pg_catalog.regrole, its_origin pg_catalog.text, its_place pg_catalog.text, now_ms bigint)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    found_shard bigint;
BEGIN
    -- One at a time chooses.
    PERFORM FROM shardid_lease.id_space s WHERE s.name = space.name FOR NO KEY UPDATE;
    SELECT min(g.shard) INTO found_shard
    FROM shardid_lease.granted_shard g
    WHERE g.space = space.name AND g.origin = its_origin AND g.role = caller
        -- Not that of a copy, or of its original.
        AND (g.state = 'released' OR g.place = its_place);
    IF found_shard IS NULL THEN
        SELECT min(choice) INTO found_shard
        FROM (SELECT 0 AS choice
              WHERE NOT EXISTS (SELECT FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = 0)
              UNION ALL
              (SELECT g.shard::bigint + 1
               FROM shardid_lease.granted_shard g
               WHERE g.space = space.name
                   AND NOT EXISTS (SELECT FROM shardid_lease.granted_shard h
                                   WHERE h.space = space.name AND h.shard = g.shard::bigint + 1)
               ORDER BY g.shard LIMIT 1)
              UNION ALL
              SELECT min(g.shard)
              FROM shardid_lease.granted_shard g
              WHERE g.space = space.name
                  AND (g.state = 'released' OR g.state = 'held' AND g.until_ms + space.reclaim_after_ms < now_ms)) c;
    END IF;
    RETURN CASE WHEN found_shard < 1::bigint << space.shard_bits THEN found_shard END;
END
$body$;

COMMENT ON FUNCTION free_shard(id_space, pg_catalog.regrole, pg_catalog.text, pg_catalog.text, bigint) IS
'the lowest shard of the id space that can be granted to the caller; NULL if there is none';

-- The rule. Its steps are those of test/model/lease.pml.

CREATE FUNCTION grant_one(caller pg_catalog.regrole, request pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    space shardid_lease.id_space;
    held shardid_lease.granted_shard;
    chosen int := request->>'shard';
    its_origin text := request->>'origin';
    its_place text := request->>'place';
    its_incarnation text := request->>'incarnation';
    wants_permanent boolean := coalesce((request->>'permanent')::boolean, false);
    epoch_ms bigint;
    now_ms bigint;
    horizon bigint;
    wanted bigint;
    new_from bigint;
    new_until bigint;
    is_own boolean;
BEGIN
    SELECT * INTO space FROM shardid_lease.id_space s WHERE s.name = request->>'space';
    IF NOT FOUND THEN
        RETURN shardid_lease.refusal(request, format('id space "%s" does not exist', request->>'space'));
    ELSIF its_origin IS NULL OR its_place IS NULL OR its_incarnation IS NULL THEN
        RETURN shardid_lease.refusal(request, 'the request does not say who asks');
    END IF;
    epoch_ms := shardid_lease.ms_of(space.epoch);
    IF (request->>'bound_epoch', request->>'bound_shard_bits', request->>'bound_sequence_bits') <>
            (epoch_ms::text, space.shard_bits::text, space.sequence_bits::text) THEN
        RETURN shardid_lease.refusal(request, format(
            'its ids have another layout than those of id space "%s", which has epoch => ''%s'', shard_bits => %s, '
            'sequence_bits => %s', space.name, space.epoch, space.shard_bits, space.sequence_bits));
    ELSIF chosen IS NULL THEN
        chosen := shardid_lease.free_shard(space, caller, its_origin, its_place,
            shardid_lease.ms_of(clock_timestamp()) - epoch_ms);
        IF chosen IS NULL THEN
            RETURN shardid_lease.refusal(request, format('id space "%s" has no shard left', space.name));
        END IF;
    ELSIF chosen < 0 OR chosen >= 1::bigint << space.shard_bits THEN
        RETURN shardid_lease.refusal(request, format('id space "%s" has shards from 0 to %s, not %s',
            space.name, (1::bigint << space.shard_bits) - 1, chosen));
    END IF;

    -- Only who may have the shard waits for its row, or keeps others waiting.
    SELECT * INTO held FROM shardid_lease.granted_shard g WHERE g.space = space.name AND g.shard = chosen;
    IF FOUND AND held.state <> 'released' AND NOT (held.origin = its_origin AND pg_has_role(caller, held.role, 'USAGE'))
            AND (held.state = 'permanent' OR
                 held.until_ms + space.reclaim_after_ms >= shardid_lease.ms_of(clock_timestamp()) - epoch_ms) THEN
        RETURN shardid_lease.refusal_of_held(request, space, held);
    END IF;
    SELECT * INTO held FROM shardid_lease.granted_shard g
    WHERE g.space = space.name AND g.shard = chosen FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO shardid_lease.granted_shard (space, shard, state, from_ms, until_ms)
        VALUES (space.name, chosen, 'released', 0, 0)
        ON CONFLICT DO NOTHING;
        SELECT * INTO held FROM shardid_lease.granted_shard g
        WHERE g.space = space.name AND g.shard = chosen FOR UPDATE;
    END IF;

    -- Who waited for the row looks at the clock now, and at what was restored meanwhile.
    SELECT s.not_before INTO space.not_before FROM shardid_lease.id_space s WHERE s.name = space.name;
    now_ms := shardid_lease.ms_of(clock_timestamp()) - epoch_ms;
    horizon := greatest(now_ms, space.not_before) + space.max_ahead_ms;
    wanted := greatest((request->>'clock')::bigint - epoch_ms, (request->>'tick')::bigint >> space.sequence_bits);
    is_own := coalesce(held.origin = its_origin AND pg_has_role(caller, held.role, 'USAGE'), false);

    IF wanted > horizon THEN
        RETURN shardid_lease.refusal(request, format(
            'its clock or its generator is %s ms ahead of the registry, and max_ahead of id space "%s" is %s ms',
            wanted - now_ms, space.name, space.max_ahead_ms));
    ELSIF held.state = 'held' AND is_own AND held.incarnation = its_incarnation AND NOT wants_permanent
            -- Else a release whose message comes late would end this window, and tell what was drawn before it.
            AND NOT coalesce((request->>'joins')::boolean, false)
            -- Else others may have had this window since the state to which the registry was restored.
            AND held.from_ms >= space.not_before THEN
        new_from := held.from_ms;
        new_until := greatest(held.until_ms, wanted + space.lease_ms);
    ELSIF held.state = 'permanent' AND is_own AND held.place = its_place AND wants_permanent THEN
        -- Leased anew, it is another lease, which a release that comes late does not name.
        new_from := greatest(
            held.from_ms + CASE WHEN (request->>'joins')::boolean THEN 1 ELSE 0 END, space.not_before);
        new_until := greatest(held.until_ms, space.not_before);
    ELSIF held.state = 'released'
            OR held.state = 'held' AND (
                is_own AND (held.until_ms < now_ms OR held.incarnation = its_incarnation OR held.place = its_place
                            OR coalesce((request->>'takes_over')::boolean, false))
                OR held.until_ms + space.reclaim_after_ms < now_ms) THEN
        new_from := greatest(held.until_ms, wanted, space.not_before);
        new_until := new_from + space.lease_ms;
        IF new_from > horizon THEN
            RETURN shardid_lease.refusal(request, format(
                'the windows of shard %s of id space "%s" are %s ms ahead of the registry''s clock: too many servers ask for '
                'it, or one was started too often', chosen, space.name, new_from - now_ms));
        END IF;
    ELSE
        RETURN shardid_lease.refusal_of_held(request, space, held);
    END IF;

    UPDATE shardid_lease.granted_shard g
    SET state = CASE WHEN wants_permanent THEN 'permanent' ELSE 'held' END,
        from_ms = new_from,
        until_ms = new_until,
        since = CASE WHEN g.incarnation = its_incarnation AND g.state <> 'released' THEN g.since ELSE clock_timestamp() END,
        origin = its_origin,
        place = its_place,
        incarnation = its_incarnation,
        role = CASE WHEN is_own AND g.state <> 'released' THEN g.role ELSE caller END,
        host = request->>'host',
        port = (request->>'port')::int,
        database = request->>'database',
        system_identifier = request->>'system_identifier',
        timeline = (request->>'timeline')::bigint
    WHERE g.space = space.name AND g.shard = chosen;
    RETURN jsonb_build_object('generator', request->'generator', 'ok', true, 'shard', chosen,
        'incarnation', its_incarnation, 'from', new_from, 'until', new_until, 'lease_ms', space.lease_ms,
        'epoch', space.epoch, 'shard_bits', space.shard_bits, 'sequence_bits', space.sequence_bits);
END
$body$;

COMMENT ON FUNCTION grant_one(pg_catalog.regrole, pg_catalog.jsonb) IS
'grants a shard and a window of time to who asks, or says why not';

CREATE FUNCTION grant_shards_by(caller pg_catalog.regrole, requests pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    request jsonb;
    answers jsonb[] := '{}';
BEGIN
    PERFORM shardid_lease.commit_durably();
    -- In one order for all, or two members could wait for each other.
    FOR request IN SELECT r FROM jsonb_array_elements(requests) r ORDER BY r->>'space', (r->>'shard')::int LOOP
        answers := answers || shardid_lease.grant_one(caller, request);
    END LOOP;
    RETURN to_jsonb(answers);
END
$body$;

COMMENT ON FUNCTION grant_shards_by(pg_catalog.regrole, pg_catalog.jsonb) IS
'what grant_shards() does for its caller';

CREATE FUNCTION return_shard_by(caller pg_catalog.regrole, request pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    space shardid_lease.id_space;
    now_ms bigint;
    after_last bigint;
BEGIN
    PERFORM shardid_lease.commit_durably();
    SELECT * INTO space FROM shardid_lease.id_space s WHERE s.name = request->>'space';
    now_ms := shardid_lease.ms_of(clock_timestamp()) - shardid_lease.ms_of(space.epoch);
    after_last := ((request->>'tick')::bigint >> space.sequence_bits) + 1;
    -- What drew in the window says where it stopped, and which window it was. If it cannot, the window is used up. A reserved shard of which more
    -- than any window is used up stays reserved: nobody could be granted it.
    UPDATE shardid_lease.granted_shard g
    SET state = 'released',
        until_ms = CASE g.state
            -- raise_generator() can have moved it past the window.
            WHEN 'held' THEN CASE WHEN g.from_ms = (request->>'from')::bigint
                THEN least(g.until_ms, greatest(g.from_ms, coalesce(after_last, g.until_ms))) ELSE g.until_ms END
            ELSE greatest(g.from_ms, coalesce(after_last, now_ms + space.max_ahead_ms)) END
    WHERE g.space = space.name AND g.shard = (request->>'shard')::int
        AND g.origin = request->>'origin' AND pg_has_role(caller, g.role, 'USAGE')
        AND (g.state = 'held' AND g.incarnation = request->>'incarnation'
                AND coalesce(g.from_ms = (request->>'from')::bigint, true)
             OR g.state = 'permanent' AND g.place = request->>'place'
                AND coalesce(g.from_ms = (request->>'from')::bigint, true)
                AND coalesce(after_last <= greatest(now_ms, space.not_before) + space.max_ahead_ms, true));
    RETURN jsonb_build_object('ok', FOUND);
END
$body$;

COMMENT ON FUNCTION return_shard_by(pg_catalog.regrole, pg_catalog.jsonb) IS
'what return_shard() does for its caller';

-- What a registry offers.

CREATE FUNCTION create_id_space(
    name pg_catalog.text,
    lease interval DEFAULT '60 seconds'::pg_catalog.interval,
    max_ahead interval DEFAULT '1 hour'::pg_catalog.interval,
    reclaim_after interval DEFAULT '30 days'::pg_catalog.interval,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION create_id_space(pg_catalog.text, interval, interval, interval, pg_catalog.timestamptz, int, int) IS
'makes an id space, of which members lease shards: ids of one space never meet';

CREATE FUNCTION drop_id_space(name pg_catalog.text)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION drop_id_space(pg_catalog.text) IS
'drops an id space of which no shard is held';

CREATE FUNCTION evict_shard(space pg_catalog.text, shard int)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION evict_shard(pg_catalog.text, int) IS
'takes a shard from a holder that is gone for good, so that anybody can lease it';

CREATE FUNCTION registry_was_restored()
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION registry_was_restored() IS
'to be called after the registry has lost commits: no window that is granted from now on meets one that it has forgotten';

CREATE FUNCTION grant_shards(requests pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION grant_shards(pg_catalog.jsonb) IS
'called by members: grants or renews leases of shards';

CREATE FUNCTION return_shard(request pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
AS 'MODULE_PATHNAME', 'shardid_as_owner'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION return_shard(pg_catalog.jsonb) IS
'called by members: gives a leased shard back';

CREATE VIEW id_space_shards AS
SELECT g.space, g.shard,
    CASE WHEN g.state OPERATOR(pg_catalog.=) 'held'::pg_catalog.text AND g.until_ms OPERATOR(pg_catalog.<)
            (shardid_lease.ms_of(pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.-) shardid_lease.ms_of(s.epoch))
        THEN 'expired'::pg_catalog.text ELSE g.state END AS state,
    g.host, g.port, g.database, g.role, g.system_identifier, g.timeline, g.since,
    CASE WHEN g.state OPERATOR(pg_catalog.<>) 'permanent'::pg_catalog.text THEN shardid_lease.ts_of(g.until_ms, s.epoch) END AS until
FROM granted_shard g JOIN id_space s ON s.name OPERATOR(pg_catalog.=) g.space
WHERE pg_catalog.pg_has_role(s.owner, 'USAGE'::pg_catalog.text)
    OR pg_catalog.pg_has_role(g.role, 'USAGE'::pg_catalog.text)
    OR pg_catalog.pg_has_role('pg_monitor'::pg_catalog.name, 'USAGE'::pg_catalog.text);

COMMENT ON VIEW id_space_shards IS
'the shards of this registry''s id spaces: who holds them, and until when';

GRANT SELECT ON id_space_shards, id_space TO PUBLIC;

-- The member: its leased generators, and the window of time that each has. Dumps carry the former only: a copy knows
-- that it is a member, and has to ask.

CREATE TABLE leased_generator (
    generator pg_catalog.regclass PRIMARY KEY,
    space pg_catalog.text NOT NULL,
    shard int NOT NULL,
    server pg_catalog.text,
    role pg_catalog.regrole NOT NULL,
    origin pg_catalog.text NOT NULL,
    state pg_catalog.text NOT NULL,
    epoch pg_catalog.timestamptz NOT NULL,
    shard_bits int NOT NULL,
    sequence_bits int NOT NULL,
    from_ms bigint NOT NULL);

COMMENT ON TABLE leased_generator IS
'the generators of this database that hold a lease, and of what';

CREATE TABLE lease_window (
    generator pg_catalog.regclass PRIMARY KEY,
    family pg_catalog.text NOT NULL,
    moved_at pg_catalog.pg_lsn NOT NULL,
    from_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    lease_ms bigint NOT NULL,
    renewed_at pg_catalog.timestamptz,
    failed_at pg_catalog.timestamptz,
    logged_at pg_catalog.timestamptz,
    error pg_catalog.text);

COMMENT ON TABLE lease_window IS
'the window of time that each leased generator was granted last, and what the registry answered';

-- Not those of generators that were dropped: their OIDs may be those of other sequences elsewhere.
SELECT pg_catalog.pg_extension_config_dump('leased_generator'::pg_catalog.regclass,
    'WHERE generator IN (SELECT oid FROM pg_catalog.pg_class WHERE relkind = ''S'')'::pg_catalog.text);

GRANT SELECT ON leased_generator TO pg_database_owner, pg_monitor;

CREATE FUNCTION is_own_family(generator pg_catalog.regclass, family pg_catalog.text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'shardid_is_own_family'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION is_own_family(pg_catalog.regclass, pg_catalog.text) IS
'whether a window was granted to this generator''s present storage, on this server, since it was started';

CREATE VIEW shard_leases AS
SELECT l.generator, l.space, l.shard, l.server, l.role,
    CASE WHEN l.state OPERATOR(pg_catalog.<>) 'leased'::pg_catalog.text THEN l.state
        WHEN w.own AND shardid_lease.ts_of(w.until_ms, l.epoch) OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
        THEN 'held'::pg_catalog.text ELSE 'not held'::pg_catalog.text END AS state,
    CASE WHEN w.own THEN shardid_lease.ts_of(w.from_ms, l.epoch) END AS "from",
    CASE WHEN w.own THEN shardid_lease.ts_of(w.until_ms, l.epoch) END AS until,
    w.renewed_at, w.failed_at, w.error
FROM leased_generator l
    JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.generator
    LEFT JOIN (SELECT *, shardid_lease.is_own_family(v.generator, v.family) AS own FROM lease_window v) w
        ON w.generator OPERATOR(pg_catalog.=) l.generator
WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE'::pg_catalog.text)
    OR pg_catalog.pg_has_role('pg_monitor'::pg_catalog.name, 'USAGE'::pg_catalog.text);

COMMENT ON VIEW shard_leases IS
'the leased generators of this database: their shards, their windows of time, and what the registry answered last';

GRANT SELECT ON shard_leases TO PUBLIC;

-- Who asks for a window: for the generator's owner and for superusers. The last three arguments are a session's own, for
-- storage that nobody else sees.

CREATE FUNCTION lease_request(
    generator pg_catalog.regclass,
    family pg_catalog.text DEFAULT NULL::pg_catalog.text,
    moved_at pg_catalog.pg_lsn DEFAULT NULL::pg_catalog.pg_lsn,
    tick bigint DEFAULT NULL::bigint)
RETURNS pg_catalog.jsonb
AS 'MODULE_PATHNAME', 'shardid_lease_request'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION lease_request(pg_catalog.regclass, pg_catalog.text, pg_catalog.pg_lsn, bigint) IS
'what the registry is told of a generator that asks for a window of time';

CREATE FUNCTION lock_for_lease(generator pg_catalog.regclass, calling pg_catalog.text)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_lock_for_lease'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION lock_for_lease(pg_catalog.regclass, pg_catalog.text) IS
'waits until no transaction draws from the caller''s generator, and keeps others from drawing until this one ends';

CREATE FUNCTION join_id_space(
    generator pg_catalog.regclass,
    space pg_catalog.text,
    shard int,
    server pg_catalog.text,
    origin pg_catalog.text,
    permanent boolean,
    epoch pg_catalog.timestamptz,
    shard_bits int,
    sequence_bits int,
    from_ms bigint)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_join_id_space'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION join_id_space(
    pg_catalog.regclass, pg_catalog.text, int, pg_catalog.text, pg_catalog.text, boolean, pg_catalog.timestamptz, int, int,
    bigint) IS
'notes that the caller''s generator is leased';

CREATE FUNCTION registry_call(server pg_catalog.text, function_name pg_catalog.text, argument pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    dblink_schema text;
    answer jsonb;
BEGIN
    IF server IS NULL THEN
        EXECUTE format('SELECT shardid_lease.%I($1)', function_name) INTO answer USING argument;
        RETURN answer;
    ELSIF NOT EXISTS (SELECT FROM pg_foreign_server f WHERE f.srvname = server) THEN
        -- dblink would take the name for a connection string.
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = format('server "%s" does not exist', server),
            HINT = 'Run CREATE SERVER ... FOREIGN DATA WRAPPER dblink_fdw, and CREATE USER MAPPING.';
    END IF;
    SELECT n.nspname INTO dblink_schema
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'dblink';
    EXECUTE format('SELECT answer FROM %I.dblink($1, $2) AS t(answer jsonb)', dblink_schema) INTO answer
    USING server, format('SELECT shardid_lease.%I(%L::pg_catalog.jsonb)', function_name, argument);
    RETURN answer;
END
$body$;

COMMENT ON FUNCTION registry_call(pg_catalog.text, pg_catalog.text, pg_catalog.jsonb) IS
'calls a function of the registry behind the foreign server, or of this database if that is NULL, as the caller';

CREATE FUNCTION default_generator(generator pg_catalog.regclass)
RETURNS pg_catalog.regclass
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    RETURN coalesce(generator,
        (SELECT c.oid::regclass
         FROM pg_depend d
             JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
             JOIN pg_class c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
         WHERE e.extname = 'shardid' AND d.deptype = 'e' AND c.relname = 'shardid_seq'));
END
$body$;

COMMENT ON FUNCTION default_generator(pg_catalog.regclass) IS
'the generator, or that of the extension shardid if it is NULL';

-- Who grants a window to this generator, and keeps that of any other, is the registry. So what is noted here about a
-- generator of one's own can only keep it from drawing.

CREATE FUNCTION lease_shard(
    space pg_catalog.text,
    server pg_catalog.name DEFAULT NULL::pg_catalog.name,
    generator pg_catalog.regclass DEFAULT NULL::pg_catalog.regclass,
    shard int DEFAULT NULL::int,
    permanent boolean DEFAULT false)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    leased regclass := shardid_lease.default_generator(generator);
    request jsonb;
    answer jsonb;
BEGIN
    IF space IS NULL OR permanent IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = format('%s of lease_shard() is null', CASE WHEN space IS NULL THEN 'space' ELSE 'permanent' END),
            HINT = 'Pass the name of an id space; permanent is true or false.';
    END IF;
    PERFORM shardid_lease.lock_for_lease(leased, 'lease_shard()');
    request := shardid_lease.lease_request(leased);
    IF request->>'state' IN ('leased', 'permanent') AND (
            request->>'space' <> space OR (request->>'shard')::int <> shard OR request->>'server' IS DISTINCT FROM server OR
            (request->>'state' = 'permanent') <> permanent) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" holds a lease already', leased),
            DETAIL = format('It has shard %s of id space "%s".', request->>'shard', request->>'space'),
            HINT = 'Run shardid_lease.release_shard() first.';
    END IF;
    IF shard IS NULL AND request->>'state' IN ('leased', 'permanent') THEN
        shard := request->>'shard';
    END IF;
    -- Who has given its shard back keeps its origin: it, or the registry, may be restored to a time before that.
    request := request || jsonb_build_object('space', space, 'shard', shard, 'permanent', permanent,
        'origin', coalesce(request->>'origin', gen_random_uuid()::text),
        'joins', coalesce(request->>'state', '') NOT IN ('leased', 'permanent'));
    answer := shardid_lease.registry_call(server, 'grant_shards', jsonb_build_array(request))->0;
    IF NOT (answer->>'ok')::boolean THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('id space "%s" grants no lease to generator "%s"', space, leased),
            DETAIL = format('The registry says: %s.', answer->>'error'),
            HINT = 'Ask for another shard; or, on the registry and if its holder is gone, run shardid_lease.evict_shard().';
    END IF;
    shard := answer->>'shard';
    BEGIN
        PERFORM shardid_lease.join_id_space(leased, space, shard, server, request->>'origin', permanent,
            (answer->>'epoch')::timestamptz, (answer->>'shard_bits')::int, (answer->>'sequence_bits')::int,
            (answer->>'from')::bigint);
    EXCEPTION WHEN OTHERS THEN
        -- Nobody else would give back what the registry has committed.
        IF request->>'state' IS DISTINCT FROM 'leased' AND request->>'state' IS DISTINCT FROM 'permanent' THEN
            PERFORM shardid_lease.registry_call(server, 'return_shard', request ||
                jsonb_build_object('shard', shard, 'from', answer->'from'));
        END IF;
        RAISE;
    END;
    RETURN shard;
END
$body$;

COMMENT ON FUNCTION lease_shard(pg_catalog.text, pg_catalog.name, pg_catalog.regclass, int, boolean) IS
'leases a shard of an id space for a generator, which from then on draws its ids only while it holds the lease';

CREATE FUNCTION take_over_shard(generator pg_catalog.regclass DEFAULT NULL::pg_catalog.regclass)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    taken regclass := shardid_lease.default_generator(generator);
    request jsonb;
    answer jsonb;
BEGIN
    PERFORM shardid_lease.lock_for_lease(taken, 'take_over_shard()');
    request := shardid_lease.lease_request(taken);
    IF request->>'state' IS DISTINCT FROM 'leased' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" has no lease to take over', taken),
            DETAIL = format('It is %s.', coalesce(request->>'state', 'not a member of an id space')),
            HINT = 'Run shardid_lease.lease_shard().';
    END IF;
    answer := shardid_lease.registry_call(request->>'server', 'grant_shards',
        jsonb_build_array(request || jsonb_build_object('takes_over', true)))->0;
    IF NOT (answer->>'ok')::boolean THEN
        RAISE EXCEPTION USING ERRCODE = 'object_in_use',
            MESSAGE = format('generator "%s" cannot take its shard over', taken),
            DETAIL = format('The registry says: %s.', answer->>'error'),
            HINT = 'On the registry, if the holder is gone, run shardid_lease.evict_shard().';
    END IF;
    RETURN (answer->>'shard')::int;
END
$body$;

COMMENT ON FUNCTION take_over_shard(pg_catalog.regclass) IS
'gives a leased shard to this server at once, although another one that was the same before still has it';

CREATE FUNCTION release_shard(generator pg_catalog.regclass DEFAULT NULL::pg_catalog.regclass)
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
    PERFORM shardid_lease.release_now(shardid_lease.default_generator(generator));
END
$body$;

COMMENT ON FUNCTION release_shard(pg_catalog.regclass) IS
'gives a leased shard back, once no transaction draws; its generator draws no more until it is leased again';

CREATE FUNCTION release_now(generator pg_catalog.regclass)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_release_shard'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION release_now(pg_catalog.regclass) IS
'what release_shard() does';

CREATE FUNCTION renew_now(generator pg_catalog.regclass)
RETURNS pg_catalog.void
AS 'MODULE_PATHNAME', 'shardid_renew_now'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION renew_now(pg_catalog.regclass) IS
'renews the lease of the caller''s generator, and all that share its registry and role, now';

CREATE FUNCTION renew_leases()
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    leased regclass;
BEGIN
    FOR leased IN
        SELECT min(l.generator::oid)::regclass
        FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator
        WHERE l.state IN ('held', 'not held') AND pg_has_role(c.relowner, 'USAGE')
        GROUP BY l.server, l.role
    LOOP
        PERFORM shardid_lease.renew_now(leased);
    END LOOP;
    RETURN (SELECT count(*)
            FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator
            WHERE l.state = 'held' AND pg_has_role(c.relowner, 'USAGE'));
END
$body$;

COMMENT ON FUNCTION renew_leases() IS
'renews the leases of the caller''s generators now, and returns how many of them hold a window; for cron, where ids are rare';

-- Called by the background worker.

CREATE FUNCTION requests_of(asked pg_catalog.regclass, family pg_catalog.text, moved_at pg_catalog.pg_lsn, tick bigint)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    requests jsonb;
BEGIN
    DELETE FROM shardid_lease.leased_generator l WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = l.generator);
    DELETE FROM shardid_lease.lease_window w WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = w.generator);
    SELECT jsonb_agg(r.request) INTO requests
    FROM (SELECT CASE WHEN other.generator = asked THEN shardid_lease.lease_request(asked, family, moved_at, tick)
                 ELSE shardid_lease.lease_request(other.generator) END AS request
          FROM shardid_lease.leased_generator one
              JOIN shardid_lease.leased_generator other
                  ON one.role = other.role AND one.server IS NOT DISTINCT FROM other.server
          WHERE one.generator = asked AND other.state = 'leased') r
    WHERE r.request IS NOT NULL;
    RETURN requests;
END
$body$;

COMMENT ON FUNCTION requests_of(pg_catalog.regclass, pg_catalog.text, pg_catalog.pg_lsn, bigint) IS
'what the registry is asked for this generator and those that share its registry and role';

CREATE FUNCTION return_request(generator pg_catalog.regclass)
RETURNS pg_catalog.jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
    -- A page that others have moved does not know what was drawn.
    SELECT CASE WHEN r->>'moved' IS NULL THEN r ELSE r - 'tick' END || jsonb_build_object('from', coalesce(
        (r->>'from')::bigint,
        (SELECT w.from_ms
         FROM shardid_lease.lease_window w
         WHERE w.generator = return_request.generator AND w.until_ms > 0
             AND w.family = split_part(r->>'incarnation', '@', 1)
             AND w.moved_at = split_part(r->>'incarnation', '@', 2)::pg_lsn)))
    FROM shardid_lease.lease_request(generator) r
$body$;

COMMENT ON FUNCTION return_request(pg_catalog.regclass) IS
'what the registry is told of a generator that gives its shard back';

-- Believes of a registry what it says of the generators that it was asked for, and nothing of others: it may be
-- anybody's. Returns what the log is to say.

CREATE FUNCTION note_answers(requests pg_catalog.jsonb, answers pg_catalog.jsonb)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    message text;
BEGIN
    -- An id space that was dropped, and made again with another layout, is another one.
    answers := (
        SELECT jsonb_agg(CASE
            WHEN (a->>'ok')::boolean AND NOT EXISTS (
                SELECT FROM shardid_lease.leased_generator l
                WHERE l.generator = (a->>'generator')::oid AND l.epoch = (a->>'epoch')::timestamptz
                    AND l.shard_bits = (a->>'shard_bits')::int AND l.sequence_bits = (a->>'sequence_bits')::int)
            THEN shardid_lease.refusal(a, 'the id space has another layout than the one that was leased from')
            ELSE a END)
        FROM jsonb_array_elements(answers) a);

    INSERT INTO shardid_lease.lease_window AS w
    SELECT DISTINCT ON (l.generator)
        l.generator, split_part(r.incarnation, '@', 1), split_part(r.incarnation, '@', 2)::pg_lsn,
        a."from", a.until, a.lease_ms, clock_timestamp()
    FROM jsonb_to_recordset(answers)
            AS a(generator oid, ok boolean, shard int, incarnation text, "from" bigint, until bigint, lease_ms bigint)
        JOIN jsonb_to_recordset(requests) AS r(generator oid, shard int, incarnation text)
            ON r.generator = a.generator AND r.shard = a.shard AND r.incarnation = a.incarnation
        JOIN shardid_lease.leased_generator l ON l.generator = r.generator AND l.shard = r.shard AND l.state = 'leased'
    WHERE a.ok
    ON CONFLICT (generator) DO UPDATE
    SET family = excluded.family, moved_at = excluded.moved_at, from_ms = excluded.from_ms, until_ms = excluded.until_ms,
        lease_ms = excluded.lease_ms, renewed_at = excluded.renewed_at, failed_at = NULL, error = NULL;

    INSERT INTO shardid_lease.lease_window AS w
    SELECT DISTINCT ON (l.generator) l.generator, '', '0/0', 0, 0, 0, NULL, clock_timestamp(), NULL, left(a.error, 1000)
    FROM jsonb_to_recordset(answers) AS a(generator oid, ok boolean, error text)
        JOIN jsonb_to_recordset(requests) AS r(generator oid) ON r.generator = a.generator
        JOIN shardid_lease.leased_generator l ON l.generator = r.generator AND l.state = 'leased'
    WHERE NOT a.ok
    ON CONFLICT (generator) DO UPDATE SET failed_at = excluded.failed_at, error = excluded.error;

    WITH due AS (
        UPDATE shardid_lease.lease_window w SET logged_at = clock_timestamp()
        WHERE w.generator IN (
                SELECT a.generator
                FROM jsonb_to_recordset(answers) AS a(generator oid, ok boolean)
                    JOIN jsonb_to_recordset(requests) AS r(generator oid) ON r.generator = a.generator
                WHERE NOT a.ok)
            AND (w.logged_at IS NULL OR NOT w.logged_at BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp())
        RETURNING w.generator, w.error)
    SELECT string_agg(format('generator "%s": %s', d.generator, d.error), E'\n') INTO message
    FROM (SELECT * FROM due ORDER BY due.generator LIMIT 10) d;
    RETURN message;
END
$body$;

COMMENT ON FUNCTION note_answers(pg_catalog.jsonb, pg_catalog.jsonb) IS
'notes what the registry has answered, and returns what is to be logged';

REVOKE ALL ON FUNCTION create_id_space(pg_catalog.text, interval, interval, interval, pg_catalog.timestamptz, int, int),
    drop_id_space(pg_catalog.text), evict_shard(pg_catalog.text, int), registry_was_restored(),
    grant_shards(pg_catalog.jsonb), return_shard(pg_catalog.jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION create_id_space_by(
        pg_catalog.regrole, pg_catalog.text, interval, interval, interval, pg_catalog.timestamptz, int, int),
    drop_id_space_by(pg_catalog.regrole, pg_catalog.text), evict_shard_by(pg_catalog.regrole, pg_catalog.text, int),
    registry_was_restored_by(pg_catalog.regrole), grant_shards_by(pg_catalog.regrole, pg_catalog.jsonb),
    return_shard_by(pg_catalog.regrole, pg_catalog.jsonb), grant_one(pg_catalog.regrole, pg_catalog.jsonb),
    free_shard(id_space, pg_catalog.regrole, pg_catalog.text, pg_catalog.text, bigint), owned_space(pg_catalog.regrole, pg_catalog.text),
    requests_of(pg_catalog.regclass, pg_catalog.text, pg_catalog.pg_lsn, bigint), return_request(pg_catalog.regclass), note_answers(pg_catalog.jsonb, pg_catalog.jsonb) FROM PUBLIC;

-- The schema has nobody's else objects in it: USAGE is all that others need.
GRANT USAGE ON SCHEMA shardid_lease TO PUBLIC;
