-- shardid where no library can be installed: the extension's functions in SQL and PL/pgSQL. See contrib/portable/README.md.
--
--     psql -f contrib/portable/shardid.sql        into the schema that is first in search_path, as the role that owns it
--
-- It creates 35 functions, a procedure and 65 sequences in that schema, and no table, trigger, type or operator.
-- The others call the functions whose names begin with shardid_.
-- All of it runs with the rights of its caller: nothing is SECURITY DEFINER. PUBLIC has EXECUTE, and nothing else.
-- To undo it, run DROP SCHEMA ... CASCADE, which drops all that is in the schema. An error leaves nothing.
--
-- Run again, it brings the functions of an older file up to date. Sequences stay as they are.
--
-- What is parsed now (RETURN, BEGIN ATOMIC) is looked up now, with nothing but this schema and pg_catalog in sight.
-- Text in dollars is looked up when it runs: it names pg_catalog for everything, or has search_path pinned.
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'shardid' AND
                   e.extnamespace OPERATOR(pg_catalog.=) pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace) THEN
        RAISE duplicate_object USING HINT = 'Use another schema.',
            MESSAGE = pg_catalog.format('the extension shardid is in schema "%s"', pg_catalog.current_schema());
    END IF;
END
$$;
\ir own_schema.sql

-- What a generator remembers is its last_value, time << sequence_bits | sequence of the last id, as with the extension.
-- Each draw also leaves a mark in one of 64 sequences, by which it is noticed when others move the generator.
-- Generators that share one have one lock, which copies of this file in other schemas take, too. They wait for each
-- other at times, until a millisecond ends. A role that can change a mark can delay the next id by as much, or hide
-- that the generator's owner has moved it in this millisecond.

CREATE SEQUENCE IF NOT EXISTS shardid_seq;

COMMENT ON SEQUENCE shardid_seq IS
'default generator of next_id(): last_value holds the time and sequence number of the last id';

DO $$
BEGIN
    FOR n IN 0 .. 63 LOOP
        EXECUTE pg_catalog.format('CREATE SEQUENCE IF NOT EXISTS shardid_mark_%s', n);
    END LOOP;
    -- By constants of type regclass, which other names of the schema do not change.
    EXECUTE pg_catalog.format('CREATE OR REPLACE FUNCTION shardid_mark_of(generator regclass) RETURNS regclass
        LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (ARRAY[%s])[1 + (generator::oid::bigint & 63)]', (
        SELECT pg_catalog.string_agg(pg_catalog.format('%L::regclass', pg_catalog.concat('shardid_mark_', n)), ', ' ORDER BY n)
        FROM pg_catalog.generate_series(0, 63) n));
END
$$;

COMMENT ON FUNCTION shardid_mark_of(regclass) IS
'the sequence that stores the mark of this generator';

-- The default tells where the marks are, wherever search_path leads.
CREATE OR REPLACE PROCEDURE shardid_grant_marks(grantee text, a_mark regclass DEFAULT 'shardid_mark_0'::regclass)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    schema_name name := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                         WHERE c.oid = a_mark);
BEGIN
    IF grantee IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'grantee must not be null',
            HINT = 'Pass a role''s name, or ''public''.';
    END IF;
    FOR n IN 0 .. 63 LOOP
        EXECUTE format('GRANT USAGE, UPDATE ON SEQUENCE %I.shardid_mark_%s TO %s', schema_name, n,
                       CASE WHEN grantee = 'public' THEN 'PUBLIC' ELSE quote_ident(grantee) END);
    END LOOP;
END
$$;

COMMENT ON PROCEDURE shardid_grant_marks(text, regclass) IS
'lets this role, or public, generate ids from the generators on which it has USAGE and UPDATE';

-- Arguments. What depends on constants is computed when a statement is planned. Functions that refuse return NULL
-- where there is nothing to refuse.

CREATE OR REPLACE FUNCTION shardid_refuse_widths(shard_bits int, sequence_bits int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF shard_bits NOT BETWEEN 0 AND 31 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'shard_bits is out of range',
            DETAIL = format('shard_bits is %s.', shard_bits), HINT = 'Pass a number of bits from 0 to 31.';
    ELSIF sequence_bits NOT BETWEEN 0 AND 31 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'sequence_bits is out of range',
            DETAIL = format('sequence_bits is %s.', sequence_bits), HINT = 'Pass a number of bits from 0 to 31.';
    ELSIF shard_bits + sequence_bits > 32 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = 'shard_bits and sequence_bits leave too few bits for the time',
            DETAIL = format('shard_bits is %s and sequence_bits is %s.', shard_bits, sequence_bits),
            HINT = 'Pass numbers of bits whose sum is at most 32.';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION shardid_refuse_epoch(epoch timestamptz) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
BEGIN
    IF NOT isfinite(epoch) OR extract(microseconds FROM epoch AT TIME ZONE 'UTC') % 1000 <> 0 THEN
        RAISE datetime_field_overflow USING MESSAGE = 'epoch is not a whole millisecond',
            DETAIL = format('The epoch is %s.', epoch), HINT = 'Pass a finite epoch without microseconds.';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION shardid_refuse_layout(epoch timestamptz, shard_bits int, sequence_bits int) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN COALESCE(shardid_refuse_epoch(epoch), shardid_refuse_widths(shard_bits, sequence_bits));

CREATE OR REPLACE FUNCTION shardid_refuse_shard(shard int, shard_bits int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE numeric_value_out_of_range USING MESSAGE = 'shard is out of range',
        DETAIL = format('The shard is %s, and %s bits hold shards from 0 to %s.',
                        shard, shard_bits, (1::bigint << shard_bits) - 1),
        HINT = 'Pass a shard in that range, or more shard_bits.';
END
$$;

-- The epoch of a layout in milliseconds since 1970; NULL if the layout is not valid.
CREATE OR REPLACE FUNCTION shardid_epoch_ms(epoch timestamptz, shard_bits int, sequence_bits int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (shard_bits | sequence_bits) >> 5 = 0 AND shard_bits + sequence_bits <= 32
                 AND extract(microseconds FROM epoch AT TIME ZONE 'UTC') % 1000 = 0
            THEN (extract(epoch FROM epoch - '2000-01-01 00:00:00+00'::timestamptz) * 1000)::bigint + 946684800000 END;

-- Generating ids.
--
--     next_id:  ms := mark                                   -- the millisecond that is open
--               if clock = ms:  tick := nextval(generator)   -- at once, without the lock
--                   if time(tick) = ms and number(tick) >= guard and clock = ms:  return id(tick)
--               if clock > mark by at most a second:
--                   if the lock is free, and mark is still the same:
--                       if clock > mark by more than 20 ms:  wait for the next millisecond
--                       if the generator is not after mark:  setval(generator, number of clock); setval(mark, clock)
--                           unlock; return id(that number)
--                   wait for the session that has the lock; look at mark again
--               else, or if anything is unusual, as under the lock:
--                   lock; check the sequence; wait if its time is not over, or if others have moved it
--                   setval(generator, greater than its last_value); setval(mark, its time); unlock; return the id
--
-- The mark of a generator contains the millisecond that is open. In an open millisecond a session gets the next number
-- by nextval, without any lock. Under the lock a session opens a millisecond: first it sets the generator to a number
-- of it, then the mark to its time. An id counts only if the mark is that of its millisecond before nextval, so nextval
-- came after the opening; and if the clock still shows that millisecond after nextval, so no session that was held up
-- uses a number which another session generated meanwhile, after a setval. What nextval returns otherwise is never
-- used.
--
-- A session that has the lock may lose its processor for long. Then others must neither poll, which keeps it from
-- running, nor get that lock one after the other. So it also has a second lock, whose key is made of the mark that it
-- replaces. The others wait for that one in share mode: they all wake at once. A late one holds up no later opening,
-- which has another key. The second lock only saves time: a session that does not get it opens the millisecond, too.
--
-- The first eighth of a millisecond's numbers is the guard: nextval's values there are never used. They are the first
-- that come when a millisecond has overflowed into the next one, or when the generator was moved back by more than a
-- millisecond's numbers; so the sessions come to the lock before they reach ids that exist. Layouts of fewer than 9
-- bits have too few numbers for that. There each id is generated under the lock, and the mark holds its number, too.

-- The bits of a mark that identify its generator.
CREATE OR REPLACE FUNCTION shardid_mark_head(generator regclass) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((generator::oid::bigint >> 6) & 1023) << 53;

-- The value of the mark in the first millisecond of the epoch; NULL for an epoch before 1830.
CREATE OR REPLACE FUNCTION shardid_mark_zero(generator regclass, epoch timestamptz, shard_bits int, sequence_bits int)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN abs(shardid_epoch_ms(epoch, shard_bits, sequence_bits)) < 1::bigint << 42
            THEN shardid_mark_head(generator) + shardid_epoch_ms(epoch, shard_bits, sequence_bits) END;

-- The bits of time in a generator that can generate ids without the lock; NULL if it cannot.
CREATE OR REPLACE FUNCTION shardid_ms_bits(shard int, shard_bits int, sequence_bits int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN sequence_bits BETWEEN 9 AND 31 AND shard_bits BETWEEN 0 AND 31 AND shard::bigint >> shard_bits = 0
            THEN 64 - GREATEST(shard_bits, 1) - sequence_bits END;

-- Between the look at the mark, which is the argument ms, and the look at the clock there is all that an id needs. All
-- times are milliseconds since the epoch, which is not before 1830; zero is the epoch, so that a cast, which rounds,
-- makes milliseconds of the clock: a float8 of seconds since 1970 is exact to less than half a microsecond until 2106.
-- Without the rights ms is NULL, and shardid_draw_any says what is missing.
-- Generates an id without the lock; NULL if that is not possible at this moment.
CREATE OR REPLACE FUNCTION shardid_draw_at_once(
    ms bigint, generator regclass, mark regclass, mark_zero bigint, zero double precision, shard bigint, id_shift int,
    sequence_bits int, guard bigint, max_number bigint, ms_bits int)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE AS $$
DECLARE
    tick bigint := CASE
        WHEN (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000::double precision
              OPERATOR(pg_catalog.-) zero)::bigint OPERATOR(pg_catalog.=) ms
             AND (ms OPERATOR(pg_catalog.>>) ms_bits) OPERATOR(pg_catalog.=) 0 THEN pg_catalog.nextval(generator) END;
    taken bigint;               -- a tick in vain: the millisecond ended
    seen bigint;                -- what the mark says now
    clock bigint;
    seq record;
    now double precision;       -- the clock under the lock, if the mark is old
    waking bigint;              -- the lock by which sessions wait until this one has opened a millisecond
    opened bigint;              -- this millisecond; or NULL if others have moved the generator
    tries int;
BEGIN
    LOOP
        -- As few expressions as can be: each is prepared anew for every transaction. The WAL that covers tick may be
        -- another session's. A commit flushes it only if its own transaction has written WAL, such as an empty message.
        IF (tick OPERATOR(pg_catalog.>>) sequence_bits) OPERATOR(pg_catalog.=) ms
           AND (tick OPERATOR(pg_catalog.&) max_number) OPERATOR(pg_catalog.>=) guard
           AND (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                OPERATOR(pg_catalog.*) 1000::double precision
                OPERATOR(pg_catalog.-) zero)::bigint OPERATOR(pg_catalog.=) ms
           AND (pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'
                OR pg_catalog.pg_logical_emit_message(true, 'shardid'::pg_catalog.text, ''::pg_catalog.text)
                   IS NOT NULL)
        THEN
            RETURN (ms OPERATOR(pg_catalog.<<) id_shift) OPERATOR(pg_catalog.|) shard
                   OPERATOR(pg_catalog.|) (tick OPERATOR(pg_catalog.&) max_number);
        END IF;

        tries := COALESCE(tries, 0) OPERATOR(pg_catalog.+) 1;
        seen := pg_catalog.pg_sequence_last_value(mark) OPERATOR(pg_catalog.-) mark_zero;
        clock := pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                 OPERATOR(pg_catalog.*) 1000::double precision OPERATOR(pg_catalog.-) zero;
        -- The mark of another generator is one of a time before the epoch or far ahead. After a second without an id
        -- the other function looks for what may have been altered.
        IF tries OPERATOR(pg_catalog.>) 100 OR seen IS NULL OR seen OPERATOR(pg_catalog.<) 0
           OR seen OPERATOR(pg_catalog.>) clock OR seen OPERATOR(pg_catalog.<) (clock OPERATOR(pg_catalog.-) 1000)
           OR (clock OPERATOR(pg_catalog.>>) ms_bits) OPERATOR(pg_catalog.<>) 0
           OR tick OPERATOR(pg_catalog.<) ((ms OPERATOR(pg_catalog.<<) sequence_bits) OPERATOR(pg_catalog.|) guard) THEN
            RETURN NULL;
        END IF;
        taken := COALESCE(tick, taken);
        tick := NULL;
        IF seen OPERATOR(pg_catalog.=) clock AND seen OPERATOR(pg_catalog.>) ms THEN
            ms := seen;
            tick := pg_catalog.nextval(generator);
        ELSIF seen OPERATOR(pg_catalog.=) clock THEN
            -- The millisecond is used up.
            PERFORM pg_catalog.pg_sleep(0.0005::double precision);
        ELSE
            -- The locks of generator and mark are not to be waited for with the other lock in hand. They keep the
            -- parameters.
            tick := guard OPERATOR(pg_catalog.|)
                    (COALESCE(taken, pg_catalog.pg_sequence_last_value(generator) OPERATOR(pg_catalog.+) 1)
                     OPERATOR(pg_catalog.&) (guard OPERATOR(pg_catalog.-) 1));
            seq := pg_catalog.pg_sequence_parameters(generator);
            IF seq.increment OPERATOR(pg_catalog.<>) 1 OR seq.cache_size OPERATOR(pg_catalog.<>) 1
               OR seq.cycle_option THEN
                RETURN NULL;
            END IF;
            waking := OPERATOR(pg_catalog.-) ((mark_zero OPERATOR(pg_catalog.+) seen) OPERATOR(pg_catalog.|)
                ((generator::pg_catalog.oid::bigint OPERATOR(pg_catalog.&) 63) OPERATOR(pg_catalog.<<) 45));
            BEGIN
                LOOP
                    -- All in one expression, which is prepared before it has the lock, and with all looks under the
                    -- lock. Others move the generator without it, never to be overwritten: of NULL setval makes NULL.
                    opened := CASE
                        WHEN NOT pg_catalog.pg_try_advisory_xact_lock(8316003854193786880
                                 OPERATOR(pg_catalog.|) (generator::pg_catalog.oid::bigint OPERATOR(pg_catalog.&) 63))
                            THEN CASE WHEN pg_catalog.pg_advisory_xact_lock_shared(waking) IS NOT NULL THEN -1 END
                        WHEN pg_catalog.pg_sequence_last_value(mark)
                             OPERATOR(pg_catalog.<>) (mark_zero OPERATOR(pg_catalog.+) seen) THEN -1
                        WHEN pg_catalog.pg_try_advisory_xact_lock(waking) IS NOT NULL AND now IS NULL
                             AND (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                                  OPERATOR(pg_catalog.*) 1000::double precision OPERATOR(pg_catalog.-) zero)::bigint
                                 OPERATOR(pg_catalog.>) (seen OPERATOR(pg_catalog.+) 20) THEN -2
                        ELSE pg_catalog.setval(mark, mark_zero OPERATOR(pg_catalog.+) (pg_catalog.setval(generator, CASE
                                 WHEN pg_catalog.pg_sequence_last_value(generator) OPERATOR(pg_catalog.<)
                                      (((seen OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.<<) sequence_bits)
                                       OPERATOR(pg_catalog.|) guard)
                                 THEN (GREATEST(clock,
                                           (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                                            OPERATOR(pg_catalog.*) 1000::double precision
                                            OPERATOR(pg_catalog.-) zero)::bigint)
                                       OPERATOR(pg_catalog.<<) sequence_bits) OPERATOR(pg_catalog.|) tick END)
                             OPERATOR(pg_catalog.>>) sequence_bits)) OPERATOR(pg_catalog.-) mark_zero END;
                    EXIT WHEN opened IS NULL OR opened OPERATOR(pg_catalog.<>) -2;
                    -- A restore may have brought such a mark, and the generator with it: ids of this millisecond may
                    -- exist. Of the next one there are none as long as this session has the lock.
                    now := pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                           OPERATOR(pg_catalog.*) 1000::double precision OPERATOR(pg_catalog.-) zero;
                    clock := now::bigint OPERATOR(pg_catalog.+) 1;
                    PERFORM pg_catalog.pg_sleep(
                        (clock OPERATOR(pg_catalog.-) 0.4995::double precision OPERATOR(pg_catalog.-) now)
                        OPERATOR(pg_catalog./) 1000::double precision);
                END LOOP;
                RAISE SQLSTATE 'SHID0';
            EXCEPTION
                WHEN SQLSTATE 'SHID0' THEN
                    NULL;
                -- The other function says it better.
                WHEN object_not_in_prerequisite_state OR insufficient_privilege OR read_only_sql_transaction
                     OR numeric_value_out_of_range THEN
                    RETURN NULL;
            END;
            IF (opened OPERATOR(pg_catalog.>>) ms_bits) OPERATOR(pg_catalog.=) 0 THEN
                RETURN (opened OPERATOR(pg_catalog.<<) id_shift) OPERATOR(pg_catalog.|) shard
                       OPERATOR(pg_catalog.|) tick;
            ELSIF opened IS NULL OR opened OPERATOR(pg_catalog.>) 0 THEN
                RETURN NULL;
            END IF;
            tick := NULL;
            now := NULL;
            -- The other session had not come to its second lock yet, or has no use for it.
            IF pg_catalog.pg_sequence_last_value(mark)
               OPERATOR(pg_catalog.=) (mark_zero OPERATOR(pg_catalog.+) seen) THEN
                PERFORM pg_catalog.pg_sleep(0.0005::double precision);
            END IF;
        END IF;
    END LOOP;
END
$$;

-- PostgreSQL's own errors about a sequence have no hint.
CREATE OR REPLACE FUNCTION shardid_refuse_sequence(
    failed bigint, generator regclass, mark regclass, shard_bits int, caller text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seq record;
BEGIN
    SELECT c.relname, c.relkind, s.seqmax,
           format('%I.%I', n.nspname, c.relname) AS name, format('%s.%s', n.nspname, c.relname) AS shown
    INTO seq
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_sequence s ON s.seqrelid = c.oid
    WHERE c.oid = generator;
    IF NOT FOUND THEN
        RAISE undefined_table USING MESSAGE = format('sequence with OID %s does not exist', generator::oid),
            HINT = 'Pass the name of a sequence; a shard of type bigint has to be cast to integer.';
    ELSIF failed = 42809 THEN
        RAISE wrong_object_type USING MESSAGE = format('"%s" is not a sequence', seq.relname),
            DETAIL = format('This operation is not supported for %s.',
                            CASE seq.relkind WHEN 'r' THEN 'tables' WHEN 'v' THEN 'views'
                                 WHEN 'i' THEN 'indexes' WHEN 'm' THEN 'materialized views'
                                 WHEN 'f' THEN 'foreign tables'
                                 WHEN 'p' THEN 'partitioned tables' WHEN 'I' THEN 'partitioned indexes'
                                 WHEN 'c' THEN 'composite types' ELSE 'TOAST tables' END),
            HINT = 'Pass the name of a sequence.';
    ELSIF failed = 42501 AND has_sequence_privilege(generator, 'UPDATE')
          AND has_sequence_privilege(generator, 'USAGE, SELECT') THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for sequence %s',
                             (SELECT m.relname FROM pg_class m WHERE m.oid = mark)),
            DETAIL = format('Role "%s" must have USAGE and UPDATE on the marks.', current_user),
            HINT = (SELECT format('Run CALL %I.shardid_grant_marks(%L).', n.nspname, current_user)
                    FROM pg_class m JOIN pg_namespace n ON n.oid = m.relnamespace WHERE m.oid = mark);
    ELSIF failed = 42501 THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for sequence %s', seq.relname),
            DETAIL = format('Role "%s" has not both USAGE and UPDATE on it.', current_user),
            HINT = format('Run GRANT USAGE, UPDATE ON SEQUENCE %s TO %I.', seq.name, current_user);
    ELSIF failed = 22003 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('MAXVALUE of sequence "%s" is too small for ids', seq.shown),
            DETAIL = format('MAXVALUE is %s, and these ids need %s.', seq.seqmax,
                            9223372036854775807 >> GREATEST(shard_bits - 1, 0)),
            HINT = format('Run ALTER SEQUENCE %s AS bigint NO MAXVALUE.', seq.name);
    ELSE
        RAISE read_only_sql_transaction USING
            MESSAGE = format('cannot execute %s in a read-only transaction', caller);
    END IF;
END
$$;

-- All that reads and moves a generator under the lock: for next_id, next_ids and raise_generator. Returns the first and
-- the last of as many ids as are wanted and as there are in one millisecond. If none is wanted it advances the
-- generator to the tick raise_to, never back, and returns the smallest id that can come next.
--
-- The lock is one that no session can keep: the subtransaction that takes it is rolled back, by an error on purpose or
-- by whatever fails or cancels the call, and what setval and nextval did stays. The locks of the sequences themselves,
-- which are kept until the transaction ends, are taken before: so no session has the first in hand while it waits for
-- ALTER or DROP SEQUENCE.
CREATE OR REPLACE FUNCTION shardid_draw_locked(
    shard int, generator regclass, mark regclass, epoch_ms bigint, shard_bits int, sequence_bits int,
    wanted bigint, raise_to bigint, caller text)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
DECLARE
    max_number bigint := (1::bigint << sequence_bits) - 1;
    max_tick bigint := 9223372036854775807 >> GREATEST(shard_bits - 1, 0);
    epoch timestamptz := ('1970-01-01'::timestamp
                          + make_interval(days => (epoch_ms / 86400000)::int, secs => (epoch_ms % 86400000) / 1000.0))
                         AT TIME ZONE 'UTC';
    guard bigint := CASE WHEN sequence_bits >= 9 THEN (max_number + 1) >> 3 ELSE 0 END;
    -- The numbers with which milliseconds begin, one further than the one before ended.
    starts bigint := CASE WHEN guard > 0 THEN guard - 1 ELSE max_number >> 2 END;
    -- A mark: 10 bits of the generator, 8 for the number where there is no guard, 45 of the milliseconds since 1970.
    mark_head bigint := ((generator::oid::bigint >> 6) & 1023) << 53;
    mark_ms bigint := (1::bigint << 45) - 1;
    mark_number bigint := CASE WHEN guard > 0 THEN 0 ELSE max_number END;

    clock bigint;               -- as times count: milliseconds since the epoch
    last bigint;                -- the tick that the generator holds
    marked bigint;
    is_fresh boolean;
    start bigint;               -- the number with which a millisecond begins
    is_marked boolean;          -- nobody has moved the generator since ids were generated, a moment ago
    is_in_use boolean;          -- by the extension
    is_past boolean;            -- the mark is of one of the 20 milliseconds before
    used_up bigint;             -- the time of the last tick
    step bigint;                -- the time that may be used
    is_open boolean;            -- other sessions may take numbers of it at the same time, without the lock
    tick bigint;                -- the first that is returned
    until bigint;               -- the last one
    taken bigint[];
    has_ended boolean := false;
    is_switched boolean := false;    -- by to_extension.sql
    setting text;
    max_lead_ms bigint := 86400000;
    lead_ms bigint;

    -- What a session that waits keeps from one look to the next.
    pause_s float8 := 0;
    earned bigint;              -- the time that may be used then, whatever the clock shows

    seq record;
    hint text;
BEGIN
    setting := btrim(current_setting('shardid.max_lead', true));
    IF setting ~ '^[0-9]{1,15}$' THEN
        max_lead_ms := setting;
    ELSIF setting ~ '^[0-9]{1,9} *(ms|s|min|h|d)$' THEN
        max_lead_ms := date_part('epoch', setting::interval) * 1000;
    ELSIF setting <> '' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for parameter "shardid.max_lead": "%s"', setting),
            HINT = 'Valid units for this parameter are "ms", "s", "min", "h", and "d".';
    END IF;

    LOOP
        tick := NULL;
        BEGIN
            -- For their locks.
            PERFORM pg_sequence_last_value(generator), pg_sequence_last_value(mark);
            PERFORM pg_advisory_xact_lock(8316003854193786880 | (generator::oid::bigint & 63));
            is_switched := (pg_sequence_parameters(mark)).cycle_option;
            IF is_switched THEN
                RAISE SQLSTATE 'SHID0';
            END IF;
            last := pg_sequence_last_value(generator);
            marked := pg_sequence_last_value(mark);
            clock := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - epoch_ms;
            is_past := clock + epoch_ms - (marked & mark_ms) BETWEEN 1 AND 20;
            is_marked := COALESCE(marked = mark_head | ((last & mark_number) << 45)
                                           | (LEAST(last >> sequence_bits, mark_ms - epoch_ms) + epoch_ms)
                                  AND last & max_number >= guard AND clock - (last >> sequence_bits) <= 20, false);

            -- Others may have altered it, which moves it or not.
            seq := pg_sequence_parameters(generator);
            IF NOT is_marked OR seq.increment <> 1 OR seq.cache_size > 1 OR seq.cycle_option
               OR seq.maximum_value < max_tick THEN
                SELECT s.seqmax, s.seqincrement, s.seqcycle, s.seqcache, c.relpersistence,
                       format('%I.%I', n.nspname, c.relname) AS name, format('%s.%s', n.nspname, c.relname) AS shown
                INTO seq
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence s ON s.seqrelid = c.oid
                WHERE c.oid = generator;
                -- By the snapshot of a transaction that began before.
                IF NOT FOUND THEN
                    RAISE object_not_in_prerequisite_state USING
                        MESSAGE = format('sequence with OID %s is newer than this transaction''s snapshot',
                                         generator::oid),
                        HINT = 'Use it in a new transaction.';
                ELSIF NOT has_sequence_privilege(generator, 'UPDATE')
                   OR NOT has_sequence_privilege(generator, 'USAGE, SELECT') THEN
                    RAISE insufficient_privilege;
                ELSIF seq.relpersistence = 'u' THEN
                    RAISE wrong_object_type USING
                        MESSAGE = format('cannot generate ids from unlogged sequence "%s"', seq.shown),
                        DETAIL = 'An unlogged sequence starts anew after a crash, '
                                 'and would then generate duplicate ids.',
                        HINT = format('Run ALTER SEQUENCE %s SET LOGGED.', seq.name);
                ELSIF seq.seqincrement < 0 THEN
                    RAISE object_not_in_prerequisite_state USING
                        MESSAGE = format('sequence "%s" counts downwards', seq.shown),
                        DETAIL = format('Its INCREMENT is %s, and ids increase.', seq.seqincrement),
                        HINT = format('Run ALTER SEQUENCE %s INCREMENT BY 1%s.', seq.name,
                                      CASE WHEN seq.seqmax <= 0
                                           THEN ' NO MINVALUE NO MAXVALUE START WITH 1 RESTART' END);
                ELSIF seq.seqcycle THEN
                    RAISE object_not_in_prerequisite_state USING
                        MESSAGE = format('sequence "%s" has CYCLE', seq.shown),
                        DETAIL = 'After its MAXVALUE nextval goes back to its MINVALUE, and ids increase.',
                        HINT = format('Run ALTER SEQUENCE %s NO CYCLE, unless from_extension.sql has set CYCLE: then '
                                      'wait until that has ended, or run it again.', seq.name);
                ELSIF guard > 0 AND (seq.seqincrement > 1 OR seq.seqcache > 1) THEN
                    RAISE object_not_in_prerequisite_state USING
                        MESSAGE = format('sequence "%s" has an INCREMENT or a CACHE', seq.shown),
                        DETAIL = format('Its INCREMENT is %s and its CACHE %s, and next_id needs 1.',
                                        seq.seqincrement, seq.seqcache),
                        HINT = format('Run ALTER SEQUENCE %s INCREMENT BY 1 CACHE 1.', seq.name);
                ELSIF seq.seqmax < max_tick THEN
                    RAISE numeric_value_out_of_range;
                END IF;
                -- The extension takes no lock that is seen here, but logs ahead, nextval less than a millisecond. It is
                -- asked by its very arguments' types.
                SELECT format('SELECT logged_to > last_ts + interval ''1 ms'' '
                              'FROM %s.id_generator_status($1, $2, $3, $4)', p.pronamespace::regnamespace)
                INTO setting
                FROM pg_extension x
                     JOIN pg_proc p ON p.pronamespace = x.extnamespace AND p.proname = 'id_generator_status'
                                       AND p.pronargs = 4
                WHERE x.extname = 'shardid' AND has_schema_privilege(p.pronamespace, 'USAGE')
                  AND has_function_privilege(p.oid, 'EXECUTE') AND has_sequence_privilege(generator, 'SELECT');
                IF FOUND THEN
                    EXECUTE setting INTO is_in_use USING generator, epoch, shard_bits, sequence_bits;
                    IF is_in_use THEN
                        RAISE object_not_in_prerequisite_state USING
                            MESSAGE = format('generator "%s" is in use by the extension shardid', seq.shown),
                            DETAIL = 'The extension has generated its last id, and does not wait for these functions.',
                            HINT = format('Call the functions of the extension; or, once no session does, '
                                          'run SELECT setval(%L, last_value) FROM %s.', seq.name, seq.name);
                    END IF;
                END IF;
            END IF;

            IF wanted > 0 AND clock < 0 THEN
                RAISE datetime_field_overflow USING MESSAGE = 'clock is before the epoch of the ids',
                    DETAIL = format('The clock is at %s, the epoch is %s.', clock_timestamp(), epoch),
                    HINT = 'Set the server''s clock right, or pass an earlier epoch.';
            END IF;
            clock := GREATEST(clock, 0);
            lead_ms := (raise_to >> sequence_bits) - clock;
            IF wanted = 0 AND lead_ms > max_lead_ms THEN
                RAISE object_not_in_prerequisite_state USING MESSAGE = 'id is too far ahead of the clock',
                    DETAIL = format('It is %s ms ahead, and shardid.max_lead is %s ms.', lead_ms, max_lead_ms),
                    HINT = 'Set the server''s clock right, pass the layout that the id was generated with, '
                           'or raise shardid.max_lead.';
            END IF;

            -- A sequence of which nothing was taken has a last_value that only nextval tells.
            is_fresh := last IS NULL;
            IF is_fresh AND (wanted = 0 OR clock <= max_tick >> sequence_bits) THEN
                PERFORM nextval(generator);
                last := pg_sequence_last_value(generator);
            END IF;
            last := GREATEST(last, 0);
            start := CASE WHEN is_fresh THEN guard ELSE guard | ((last & starts) + 1 & starts) END;

            -- A generator that others have moved does not tell which ids of this millisecond exist: so all of it counts
            -- as used up, unless the mark is of an earlier one, of any generator. A mark of more than 20 ms ago tells
            -- nothing: a restore may have brought it, and the generator with it. To the end of the millisecond no
            -- session can generate ids that has this mark: neither under the lock nor, if the mark is of this
            -- millisecond, by nextval.
            used_up := (clock << sequence_bits) | max_number;
            IF wanted > 0 AND NOT is_marked AND is_past IS NOT TRUE AND last < used_up THEN
                IF guard > 0 AND marked & mark_ms = clock + epoch_ms THEN
                    PERFORM setval(generator, used_up);
                END IF;
                PERFORM pg_sleep((1000 - extract(microseconds FROM clock_timestamp())::int % 1000) / 1000000.0);
                last := GREATEST(pg_sequence_last_value(generator), used_up);
                clock := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - epoch_ms;
            END IF;

            -- The next tick. Where the clock is behind, a time that is used up ends when a millisecond was waited for.
            used_up := last >> sequence_bits;
            step := GREATEST(clock, CASE WHEN pause_s >= 0.001 THEN earned END);
            is_open := false;
            IF wanted = 0 THEN
                tick := GREATEST(last, raise_to);
                has_ended := tick >= max_tick;
            ELSIF last IS NULL OR step > used_up OR step = used_up AND last & max_number < guard THEN
                -- As many as a millisecond has, and the guard as well, if they are taken at once.
                has_ended := step > max_tick >> sequence_bits;
                tick := (step << sequence_bits) | start;
                IF guard > 0 AND wanted > max_number - (tick & max_number) THEN
                    tick := GREATEST(step << sequence_bits, last + 1);
                END IF;
            ELSIF last & max_number BETWEEN guard AND max_number - 1 THEN
                tick := last + 1;
                is_open := guard > 0;
            ELSE
                has_ended := last >= max_tick;
            END IF;

            lead_ms := (CASE WHEN has_ended OR tick IS NULL THEN last ELSE tick END >> sequence_bits) - clock;
            IF lead_ms > max_lead_ms AND (wanted > 0 OR NOT is_marked AND NOT has_ended) THEN
                SELECT n.nspname, c.relname, (s.seqmin >> sequence_bits) - clock > max_lead_ms AS is_min INTO seq
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence s ON s.seqrelid = c.oid
                WHERE c.oid = generator;
                RAISE object_not_in_prerequisite_state USING
                    MESSAGE = format('generator "%s.%s" is too far ahead of the clock', seq.nspname, seq.relname),
                    DETAIL = format('It is %s ms ahead, and shardid.max_lead is %s ms.', lead_ms, max_lead_ms),
                    HINT = CASE WHEN seq.is_min
                        THEN format('Its MINVALUE is as far ahead: '
                                    'run ALTER SEQUENCE %I.%I NO MINVALUE START WITH 1 RESTART.',
                                    seq.nspname, seq.relname)
                        WHEN last >= max_tick OR lead_ms > 8640000000000000
                        THEN format('Pass the epoch and sequence_bits that the generator was used with. '
                                    'If setval has moved it, run ALTER SEQUENCE %I.%I RESTART.',
                                    seq.nspname, seq.relname)
                        ELSE 'Set the server''s clock right, pass the epoch and sequence_bits '
                             'that the generator was used with, or raise shardid.max_lead.' END;
            ELSIF has_ended THEN
                RAISE sequence_generator_limit_exceeded USING MESSAGE = 'time field of the ids is exhausted',
                    DETAIL = format('The clock is at %s, and %s bits of milliseconds since %s hold no later time.',
                                    clock_timestamp(), 64 - shard_bits - sequence_bits, epoch),
                    HINT = 'Use a layout with a later epoch or fewer shard_bits and sequence_bits, '
                           'and a generator of its own.';
            END IF;

            IF tick IS NOT NULL THEN
                until := tick + GREATEST(LEAST(wanted - 1, max_number - (tick & max_number)), 0);
                IF wanted = 0 AND tick = last THEN
                    -- It is as high already, and may be higher by now. Flushed, as setval is.
                    IF current_setting('transaction_read_only')::boolean THEN
                        RAISE read_only_sql_transaction;
                    END IF;
                    PERFORM pg_logical_emit_message(true, 'shardid', '');
                ELSIF is_open THEN
                    -- Other sessions may do the same. What they leave without a gap. A number of rows that the planner
                    -- cannot see keeps it from planning anew for each call.
                    taken := ARRAY(SELECT nextval(generator) FROM generate_series(tick, (SELECT until)));
                    IF taken[1] > last AND taken[cardinality(taken)] = taken[1] + (until - tick)
                       AND taken[cardinality(taken)] >> sequence_bits = used_up THEN
                        tick := taken[1];
                        until := taken[cardinality(taken)];
                    ELSE
                        SELECT min(v), max(v) INTO tick, until
                        FROM (SELECT v, v - row_number() OVER () AS gap, first_value(v) OVER () - 1 AS first_gap
                              FROM unnest(taken) v) r
                        WHERE gap = first_gap AND v > last AND v >> sequence_bits = used_up;
                    END IF;
                ELSE
                    -- Others move it without the lock, never to be overwritten. Then all begins anew: of NULL setval
                    -- makes NULL.
                    until := setval(generator, CASE
                        WHEN (pg_sequence_last_value(generator) < tick + (wanted = 0)::int) IS NOT FALSE
                        THEN until END);
                    tick := CASE WHEN until IS NOT NULL THEN tick END;
                END IF;
                IF wanted > 0 THEN
                    PERFORM setval(mark, mark_head | ((until & mark_number) << 45)
                                         | (LEAST(until >> sequence_bits, mark_ms - epoch_ms) + epoch_ms));
                END IF;
                pause_s := 0;
            ELSE
                -- To the end of the clock's millisecond, if it is this one; else as long as one lasts.
                pause_s := CASE WHEN clock < used_up THEN 0.001
                                ELSE (1000 - extract(microseconds FROM clock_timestamp())::int % 1000) / 1000000.0 END;
            END IF;
            RAISE SQLSTATE 'SHID0';
        EXCEPTION
            WHEN SQLSTATE 'SHID0' THEN
                NULL;
            WHEN OTHERS THEN
                -- This function cannot name another of its schema: its caller raises these, with a hint.
                GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
                IF hint = '' AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = generator) THEN
                    RETURN ARRAY[NULL, 0];
                ELSIF hint = '' AND SQLSTATE IN ('42809', '42501', '22003', '25006') THEN
                    RETURN ARRAY[NULL, SQLSTATE::bigint];
                END IF;
                RAISE;
        END;

        IF is_switched THEN
            EXECUTE format('SELECT %s.shardid_draw_any($1, $2, $3, $4, $5, $6, $7, $8)',
                           (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = mark))
            INTO tick USING shard, generator, epoch, shard_bits, sequence_bits, wanted, raise_to, caller;
            RETURN ARRAY[tick, tick];
        END IF;
        IF tick IS NOT NULL THEN
            tick := tick + (wanted = 0)::int;
            RETURN ARRAY[((tick >> sequence_bits) << (shard_bits + sequence_bits)) | (shard::bigint << sequence_bits)
                         | (tick & max_number),
                         ((until >> sequence_bits) << (shard_bits + sequence_bits)) | (shard::bigint << sequence_bits)
                         | (until & max_number)];
        END IF;
        PERFORM pg_sleep(pause_s);
        earned := used_up + (last & max_number >= guard)::int;
    END LOOP;
END
$$;

-- With its arguments checked. search_path keeps it from being planned where it is not needed.
CREATE OR REPLACE FUNCTION shardid_draw_any(
    shard int, generator regclass, epoch timestamptz, shard_bits int, sequence_bits int,
    wanted bigint, raise_to bigint, caller text)
RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT COALESCE(d.ids[1],
                    shardid_refuse_sequence(d.ids[2], generator, shardid_mark_of(generator), shard_bits, caller))
    FROM (SELECT shardid_draw_locked(shard, generator, shardid_mark_of(generator),
                                     shardid_epoch_ms(epoch, shard_bits, sequence_bits),
                                     shard_bits, sequence_bits, wanted, raise_to, caller)) d (ids)
    WHERE shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL
      AND (shard::bigint >> shard_bits = 0 OR shardid_refuse_shard(shard, shard_bits));
END;

-- The shard that the setting shardid.shard_id names; raises an error if it is not set or not valid.
CREATE OR REPLACE FUNCTION shardid_set_shard(generator regclass) RETURNS int
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    setting text := btrim(current_setting('shardid.shard_id', true), E' \t\n');
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = generator) THEN
        RAISE undefined_table USING MESSAGE = format('sequence with OID %s does not exist', generator::oid),
            HINT = 'Pass the name of a sequence; a shard of type bigint has to be cast to integer.';
    ELSIF COALESCE(setting, '') IN ('', '-1') THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'no shard is set', DETAIL = 'shardid.shard_id is -1.',
            HINT = 'Pass the shard to next_id(), or call ids.new_id() of contrib/portable/README.md. For id_migration_commands, pass function => ''ids.new_id()''.';
    ELSIF setting !~ '^[0-9]{1,9}$' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for parameter "shardid.shard_id": "%s"', setting),
            HINT = 'Set it to the number of a shard, as SET shardid.shard_id = 5 does.';
    END IF;
    RETURN setting;
END
$$;

-- In place for what is a number, without a call: next_id asks for it twice.
-- The shard that the setting shardid.shard_id names.
CREATE OR REPLACE FUNCTION shardid_shard(generator regclass) RETURNS int
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN current_setting('shardid.shard_id', true) ~ '^[0-9]{1,9}$'
            THEN current_setting('shardid.shard_id', true)::int
            ELSE shardid_set_shard(generator) END;

CREATE OR REPLACE FUNCTION next_id(
    shard int,
    generator regclass DEFAULT 'shardid_seq'::regclass,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN COALESCE(
    shardid_draw_at_once(
        CASE WHEN has_sequence_privilege(shardid_mark_of(generator), 'USAGE')
             THEN pg_sequence_last_value(shardid_mark_of(generator))
                  - shardid_mark_zero(generator, epoch, shard_bits, sequence_bits) END,
        generator, shardid_mark_of(generator), shardid_mark_zero(generator, epoch, shard_bits, sequence_bits),
        shardid_epoch_ms(epoch, shard_bits, sequence_bits) + 0.4995::float8, shard::bigint << sequence_bits,
        shard_bits + sequence_bits, sequence_bits, (1::bigint << sequence_bits) >> 3, ~(-1::bigint << sequence_bits),
        shardid_ms_bits(shard, shard_bits, sequence_bits)),
    shardid_draw_any(shard, generator, epoch, shard_bits, sequence_bits, 1, -1, 'next_id()'));

COMMENT ON FUNCTION next_id(int, regclass, timestamptz, int, int) IS
'generates a new id for the shard, greater than all earlier ones of this generator and shard';

CREATE OR REPLACE FUNCTION next_id(
    generator regclass DEFAULT 'shardid_seq'::regclass,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN COALESCE(
    shardid_draw_at_once(
        CASE WHEN has_sequence_privilege(shardid_mark_of(generator), 'USAGE')
             THEN pg_sequence_last_value(shardid_mark_of(generator))
                  - shardid_mark_zero(generator, epoch, shard_bits, sequence_bits) END,
        generator, shardid_mark_of(generator), shardid_mark_zero(generator, epoch, shard_bits, sequence_bits),
        shardid_epoch_ms(epoch, shard_bits, sequence_bits) + 0.4995::float8,
        shardid_shard(generator)::bigint << sequence_bits,
        shard_bits + sequence_bits, sequence_bits, (1::bigint << sequence_bits) >> 3, ~(-1::bigint << sequence_bits),
        shardid_ms_bits(shardid_shard(generator), shard_bits, sequence_bits)),
    shardid_draw_any(shardid_shard(generator), generator, epoch, shard_bits, sequence_bits, 1, -1, 'next_id()'));

COMMENT ON FUNCTION next_id(regclass, timestamptz, int, int) IS
'generates a new id for the shard that the setting shardid.shard_id names';

CREATE OR REPLACE FUNCTION shardid_refuse_count(count int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE invalid_parameter_value USING MESSAGE = 'count must not be negative',
        DETAIL = format('The count is %s.', count), HINT = 'Pass a number of ids, 0 or more.';
END
$$;

-- Of each millisecond as many as it has left, in one step; no further than they are fetched.
CREATE OR REPLACE FUNCTION next_ids(
    shard int,
    count int,
    generator regclass DEFAULT 'shardid_seq'::regclass,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS SETOF bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE ROWS 1000
BEGIN ATOMIC
    WITH RECURSIVE runs (ids, undrawn) AS (
        SELECT NULL::bigint[],
               CASE WHEN count >= 0 THEN count::bigint WHEN shardid_refuse_count(count) THEN 0 END
        WHERE shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL
          AND (shard::bigint >> shard_bits = 0 OR shardid_refuse_shard(shard, shard_bits))
        UNION ALL
        SELECT d.ids, r.undrawn - (d.ids[2] + 1 - COALESCE(d.ids[1], shardid_refuse_sequence(
                                       d.ids[2], generator, shardid_mark_of(generator), shard_bits, 'next_ids()')))
        FROM runs r,
             LATERAL (SELECT shardid_draw_locked(shard, generator, shardid_mark_of(generator),
                                                 shardid_epoch_ms(epoch, shard_bits, sequence_bits), shard_bits,
                                                 sequence_bits, r.undrawn, -1, 'next_ids()')) d (ids)
        WHERE r.undrawn > 0
    )
    SELECT g.id FROM runs r, LATERAL generate_series(r.ids[1], r.ids[2]) g (id);
END;

COMMENT ON FUNCTION next_ids(int, int, regclass, timestamptz, int, int) IS
'generates count new ids for the shard, each greater than the one before';

-- Watching and advancing a generator.

-- So many milliseconds after the epoch, and some more; or infinity, if no timestamp shows that.
CREATE OR REPLACE FUNCTION shardid_ts(epoch timestamptz, epoch_ms bigint, ms bigint, more int) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ms <= 9223371331199999 + 946684800000 - epoch_ms - more
            THEN (epoch AT TIME ZONE 'UTC' + make_interval(days => ((ms + more) / 86400000)::int,
                                                           secs => (ms + more) % 86400000 / 1000.0::float8))
                 AT TIME ZONE 'UTC'
            WHEN ms IS NOT NULL THEN 'infinity'::timestamptz END;

CREATE OR REPLACE FUNCTION shardid_refuse_id(id bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE numeric_value_out_of_range USING MESSAGE = 'no id can be generated after this one',
        DETAIL = format('The id is %s.', id), HINT = 'Pass an id of the layout, before the end of its time.';
END
$$;

-- Past the whole millisecond of the id, which all shards of the generator share.
CREATE OR REPLACE FUNCTION raise_generator(
    generator regclass,
    id bigint,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    -- Not in a WHERE: PostgreSQL 18 plans with the arguments, and computes what depends on them alone before it.
    SELECT shardid_draw_any(CASE WHEN shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL THEN 0 END,
                            generator, epoch, shard_bits, sequence_bits, 0,
                            CASE WHEN t.ms < l.last_ms THEN (t.ms << sequence_bits) | ((1::bigint << sequence_bits) - 1)
                                 ELSE shardid_refuse_id(id) END, 'raise_generator()')
    FROM (SELECT (9223372036854775807 >> GREATEST(shard_bits - 1, 0)) >> sequence_bits AS last_ms) l,
         LATERAL (SELECT CASE WHEN shard_bits + sequence_bits > 0
                              THEN (id >> (shard_bits + sequence_bits))
                                   & (9223372036854775807 >> (shard_bits + sequence_bits - 1))
                              WHEN id < 0 THEN l.last_ms ELSE id END AS ms) t;
END;

COMMENT ON FUNCTION raise_generator(regclass, bigint, timestamptz, int, int) IS
'advances the generator past the millisecond of the id, never back, and returns the smallest possible next id';

CREATE OR REPLACE FUNCTION settled_below(
    generator regclass,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'settled_below() needs the extension shardid',
        DETAIL = 'Without it, transactions do not show other sessions their first ids.',
        HINT = 'Install the extension, or read new rows by logical decoding.';
END
$$;

COMMENT ON FUNCTION settled_below(regclass, timestamptz, int, int) IS
'raises 0A000: only the extension knows which rows can still become visible';

-- The last value of a sequence; NULL while there is none.
CREATE OR REPLACE FUNCTION shardid_read(generator regclass) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seq record;
BEGIN
    SELECT c.relname, c.relkind, format('%I.%I', n.nspname, c.relname) AS name INTO seq
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = generator;
    IF seq.relkind IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('sequence with OID %s does not exist', generator::oid),
            HINT = 'Pass the name of a sequence.';
    ELSIF seq.relkind <> 'S' THEN
        RAISE wrong_object_type USING MESSAGE = format('"%s" is not a sequence', seq.relname),
            DETAIL = format('This operation is not supported for %s.',
                            CASE seq.relkind WHEN 'r' THEN 'tables' WHEN 'v' THEN 'views' WHEN 'i' THEN 'indexes'
                            WHEN 'm' THEN 'materialized views' WHEN 'f' THEN 'foreign tables'
                            WHEN 'p' THEN 'partitioned tables' WHEN 'I' THEN 'partitioned indexes'
                            WHEN 'c' THEN 'composite types' ELSE 'TOAST tables' END),
            HINT = 'Pass the name of a sequence.';
    ELSIF NOT has_sequence_privilege(generator, 'SELECT') THEN
        RAISE insufficient_privilege USING MESSAGE = format('permission denied for sequence %s', seq.relname),
            DETAIL = format('Role "%s" has no SELECT on it.', current_user),
            HINT = format('Run GRANT SELECT ON SEQUENCE %s TO %I.', seq.name, current_user);
    END IF;
    RETURN CASE WHEN pg_sequence_last_value(generator) < 0 THEN 0 ELSE pg_sequence_last_value(generator) END;
END
$$;

-- How many ids are left after the last one.
CREATE OR REPLACE FUNCTION shardid_ticks_left(last bigint, clock bigint, last_of_all bigint, sequence_bits int)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN clock > last_of_all >> sequence_bits OR last >= last_of_all THEN 0
            WHEN clock > last >> sequence_bits THEN last_of_all - (clock << sequence_bits) + 1
            ELSE last_of_all - last END;

CREATE OR REPLACE FUNCTION id_generator_status(
    generator regclass DEFAULT 'shardid_seq'::regclass,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    OUT last_ts timestamptz,
    OUT last_sequence int,
    OUT lead interval,
    OUT logged_to timestamptz,
    OUT ids_until_negative bigint,
    OUT negative_at timestamptz,
    OUT ids_until_end bigint,
    OUT end_at timestamptz,
    OUT settled_before timestamptz,
    OUT held_back_by int)
LANGUAGE sql VOLATILE STRICT PARALLEL RESTRICTED
BEGIN ATOMIC
    -- The layout is checked first, as in raise_generator.
    SELECT CASE WHEN shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL THEN t.last_ts END,
           (p.last & ((1::bigint << sequence_bits) - 1))::int,
           CASE WHEN isfinite(t.last_ts) THEN t.last_ts - c.now END,
           CASE WHEN (SELECT relpersistence FROM pg_class WHERE oid = generator) = 'p' THEN t.last_ts END,
           shardid_ticks_left(COALESCE(p.last, 0), c.time, l.last_positive, sequence_bits),
           shardid_ts(epoch, l.epoch_ms, l.last_positive >> sequence_bits, 1),
           shardid_ticks_left(COALESCE(p.last, 0), c.time, l.last_of_all, sequence_bits),
           shardid_ts(epoch, l.epoch_ms, l.last_of_all >> sequence_bits, 1),
           NULL::timestamptz, NULL::int
    FROM (SELECT shardid_epoch_ms(epoch, shard_bits, sequence_bits) AS epoch_ms,
                 9223372036854775807 >> shard_bits AS last_positive,
                 9223372036854775807 >> GREATEST(shard_bits - 1, 0) AS last_of_all OFFSET 0) l,
         LATERAL (SELECT shardid_read(generator) AS last OFFSET 0) p,
         LATERAL (SELECT now, GREATEST(0, floor(extract(epoch FROM now) * 1000)::bigint - l.epoch_ms) AS time
                  FROM date_trunc('milliseconds', clock_timestamp()) now) c,
         LATERAL (SELECT shardid_ts(epoch, l.epoch_ms, p.last >> sequence_bits, 0) AS last_ts) t;
END;

COMMENT ON FUNCTION id_generator_status(regclass, timestamptz, int, int) IS
'shows the generator''s last id, its lead over the clock and how many ids are left';

-- Taking ids apart. All are CASEs that inline: what fits is computed in place, what does not is left to a function.

-- What id_timestamp returns, in any layout; raises 22008 for an id whose time no timestamp shows.
CREATE OR REPLACE FUNCTION shardid_timestamp_of(id bigint, epoch timestamptz, shard_bits int, sequence_bits int)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id_ms numeric := div(CASE WHEN id < 0 THEN id + 18446744073709551616 ELSE id END,
                         1::bigint << (shard_bits + sequence_bits));
    epoch_ms numeric := extract(epoch FROM epoch - '2000-01-01 00:00:00+00'::timestamptz) * 1000;
BEGIN
    IF epoch_ms + id_ms > 9223371331199999 THEN
        RAISE datetime_field_overflow USING MESSAGE = 'timestamp of the id is out of range',
            DETAIL = format('Id %s is %s ms after the epoch.', id, id_ms),
            HINT = 'Pass the epoch, shard_bits and sequence_bits that the id was generated with.';
    END IF;
    RETURN (epoch AT TIME ZONE 'UTC' + make_interval(days => div(id_ms, 86400000)::int,
                                                     secs => (mod(id_ms, 86400000) / 1000)::float8)) AT TIME ZONE 'UTC';
END
$$;

-- A float8 is exact for milliseconds of 43 bits, in microseconds. Later times are put together from days and seconds.
CREATE OR REPLACE FUNCTION id_timestamp(
    id bigint,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN (shard_bits | sequence_bits) >> 5 <> 0 OR shard_bits + sequence_bits NOT BETWEEN 1 AND 32
         OR (extract(microseconds FROM epoch AT TIME ZONE 'UTC') % 1000 = 0) IS NOT TRUE
         OR epoch > '100000-01-01 00:00:00+00'::timestamptz THEN
        CASE WHEN shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL
             THEN shardid_timestamp_of(id, epoch, shard_bits, sequence_bits) END
    WHEN shard_bits + sequence_bits >= 21 THEN
        (epoch AT TIME ZONE 'UTC'
         + ((id >> (shard_bits + sequence_bits)) & (9223372036854775807 >> (shard_bits + sequence_bits - 1)))::float8
           * '1 ms'::interval) AT TIME ZONE 'UTC'
    WHEN (id >> (shard_bits + sequence_bits)) & (9223372036854775807 >> (shard_bits + sequence_bits - 1))
         < 6000000000000000 THEN
        (epoch AT TIME ZONE 'UTC'
         + make_interval(days => (((id >> (shard_bits + sequence_bits))
                                   & (9223372036854775807 >> (shard_bits + sequence_bits - 1)))
                                  / 86400000)::int,
                         secs => ((id >> (shard_bits + sequence_bits))
                                  & (9223372036854775807 >> (shard_bits + sequence_bits - 1)))
                                 % 86400000 / 1000::float8)) AT TIME ZONE 'UTC'
    ELSE shardid_timestamp_of(id, epoch, shard_bits, sequence_bits)
    END;

COMMENT ON FUNCTION id_timestamp(bigint, timestamptz, int, int) IS
'the time at which the id was made, in whole milliseconds';

CREATE OR REPLACE FUNCTION id_shard(
    id bigint,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (shard_bits | sequence_bits) >> 5 = 0 AND shard_bits + sequence_bits <= 32
            THEN ((id >> sequence_bits) & ((1::bigint << shard_bits) - 1))::int
            WHEN shardid_refuse_widths(shard_bits, sequence_bits) THEN 0 END;

COMMENT ON FUNCTION id_shard(bigint, int, int) IS
'the shard for which the id was made';

CREATE OR REPLACE FUNCTION id_sequence(
    id bigint,
    sequence_bits int DEFAULT 10)
RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN sequence_bits >> 5 = 0 THEN (id & ((1::bigint << sequence_bits) - 1))::int
            WHEN shardid_refuse_widths(0, sequence_bits) THEN 0 END;

COMMENT ON FUNCTION id_sequence(bigint, int) IS
'the sequence number of the id, which differs from those of its generator''s other ids of the same millisecond';

CREATE OR REPLACE FUNCTION id_parts(
    id bigint,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    OUT ts timestamptz,
    OUT shard int,
    OUT sequence int)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT id_timestamp(id, epoch, shard_bits, sequence_bits), id_shard(id, shard_bits, sequence_bits),
           id_sequence(id, sequence_bits);
END;

COMMENT ON FUNCTION id_parts(bigint, timestamptz, int, int) IS
'the time, shard and sequence number of the id';

-- The smallest id of a millisecond, in any layout; raises 22008 for a time that its ids cannot have.
CREATE OR REPLACE FUNCTION shardid_bound_of(
    ts timestamptz, epoch timestamptz, shard_bits int, sequence_bits int, rounds_up boolean)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
DECLARE
    zero timestamptz := '2000-01-01 00:00:00+00';
    epoch_ms numeric := extract(epoch FROM epoch - zero) * 1000;
    max_ms numeric := div(18446744073709551615, 1::bigint << (shard_bits + sequence_bits));
    last_ms numeric := LEAST(max_ms, 9223371331199999 - epoch_ms);
    ts_ms numeric;
    bound numeric;
BEGIN
    IF isfinite(ts) AND ts >= epoch THEN
        ts_ms := extract(epoch FROM ts - zero) * 1000 - epoch_ms;
        ts_ms := CASE WHEN rounds_up THEN ceil(ts_ms) ELSE floor(ts_ms) END;
    END IF;
    IF ts_ms <= max_ms THEN
        bound := ts_ms * (1::bigint << (shard_bits + sequence_bits));
        RETURN CASE WHEN bound > 9223372036854775807 THEN bound - 18446744073709551616 ELSE bound END;
    END IF;
    RAISE datetime_field_overflow USING MESSAGE = 'timestamp is outside the range of the ids',
        DETAIL = format('The timestamp is %s, and the time field reaches from %s to %s.', ts, epoch,
                        (epoch AT TIME ZONE 'UTC' + make_interval(days => div(last_ms, 86400000)::int,
                                                                  secs => (mod(last_ms, 86400000) / 1000)::float8))
                        AT TIME ZONE 'UTC'),
        HINT = 'Pass a timestamp in that range, or another layout.';
END
$$;

CREATE OR REPLACE FUNCTION shardid_refuse_sequence(sequence int, sequence_bits int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE numeric_value_out_of_range USING MESSAGE = 'sequence is out of range',
        DETAIL = format('The sequence is %s, and %s bits hold sequence numbers from 0 to %s.',
                        sequence, sequence_bits, (1::bigint << sequence_bits) - 1),
        HINT = 'Pass a sequence number in that range, or more sequence_bits.';
END
$$;

CREATE OR REPLACE FUNCTION id_from_parts(
    ts timestamptz,
    shard int,
    sequence int,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN (shard_bits | sequence_bits) >> 5 = 0 AND shard_bits + sequence_bits <= 32
                 AND extract(microseconds FROM epoch AT TIME ZONE 'UTC') % 1000 = 0
                 AND shard::bigint >> shard_bits = 0 AND sequence::bigint >> sequence_bits = 0
                 AND ts >= epoch AND ts < '290000-01-01 00:00:00+00'::timestamptz
                 AND epoch >= '0001-01-01 00:00:00+00'::timestamptz
                 AND floor(extract(epoch FROM ts - epoch) * 1000)
                     < 1::bigint << (64 - GREATEST(shard_bits + sequence_bits, 2))
            THEN (floor(extract(epoch FROM ts - epoch) * 1000)::bigint << (shard_bits + sequence_bits))
                 | (shard::bigint << sequence_bits) | sequence
            WHEN shardid_refuse_layout(epoch, shard_bits, sequence_bits) THEN 0
            WHEN shard::bigint >> shard_bits <> 0 THEN CASE WHEN shardid_refuse_shard(shard, shard_bits) THEN 0 END
            WHEN sequence::bigint >> sequence_bits <> 0
            THEN CASE WHEN shardid_refuse_sequence(sequence, sequence_bits) THEN 0 END
            ELSE shardid_bound_of(ts, epoch, shard_bits, sequence_bits, false)
                 | (shard::bigint << sequence_bits) | sequence END;

COMMENT ON FUNCTION id_from_parts(timestamptz, int, int, timestamptz, int, int) IS
'the id with this time, in whole milliseconds, shard and sequence number';

CREATE OR REPLACE FUNCTION id_lower_bound(
    ts timestamptz,
    epoch timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (shard_bits | sequence_bits) >> 5 = 0 AND shard_bits + sequence_bits <= 32
                 AND extract(microseconds FROM epoch AT TIME ZONE 'UTC') % 1000 = 0
                 AND ts >= epoch AND ts < '290000-01-01 00:00:00+00'::timestamptz
                 AND epoch >= '0001-01-01 00:00:00+00'::timestamptz
                 AND ceil(extract(epoch FROM ts - epoch) * 1000)
                     < 1::bigint << (64 - GREATEST(shard_bits + sequence_bits, 2))
            THEN ceil(extract(epoch FROM ts - epoch) * 1000)::bigint << (shard_bits + sequence_bits)
            WHEN shardid_refuse_layout(epoch, shard_bits, sequence_bits) IS NULL
            THEN shardid_bound_of(ts, epoch, shard_bits, sequence_bits, true) END;

COMMENT ON FUNCTION id_lower_bound(timestamptz, timestamptz, int, int) IS
'the smallest id made at this time or later, for range conditions and partition bounds on ids';

\ir rights.sql
\ir owners.sql
COMMIT;
