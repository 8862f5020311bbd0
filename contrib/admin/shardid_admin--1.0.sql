-- Partitions by time on an id, and ids for a whole schema: see contrib/admin/README.md.
--
-- CREATE EXTENSION shardid_admin runs this, and so does contrib/portable/admin.sql for the SQL-only version, which loads it again to
-- bring the functions up to date. As in shardid--1.0.sql, all that is not made here is named with its schema, and every literal
-- has its type.
--
-- All of it runs with the rights of its caller. The schema can be given to any role. So bodies in PL/pgSQL look names up in
-- pg_catalog, and call what is made here with arguments of exactly its types: then no other function of that name is meant.

-- The extension refuses a schema that exists: other roles' functions may be in it, or be put there.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- What exists keeps its rights.
    PERFORM set_config('shardid_portable.before', ARRAY(
        SELECT d.objid FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = to_regnamespace('shardid_admin')
        UNION ALL SELECT n.oid FROM pg_namespace n WHERE n.nspname = 'shardid_admin')::text, true);
    IF EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'shardid_admin') OR to_regnamespace('shardid_admin') IS NULL THEN
        CREATE SCHEMA shardid_admin;
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;

-- What is used of shardid, wherever it is moved.

-- The default generator of shardid.
CREATE OR REPLACE FUNCTION shardid_admin.default_generator()
RETURNS pg_catalog.regclass
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'shardid_seq'::pg_catalog.regclass;

-- The smallest id of this time or later.
CREATE OR REPLACE FUNCTION shardid_admin.first_id(ts pg_catalog.timestamptz, epoch pg_catalog.timestamptz, shard_bits int, sequence_bits int)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id_lower_bound(ts, epoch, shard_bits, sequence_bits);

-- The time of an id.
CREATE OR REPLACE FUNCTION shardid_admin.time_of(id bigint, epoch pg_catalog.timestamptz, shard_bits int, sequence_bits int)
RETURNS pg_catalog.timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id_timestamp(id, epoch, shard_bits, sequence_bits);

-- The schema of shardid, quoted if it must be.
CREATE OR REPLACE FUNCTION shardid_admin.ids_schema()
RETURNS pg_catalog.text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT c.relnamespace::regnamespace::text FROM pg_class c WHERE c.oid = shardid_admin.default_generator());
END
$$;

-- The first of the sequences which only the SQL-only version has.
CREATE OR REPLACE FUNCTION shardid_admin.a_mark()
RETURNS pg_catalog.oid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT to_regclass(shardid_admin.ids_schema() || '.shardid_mark_0') WHERE NOT EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = shardid_admin.default_generator() AND d.deptype = 'e'));
END
$$;

-- The 64 bits of an id, read without a sign.
CREATE OR REPLACE FUNCTION shardid_admin.unsigned(id bigint)
RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN id + CASE WHEN id < 0 THEN 18446744073709551616 ELSE 0 END;
END
$$;

-- The id with these 64 bits.
CREATE OR REPLACE FUNCTION shardid_admin.signed(bits numeric)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN bits < 9223372036854775808 THEN bits ELSE bits - 18446744073709551616 END;
END
$$;

-- The type below all domains.
CREATE OR REPLACE FUNCTION shardid_admin.base_type(type pg_catalog.oid)
RETURNS pg_catalog.oid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN COALESCE((SELECT shardid_admin.base_type(t.typbasetype) FROM pg_type t WHERE t.oid = type AND t.typtype = 'd'), type);
END
$$;

-- ==== Partitions by time ====
--
-- What depends on a table runs code of its owner's: planning computes constants in the expressions of its indexes, and so does ATTACH.
-- So nobody but the owner may ask for these commands. DETACH plans queries of the tables that reference the partition, too.

-- A table that the caller may partition by time: its names, its key, its default partition.
CREATE OR REPLACE FUNCTION shardid_admin.partitioned_table(
    parent pg_catalog.regclass, OUT schema pg_catalog.text, OUT relation pg_catalog.text, OUT name pg_catalog.text, OUT key pg_catalog.text,
    OUT key_number smallint, OUT rest pg_catalog.regclass)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid;
    is_temporary boolean;
    part record;
BEGIN
    SELECT n.nspname, c.relname, format('%I.%I', n.nspname, c.relname), c.relowner, c.relpersistence = 't'
    INTO schema, relation, name, owner, is_temporary
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
    IF NOT FOUND THEN
        RAISE undefined_table USING MESSAGE = format('table with OID %s does not exist', parent::oid),
            HINT = 'Pass the name of a table.';
    ELSIF owner <> quote_ident(current_user)::regrole THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', name),
            DETAIL = format('Its owner is %s, and the current user is %s.', owner::regrole, quote_ident(current_user)),
            HINT = format('Connect as %s.', owner::regrole);
    END IF;
    PERFORM shardid_admin.refuse_superuser(format('Connect as %s.', owner::regrole));
    SELECT a.attname, a.attnum, NULLIF(p.partdefid, 0) INTO key, key_number, rest
    FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND shardid_admin.base_type(a.atttypid) = 'bigint'::regtype;
    IF NOT FOUND OR is_temporary THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not partitioned by range of a bigint', name),
            DETAIL = format('It is %s.', COALESCE('partitioned by ' || pg_get_partkeydef(parent), 'not partitioned')
                            || CASE WHEN is_temporary THEN ' and temporary' ELSE '' END),
            HINT = 'Pass a permanent table that was created with PARTITION BY RANGE (id), where id is bigint or a domain over it.';
    END IF;
    -- Its rows are read.
    SELECT c.oid::regclass AS name, c.relowner::regrole AS owner INTO part
    FROM pg_partition_tree(rest) t JOIN pg_class c ON c.oid = t.relid WHERE c.relowner <> owner LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of default partition %s', part.name),
            DETAIL = format('Its owner is %s, and that of %s is %s.', part.owner, name, owner::regrole),
            HINT = format('If no function of another role is in its indexes, checks, policies and triggers, run ALTER TABLE %s OWNER TO %s as a superuser.',
                          part.name, owner::regrole);
    END IF;
END
$$;

-- Raises 42501 if a superuser, or a member of one, has set another role.
CREATE OR REPLACE FUNCTION shardid_admin.refuse_superuser(hint pg_catalog.text)
RETURNS pg_catalog.void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid()) JOIN pg_roles l ON l.oid = usesysid
               JOIN pg_roles s ON s.rolsuper AND pg_has_role(l.oid, s.oid, 'MEMBER') WHERE current_user NOT IN (l.rolname, s.rolname)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser, or a member of one, cannot run this as another role',
            DETAIL = 'Functions of its tables could run RESET ROLE.', HINT = hint;
    END IF;
END
$$;

-- The error if a table that is read when this partition leaves its parent has another owner than the parent.
CREATE OR REPLACE FUNCTION shardid_admin.stranger(
    parent pg_catalog.regclass, part pg_catalog.regclass, OUT message pg_catalog.text, OUT detail pg_catalog.text, OUT hint pg_catalog.text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH parts AS MATERIALIZED (
        SELECT t.relid FROM pg_partition_tree(part) t)
    SELECT format('must be owner of table %s, which %s %s', s.oid::regclass, s.relation, COALESCE(s.referenced, parent)),
           format('Its owner is %s, and that of %s is %s.', c.relowner::regrole, parent, p.relowner::regrole),
           format('If no function of another role is in its indexes, checks, policies and triggers, run ALTER TABLE %s OWNER TO %s as a superuser.%s',
                  s.oid::regclass, p.relowner::regrole, ' Or drop its foreign key ' || s.name || '.')
    INTO message, detail, hint
    FROM (SELECT parts.relid, 'is a partition of', NULL::regclass, NULL FROM parts
          UNION ALL
          SELECT f.conrelid, 'references', f.confrelid, quote_ident(f.conname) FROM pg_constraint f
          WHERE f.contype = 'f' AND f.confrelid IN (SELECT parts.relid FROM parts UNION ALL SELECT a.relid FROM pg_partition_ancestors(parent) a)
         ) s (oid, relation, referenced, name)
    JOIN pg_class c ON c.oid = s.oid JOIN pg_class p ON p.oid = parent AND p.relowner <> c.relowner
    ORDER BY s.referenced IS NOT NULL, c.oid::regclass::text, s.referenced::oid LIMIT 1;
END
$$;

-- Raises 42501 if a table that is read when this partition leaves its parent has another owner than the parent.
CREATE OR REPLACE FUNCTION shardid_admin.refuse_stranger(parent pg_catalog.regclass, part pg_catalog.regclass)
RETURNS pg_catalog.void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stranger record;
BEGIN
    stranger := shardid_admin.stranger(parent, part);
    IF stranger.message <> '' THEN
        RAISE insufficient_privilege USING MESSAGE = stranger.message, DETAIL = stranger.detail, HINT = stranger.hint;
    END IF;
END
$$;

-- The length of periods, and the pattern of their partitions' names.
CREATE OR REPLACE FUNCTION shardid_admin.periods(
    every interval, ahead int, keep interval, since pg_catalog.timestamptz, OUT months int, OUT hours int, OUT pattern pg_catalog.text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    days int;
    seconds numeric;
BEGIN
    IF isfinite(every) THEN
        months := extract(year FROM every) * 12 + extract(month FROM every);
        days := extract(day FROM every);
        seconds := extract(epoch FROM every - make_interval(months => months, days => days));
        hours := CASE WHEN seconds % 3600 = 0 THEN seconds / 3600 END;
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
END
$$;

-- The plan is what partition_steps has found out.

-- The period of a time: where it begins in local time, its first and its next instant, and its bounds, which are unsigned.
-- Of an hour that is repeated, the first run belongs to the period before. An hour that is left out is no period.
CREATE OR REPLACE FUNCTION shardid_admin.period_of(
    plan pg_catalog.record, at pg_catalog.timestamptz, OUT start timestamp, OUT first pg_catalog.timestamptz,
    OUT next pg_catalog.timestamptz, OUT low numeric, OUT high numeric)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    local_time timestamp := at AT TIME ZONE plan.timezone;
    -- Where the time field ends.
    end_ms numeric := 2::numeric ^ (64 - plan.shard_bits - plan.sequence_bits);
BEGIN
    start := CASE WHEN plan.months > 0 THEN date_trunc('year', local_time) + (extract(month FROM local_time)::int - 1) / plan.months * plan.every
                  WHEN plan.every = '7 days' THEN date_trunc('week', local_time)
                  WHEN plan.hours > 0 THEN date_trunc('day', local_time) + extract(hour FROM local_time)::int / plan.hours * plan.every
                  ELSE date_trunc('day', local_time) END;
    start := (SELECT start - n * plan.every FROM generate_series(0, 24) n
              WHERE (start - n * plan.every) AT TIME ZONE plan.timezone <= at ORDER BY n LIMIT 1);
    first := GREATEST(start AT TIME ZONE plan.timezone, plan.epoch);
    -- A local time that is left out becomes a later one, and another period may begin before that.
    next := (SELECT min((start + n * plan.every) AT TIME ZONE plan.timezone) FROM generate_series(1, 24) n);
    IF extract(epoch FROM first - plan.epoch) * 1000 < end_ms THEN
        low := shardid_admin.unsigned(shardid_admin.first_id(first, plan.epoch, plan.shard_bits, plan.sequence_bits));
    END IF;
    high := 18446744073709551616;
    IF extract(epoch FROM next - plan.epoch) * 1000 < end_ms THEN
        high := shardid_admin.unsigned(shardid_admin.first_id(next, plan.epoch, plan.shard_bits, plan.sequence_bits));
    END IF;
END
$$;

-- The partitions, except a default one, with their bounds as PostgreSQL orders them, and as unsigned numbers.
CREATE OR REPLACE FUNCTION shardid_admin.partitions_of(parent pg_catalog.regclass)
RETURNS TABLE (part pg_catalog.oid, low numeric, high numeric, unsigned_low numeric, unsigned_high numeric, is_leaving boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT c.oid, b.low, b.high, b.low + u.more, b.high + u.more, i.inhdetachpending
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
         regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM [(](.*)[)] TO [(](.*)[)]$') t,
         LATERAL (SELECT CASE t[1] WHEN 'MINVALUE' THEN -9223372036854775808 ELSE btrim(t[1], '''')::numeric END AS low,
                         CASE t[2] WHEN 'MAXVALUE' THEN 9223372036854775808 ELSE btrim(t[2], '''')::numeric END AS high) b,
         LATERAL (SELECT CASE WHEN b.low < 0 THEN 18446744073709551616 ELSE 0 END AS more) u
    WHERE i.inhparent = parent AND b.low < b.high;
END
$$;

-- The first day that the name of a partition says, and how long it can be at most; NULL if it says none.
CREATE OR REPLACE FUNCTION shardid_admin.time_in_name(relation pg_catalog.text, OUT first pg_catalog.date, OUT length interval)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    -- Year, and quarter, or week, or month, day and hour.
    m CONSTANT text[] := regexp_match(relation,
        '_((?:19[7-9]|20\d|21\d)\d)(?:q([1-4])|w(0[1-9]|[1-4]\d|5[0-3])|(0[1-9]|1[0-2])'
        '(?:(0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])?)?)?(?:_positive|_negative)?(?:_\d+)?$');
BEGIN
    first := CASE WHEN m[3] IS NOT NULL THEN to_date(m[1] || m[3], 'IYYYIW')
                  WHEN m IS NOT NULL THEN make_date(m[1]::int, COALESCE(m[2]::int * 3 - 2, m[4]::int, 1), 1) + COALESCE(m[5]::int - 1, 0) END;
    length := CASE WHEN m[5] IS NOT NULL THEN interval '1 day' WHEN m[3] IS NOT NULL THEN '7 days'
                   WHEN m[2] IS NOT NULL THEN '3 months' WHEN m[4] IS NOT NULL THEN '6 months'
                   WHEN m IS NOT NULL THEN '1 year' END;
END
$$;

-- The name of the function, if the expression is a call of one, perhaps in a cast.
CREATE OR REPLACE FUNCTION shardid_admin.called(expression pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rest text := regexp_replace(regexp_replace(expression, '''(?:[^'']|'''')*''', '', 'g'), '^[(](.*)[)]::[^()]+$', '\1');
    longer text := '';
BEGIN
    WHILE rest <> longer LOOP
        longer := rest;
        rest := regexp_replace(rest, '[(][^()]*[)]', '', 'g');
    END LOOP;
    RETURN rest;
END
$$;

-- The default of a key: its expression, its call of next_id, and the last values of its generators.
-- What the default passes to next_id tells the layout, also in functions that the default calls, if none computes with the result. Of a
-- body that is no SQL body only a call without a layout is understood. There is no call if the epoch or a width is an expression.
CREATE OR REPLACE FUNCTION shardid_admin.default_of(
    parent pg_catalog.regclass, key_number smallint, OUT expression pg_catalog.text, OUT call pg_catalog.text, OUT last_values bigint[])
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    next_ids CONSTANT oid[] := ARRAY(SELECT p.oid FROM pg_proc p WHERE p.proname = 'next_id'
                                     AND oidvectortypes(p.proargtypes) LIKE '%regclass, timestamp with time zone, integer, integer');
    source record;
BEGIN
    SELECT COALESCE(d.tableoid, t.tableoid) AS class, COALESCE(d.oid, t.oid) AS oid,
           COALESCE(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(t.typdefaultbin, 0)) AS text INTO source
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = parent AND a.attnum = key_number;
    expression := source.text;
    WITH RECURSIVE links (class, oid, text, caller) AS (
        SELECT source.class, source.oid, source.text COLLATE "C", NULL COLLATE "C"
        UNION
        SELECT p.tableoid, p.oid, regexp_replace(pg_get_function_sqlbody(p.oid), '^(RETURN|BEGIN ATOMIC\s+SELECT)\s+|( AS [^\s()]+)?;\s*END$', '', 'g'), l.text
        FROM links l JOIN pg_depend d ON d.classid = l.class AND d.objid = l.oid
             JOIN pg_proc p ON d.refclassid = p.tableoid AND p.oid = d.refobjid AND p.oid::regproc::text = shardid_admin.called(l.text)
        WHERE l.oid <> ALL (next_ids)),
    calls (text, home) AS (
        SELECT l.caller, p.pronamespace FROM links l JOIN pg_proc p ON l.class = p.tableoid AND p.oid = l.oid WHERE p.oid = ANY (next_ids)
        UNION ALL
        SELECT c[2], n.oid
        FROM links l JOIN pg_proc p ON l.class = p.tableoid AND p.oid = l.oid AND p.oid <> ALL (next_ids) AND p.prosqlbody IS NULL,
             regexp_replace(p.prosrc, '--[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/', ' ', 'g') body,
             regexp_match(body, '(?i)^(?:(?!next_id\s*\().)*\m(?:RETURN|SELECT)\s+(\w+)\.next_id\s*'
                                '(\((?:\s*generator\s*(?:=>|:=))?[^(),=]*\))\s*(?:;(?:(?!next_id\s*\().)*)?$') c
             JOIN pg_namespace n ON lower(quote_ident(n.nspname)) = lower(c[1])
        WHERE n.oid IN (SELECT o.pronamespace FROM pg_proc o WHERE o.oid = ANY (next_ids)))
    SELECT (SELECT CASE WHEN count(*) = 1 THEN max(regexp_replace(c.text, $re$'(?:[^']|'')*'::regclass$re$, '::regclass')) END
            FROM calls c
            HAVING bool_and((c.text ~ ('(::regclass, (?!(epoch|shard_bits|sequence_bits) => )|epoch => )(?!''[^'']*''::timestamp with time zone)'
                '|_bits => (?!\d+[,)])|::timestamp with time zone, (\d+, )?(?!\d+[,)]|shard_bits => |sequence_bits => )')) IS NOT TRUE)),
           ARRAY(SELECT CASE WHEN has_sequence_privilege(s.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(s.oid) END
                 FROM pg_class s
                 WHERE s.relkind = 'S' AND (s.relname = 'shardid_seq' AND s.relnamespace IN (SELECT c.home FROM calls c)
                       OR s.oid IN (SELECT d.refobjid FROM links l JOIN pg_depend d ON d.classid = l.class AND d.objid = l.oid
                                    WHERE d.refclassid = 'pg_class'::regclass)))
    INTO call, last_values;
END
$$;

-- The layout of the ids of a table, of which some is passed, and the later one of the clock and the generator's last id.
-- Another layout would make partitions that get no rows.
CREATE OR REPLACE FUNCTION shardid_admin.layout_of(
    parent pg_catalog.regclass, name pg_catalog.text, key_number smallint, present pg_catalog.timestamptz,
    INOUT epoch pg_catalog.timestamptz, INOUT shard_bits int, INOUT sequence_bits int, OUT latest pg_catalog.timestamptz)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    of_default record;
    own record;                 -- the layout of the ids that the default generates
    lead bigint;
    turn CONSTANT numeric := 9223372036854775808;       -- where ids become negative
    part record;
BEGIN
    of_default := shardid_admin.default_of(parent, key_number);
    SELECT COALESCE(substring(of_default.call FROM '''([^'']*)''::timestamp with time zone')::timestamptz, '2011-08-24 21:07:01.721+00') AS epoch,
           COALESCE(substring(of_default.call FROM '(?:shard_bits => |::timestamp with time zone, )(\d+)')::int, 13) AS shard_bits,
           COALESCE(substring(of_default.call FROM '(?:sequence_bits => |::timestamp with time zone, (?:shard_bits => )?\d+, )(\d+)')::int, 10)
               AS sequence_bits
    INTO own;
    IF of_default.expression IS NOT NULL AND of_default.call IS NULL AND num_nulls(epoch, shard_bits, sequence_bits) > 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('the layout of the ids of %s is unknown', name),
            DETAIL = format('It cannot be read from the default, %s.', of_default.expression),
            HINT = 'If these ids begin with a time, pass epoch, shard_bits and sequence_bits.';
    END IF;
    epoch := COALESCE(epoch, own.epoch);
    shard_bits := COALESCE(shard_bits, own.shard_bits);
    sequence_bits := COALESCE(sequence_bits, own.sequence_bits);

    -- A generator is ahead of the clock after that was set back. This also refuses what is no layout, and a clock outside its range.
    lead := (SELECT max(t.last >> sequence_bits) FROM unnest(of_default.last_values) t (last))
            - div(shardid_admin.unsigned(shardid_admin.first_id(present, epoch, shard_bits, sequence_bits)), 2::numeric ^ (shard_bits + sequence_bits));
    -- More is not a time.
    latest := present + CASE WHEN lead BETWEEN 1 AND 86400000::bigint * 366 THEN lead ELSE 0 END * '1 millisecond'::interval;

    IF of_default.call IS NULL THEN
        -- All that are made for periods last whole hours, in a layout of ten bits or more after the time. One of this layout is where
        -- its name says or, if that says nothing, begins at a whole minute.
        SELECT format('%I.%I', s.nspname, c.relname) AS name, p.unsigned_low AS low INTO part
        FROM shardid_admin.partitions_of(parent) p JOIN pg_class c ON c.oid = p.part JOIN pg_namespace s ON s.oid = c.relnamespace,
             LATERAL (SELECT extract(epoch FROM epoch) * 1000 + div(p.unsigned_low, 2::numeric ^ (shard_bits + sequence_bits)) AS low,
                             extract(epoch FROM epoch) * 1000 + div(p.unsigned_high, 2::numeric ^ (shard_bits + sequence_bits)) AS high) ms,
             shardid_admin.time_in_name(c.relname::text) f,
             LATERAL (SELECT extract(epoch FROM f.first - interval '7 days') * 1000 AS low,
                             extract(epoch FROM f.first + f.length + interval '7 days') * 1000 AS high) t
        WHERE p.unsigned_low > 0 AND p.low > -turn AND p.high < turn AND (p.unsigned_high - p.unsigned_low) % (3600000 * 1024::numeric) = 0
          AND COALESCE(ms.low > t.high OR ms.high < t.low,
                       p.unsigned_low % (2::numeric ^ (shard_bits + sequence_bits)) <> 0 OR ms.low % 60000 <> 0)
        ORDER BY p.unsigned_low LIMIT 1;
        IF FOUND THEN
            RAISE invalid_parameter_value USING MESSAGE = format('partition %s was created for ids of another layout', part.name),
                DETAIL = format('With epoch %s, shard_bits %s, sequence_bits %s it begins at %s.', epoch, shard_bits, sequence_bits,
                                shardid_admin.time_of(shardid_admin.signed(part.low), epoch, shard_bits, sequence_bits)),
                HINT = 'Pass the epoch, shard_bits and sequence_bits of the ids. If these are right, detach the partition.';
        END IF;
    ELSIF (own.epoch, own.shard_bits, own.sequence_bits) <> (epoch, shard_bits, sequence_bits) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('the default of %s generates ids of another layout', name),
            DETAIL = format('The default has epoch %s, shard_bits %s, sequence_bits %s; the call has epoch %s, shard_bits %s, sequence_bits %s.',
                            own.epoch, own.shard_bits, own.sequence_bits, epoch, shard_bits, sequence_bits),
            HINT = 'Leave them out, or pass those of the default.';
    END IF;
END
$$;

-- The commands that create the table for a partition: a format, to which its name is passed.
-- Row security of the parent is not that of a partition: then nobody gets rights on that. Default privileges are not the parent's either.
CREATE OR REPLACE FUNCTION shardid_admin.creation_of_parts(parent pg_catalog.regclass)
RETURNS pg_catalog.text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p pg_class;
BEGIN
    SELECT c.* INTO p FROM pg_class c WHERE c.oid = parent;
    RETURN concat(
        format('CREATE TABLE %%1$s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)',
               replace(format('%s.%I', p.relnamespace::regnamespace, p.relname), '%', '%%')),
        (SELECT ' USING ' || replace(quote_ident(a.amname), '%', '%%') FROM pg_am a WHERE a.oid = p.relam),
        (SELECT ' TABLESPACE ' || replace(quote_ident(t.spcname), '%', '%%') FROM pg_tablespace t WHERE t.oid = p.reltablespace),
        CASE p.relreplident WHEN 'f' THEN E';\nALTER TABLE %1$s REPLICA IDENTITY FULL' END,
        (SELECT format(E';\nREVOKE ALL ON TABLE %%1$s FROM %s', string_agg(replace(d.name, '%', '%%'), ', ' ORDER BY d.name COLLATE "C"))
         FROM (SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
               FROM pg_default_acl d, aclexplode(d.defaclacl) a
               WHERE d.defaclrole = p.relowner AND d.defaclobjtype = 'r' AND d.defaclnamespace IN (0, p.relnamespace)
                 AND a.grantee <> p.relowner) d (name)
         HAVING count(*) > 0),
        (SELECT string_agg(format(E';\nGRANT %s ON TABLE %%1$s TO %s%s', g.privileges,
                                  replace(CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, '%', '%%'),
                                  CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), '' ORDER BY g.grantee, g.is_grantable)
         FROM (SELECT a.grantee, a.is_grantable, string_agg(DISTINCT a.privilege_type, ', ' ORDER BY a.privilege_type) AS privileges
               FROM aclexplode(p.relacl) a WHERE a.grantee <> p.relowner GROUP BY 1, 2) g
         WHERE NOT p.relrowsecurity));
END
$$;

-- The commands that restore how triggers are enabled, after all are: a format, to which the table's name is passed.
CREATE OR REPLACE FUNCTION shardid_admin.trigger_states(of_table pg_catalog.regclass, only_row_level boolean)
RETURNS pg_catalog.text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT string_agg(format(E';\nALTER TABLE ONLY %%1$s %s TRIGGER %s',
                                     CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END,
                                     replace(quote_ident(t.tgname), '%', '%%')), '' ORDER BY t.tgname)
            FROM pg_trigger t
            WHERE t.tgrelid = of_table AND NOT t.tgisinternal AND t.tgenabled <> 'O' AND (t.tgtype & 1 = 1 OR NOT only_row_level));
END
$$;

-- The commands that create a partition, and move its rows there from the default partition.
-- A DELETE that moves rows would follow foreign keys to them, or be refused by those. Nor may a row that only moves fire triggers. Those
-- of foreign keys stay on. Until the end nobody else writes to it. The INSERT comes after ATTACH: a publication of the table then sends
-- it, as it does the DELETE. No name depends on search_path, which stays: functions in checks may need it.
CREATE OR REPLACE FUNCTION shardid_admin.moving_commands(
    plan pg_catalog.record, part pg_catalog.text, creation pg_catalog.text, attaching pg_catalog.text, low numeric, high numeric)
RETURNS pg_catalog.text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns CONSTANT text := (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
                              WHERE a.attrelid = plan.parent AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '');
    unlinking text;             -- drops foreign keys to it, without which rows can be moved
    linking text;
    silencing text;             -- disables its triggers
    waking text;
BEGIN
    SELECT string_agg(format(E'ALTER TABLE %s DROP CONSTRAINT %I;\n', c.conrelid::regclass, c.conname), '' ORDER BY c.oid),
           string_agg(format(E';\nALTER TABLE %s ADD CONSTRAINT %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)), ''
                      ORDER BY c.oid)
    INTO unlinking, linking
    FROM pg_constraint c
    WHERE c.contype = 'f' AND c.conparentid = 0
      AND c.confrelid IN (SELECT t.relid FROM pg_partition_tree(plan.rest) t UNION ALL SELECT a.relid FROM pg_partition_ancestors(plan.parent) a);
    SELECT string_agg(format(E'ALTER TABLE ONLY %s DISABLE TRIGGER USER;\n', p.relid), '' ORDER BY p.level, p.relid::oid),
           string_agg(format(E';\nALTER TABLE ONLY %s ENABLE TRIGGER USER%s', p.relid, format(shardid_admin.trigger_states(p.relid, false), p.relid)),
                      '' ORDER BY p.level, p.relid::oid)
    INTO silencing, waking
    FROM pg_partition_tree(plan.rest) p;
    RETURN format(E'BEGIN;\nSET LOCAL lock_timeout = ''0.3s'';\n%1$s%2$s;\n%3$s'
                  'CREATE TEMPORARY TABLE moved_rows ON COMMIT DROP AS SELECT %4$s FROM %5$s WITH NO DATA;\n'
                  'WITH moved AS (DELETE FROM %5$s WHERE %6$I OPERATOR(pg_catalog.>=) %7$L AND %6$I OPERATOR(pg_catalog.<=) %8$L RETURNING %4$s)\n'
                  'INSERT INTO pg_temp.moved_rows SELECT %4$s FROM moved%9$s;\n%10$s;\n'
                  'ALTER TABLE ONLY %11$s DISABLE TRIGGER USER;\n'
                  'INSERT INTO %11$s (%4$s) OVERRIDING SYSTEM VALUE SELECT %4$s FROM pg_temp.moved_rows;\n'
                  'SET CONSTRAINTS ALL IMMEDIATE;\n'
                  'ALTER TABLE ONLY %11$s ENABLE TRIGGER USER%12$s%13$s;\nCOMMIT;',
                  unlinking, creation, silencing, columns, plan.rest, plan.key, low, high - 1, waking, attaching,
                  part, format(shardid_admin.trigger_states(plan.parent, true), part), linking);
END
$$;

-- Whether a missing partition cannot be created, of which it warns.
CREATE OR REPLACE FUNCTION shardid_admin.is_obstructed(
    plan pg_catalog.record, leaving pg_catalog.text, part pg_catalog.text, creation pg_catalog.text, attaching pg_catalog.text, low numeric,
    high numeric)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    in_rest bigint;
    other regrole;
BEGIN
    IF plan.rest IS NOT NULL THEN
        EXECUTE format('SELECT count(*) FROM %s WHERE %I BETWEEN $1 AND $2', plan.rest, plan.key)
        INTO in_rest USING low::bigint, (high - 1)::bigint;
    END IF;
    IF leaving IS NOT NULL THEN
        IF plan.reports THEN
            RAISE WARNING USING ERRCODE = 'object_in_use',
                MESSAGE = format('partition %s is being detached from %s', leaving, plan.name),
                DETAIL = 'It takes no rows, and no partition for them can be created.',
                HINT = format('Wait for that, or, if it was canceled, run ALTER TABLE %s DETACH PARTITION %s FINALIZE.', plan.name, leaving);
        END IF;
    ELSIF to_regclass(part) IS NOT NULL OR to_regtype(part) IS NOT NULL THEN
        IF plan.reports THEN
            SELECT c.relowner::regrole INTO other FROM pg_class p JOIN pg_class c ON c.relowner <> p.relowner
            WHERE p.oid = plan.parent AND (c.oid = to_regclass(part) OR c.oid IN (SELECT t.relid FROM pg_partition_tree(to_regclass(part)) t)) LIMIT 1;
            RAISE WARNING USING ERRCODE = 'duplicate_table',
                MESSAGE = format('%s is not a partition of %s', part, plan.name),
                DETAIL = 'The missing partition would have this name.',
                -- ATTACH would run functions of its owner.
                HINT = COALESCE('Have it renamed: it belongs to ' || other || '.',
                                format('Rename it, or, if it is a table for these rows, run %s.', attaching));
        END IF;
    ELSIF in_rest > 0 THEN
        IF plan.reports THEN
            RAISE WARNING USING ERRCODE = 'check_violation',
                MESSAGE = format('default partition %s has rows of partition %s', plan.rest, part),
                DETAIL = format('Their number is %s.', in_rest),
                -- They drop foreign keys to the table, and add them again, for which all of its partitions are read.
                HINT = COALESCE((shardid_admin.stranger(plan.parent, pg_partition_root(plan.parent))).hint, E'Move them by these commands:\n'
                                || shardid_admin.moving_commands(plan, part, creation, attaching, low, high));
        END IF;
    ELSE
        RETURN false;
    END IF;
    RETURN true;
END
$$;

-- The commands that create the partitions of all periods from this time on that are missing.
CREATE OR REPLACE FUNCTION shardid_admin.missing_partitions(
    plan pg_catalog.record, ahead int, since pg_catalog.timestamptz, OUT command pg_catalog.text, OUT step pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    turn CONSTANT numeric := 9223372036854775808;       -- where ids become negative
    creation_of_parts CONSTANT text := shardid_admin.creation_of_parts(plan.parent);
    parts record;
    at timestamptz := since;
    period record;
    gap record;
    name text;
    names text[] := '{}';
    qualified text;
    creation text;
    attaching text;
BEGIN
    SELECT array_agg(p.part) AS oids, range_agg(numrange(p.low, p.high)) FILTER (WHERE NOT p.is_leaving) AS taken,
           -- One at most, which takes no rows any more.
           max(p.part::regclass::text) FILTER (WHERE p.is_leaving) AS leaving,
           range_agg(numrange(p.low, p.high)) FILTER (WHERE p.is_leaving) AS left_out
    INTO parts FROM shardid_admin.partitions_of(plan.parent) p;
    LOOP
        period := shardid_admin.period_of(plan, at);
        EXIT WHEN period.low IS NULL;
        IF period.first > plan.latest THEN
            EXIT WHEN ahead = 0;
            ahead := ahead - 1;
        END IF;
        at := period.next;
        FOR gap IN
            SELECT lower(g) AS low, upper(g) AS high, CASE WHEN NOT (period.low < turn AND period.high > turn) THEN ''
                                                           WHEN lower(g) < 0 THEN '_negative' ELSE '_positive' END AS half
            FROM unnest(nummultirange(numrange(LEAST(period.low, turn), LEAST(period.high, turn)),
                                      numrange(GREATEST(period.low, turn) - 2 * turn, GREATEST(period.high, turn) - 2 * turn))
                        - COALESCE(parts.taken, '{}')) g
            ORDER BY lower(g) < 0, lower(g)
        LOOP
            -- A partition of this name may hold a part of the period.
            FOR other IN 1 .. 1000 LOOP
                name := plan.relation || '_' || to_char(period.start, plan.pattern) || gap.half || COALESCE('_' || NULLIF(other, 1), '');
                EXIT WHEN name <> ALL (names) AND (to_regclass(format('%I.%I', plan.schema, name)) = ANY (parts.oids)) IS NOT TRUE;
            END LOOP;
            names := names || name;
            IF octet_length(name) > 63 THEN
                RAISE name_too_long USING MESSAGE = format('the name of table %s is too long for partitions', plan.name),
                    DETAIL = format('A partition would be "%s", and a name has at most 63 bytes.', name), HINT = 'Rename the table.';
            END IF;
            qualified := format('%I.%I', plan.schema, name);
            creation := format(creation_of_parts, qualified);
            attaching := format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', plan.name, qualified,
                                CASE gap.low WHEN -turn THEN 'MINVALUE' ELSE quote_literal(gap.low) END,
                                CASE gap.high WHEN turn THEN 'MAXVALUE' ELSE quote_literal(gap.high) END);
            -- A row without a command and without a step is an obstacle.
            command := CASE WHEN NOT shardid_admin.is_obstructed(
                plan, CASE WHEN parts.left_out && numrange(gap.low, gap.high) THEN parts.leaving END, qualified, creation, attaching,
                gap.low, gap.high) THEN creation || E';\n' || attaching END;
            step := command;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;

-- The commands that drop the partitions which are older than is kept.
-- Partitions that ended by then, if they have the bounds of a period.
CREATE OR REPLACE FUNCTION shardid_admin.old_partitions(plan pg_catalog.record, OUT command pg_catalog.text, OUT step pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    turn CONSTANT numeric := 9223372036854775808;       -- where ids become negative
    part record;
    at timestamptz;
    period record;
BEGIN
    FOR part IN
        SELECT p.is_leaving, count(*) FILTER (WHERE p.is_leaving) OVER () > 0 OR plan.rest IS NOT NULL AS at_once,
               c.oid::regclass AS name, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind,
               p.unsigned_low AS low, p.unsigned_high AS high
        FROM shardid_admin.partitions_of(plan.parent) p JOIN pg_class c ON c.oid = p.part
        ORDER BY p.unsigned_low
    LOOP
        at := shardid_admin.time_of(shardid_admin.signed(part.low), plan.epoch, plan.shard_bits, plan.sequence_bits);
        EXIT WHEN at >= plan.oldest;
        period := shardid_admin.period_of(plan, at);
        -- The period in which ids become negative has two.
        IF (part.low = period.low OR part.low = turn AND period.low < turn AND period.high > turn)
           AND (part.high = period.high OR part.high = turn AND period.low < turn AND period.high > turn) THEN
            CONTINUE WHEN period.next > plan.oldest;
            PERFORM shardid_admin.refuse_stranger(plan.parent, part.name);
            command := format('ALTER TABLE %s DETACH PARTITION %s', plan.name, part.name);
            step := format(E'%s%s;\nDROP %s %s', command, CASE WHEN part.is_leaving THEN ' FINALIZE' ELSE '' END, part.kind, part.name);
            -- CONCURRENTLY is refused where there is a default partition, or one that is being detached.
            IF part.at_once THEN
                command := step;
            ELSE
                command := command || ' CONCURRENTLY';
                RETURN NEXT;
                command := format('DROP %s %s', part.kind, part.name);
                step := NULL;
            END IF;
            RETURN NEXT;
        ELSIF plan.reports AND shardid_admin.time_of(shardid_admin.signed(part.high - 1), plan.epoch, plan.shard_bits, plan.sequence_bits) < plan.oldest THEN
            RAISE NOTICE USING MESSAGE = format('partition %s is older than keep, but its bounds are not those of a period', part.name),
                DETAIL = 'It stays.',
                HINT = COALESCE((shardid_admin.stranger(plan.parent, part.name)).hint,
                                format('If its rows are not needed, run ALTER TABLE %s DETACH PARTITION %s, and DROP %s %2$s.',
                                       plan.name, part.name, part.kind));
        END IF;
    END LOOP;
END
$$;

-- The commands of id_partition_commands, and as steps that a procedure can run.
CREATE OR REPLACE FUNCTION shardid_admin.partition_steps(
    parent pg_catalog.regclass, every interval, ahead int, keep interval, since pg_catalog.timestamptz, epoch pg_catalog.timestamptz,
    shard_bits int, sequence_bits int, timezone pg_catalog.text, reports boolean, OUT command pg_catalog.text, OUT step pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
SET standard_conforming_strings = on SET datestyle = 'ISO' SET intervalstyle = 'postgres' SET timezone = 'UTC' AS $$
DECLARE
    present timestamptz := date_trunc('milliseconds', clock_timestamp());
    oldest timestamptz;                                 -- of what is kept
    of_table record;
    periods record;
    layout record;
    plan record;
    at timestamptz;
    part record;
BEGIN
    IF parent IS NULL OR every IS NULL OR ahead IS NULL OR timezone IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'an argument is null',
            DETAIL = 'Only keep, since and the layout can be null.', HINT = 'Pass a value, or leave the argument out.';
    END IF;
    of_table := shardid_admin.partitioned_table(parent);
    periods := shardid_admin.periods(every, ahead, keep, since);
    -- From longer ago there is no time.
    IF keep < '6000 years' THEN
        oldest := (present AT TIME ZONE timezone - keep) AT TIME ZONE timezone;
    END IF;
    layout := shardid_admin.layout_of(parent, of_table.name, of_table.key_number, present, epoch, shard_bits, sequence_bits);
    SELECT parent AS parent, of_table.schema AS schema, of_table.relation AS relation, of_table.name AS name, of_table.key AS key,
           of_table.rest AS rest, every AS every, timezone AS timezone, periods.months AS months, periods.hours AS hours, periods.pattern AS pattern,
           layout.epoch AS epoch, layout.shard_bits AS shard_bits, layout.sequence_bits AS sequence_bits, layout.latest AS latest,
           oldest AS oldest, reports AS reports
    INTO plan;
    at := GREATEST(LEAST(since, present), oldest, plan.epoch);
    IF extract(epoch FROM plan.latest - at) / extract(epoch FROM every) > 10000 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'too many partitions',
            DETAIL = format('From %s on there are more than 10000.', at), HINT = 'Pass a later time, or longer periods.';
    END IF;
    RETURN QUERY SELECT * FROM shardid_admin.missing_partitions(plan, ahead, at);
    IF oldest > plan.epoch THEN
        IF reports THEN
            -- Tables that were partitions.
            FOR part IN
                SELECT format('%I.%I', plan.schema, c.relname) AS name, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
                FROM pg_class p JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relowner = p.relowner,
                     shardid_admin.time_in_name(c.relname::text) f
                WHERE p.oid = plan.parent AND c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition
                  AND starts_with(c.relname, plan.relation || '_' || to_char(f.first, replace(plan.pattern, 'HH24', '')))
                  AND f.first + GREATEST(plan.every, interval '1 day') <= plan.oldest AT TIME ZONE plan.timezone
                ORDER BY c.relname
            LOOP
                RAISE NOTICE USING MESSAGE = format('table %s is older than keep, but no partition of %s', part.name, plan.name),
                    DETAIL = 'It was detached, and not dropped after that.',
                    HINT = format('If its rows are not needed, run DROP %s %s.', part.kind, part.name);
            END LOOP;
        END IF;
        RETURN QUERY SELECT * FROM shardid_admin.old_partitions(plan);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION shardid_admin.id_partition_commands(
    parent pg_catalog.regclass, every interval, ahead int DEFAULT 3, keep interval DEFAULT NULL::interval,
    since pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz, epoch pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    shard_bits int DEFAULT NULL::int, sequence_bits int DEFAULT NULL::int, timezone pg_catalog.text DEFAULT 'UTC'::pg_catalog.text)
RETURNS SETOF pg_catalog.text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s.command
    FROM shardid_admin.partition_steps(parent, every, ahead, keep, since, epoch, shard_bits, sequence_bits, timezone, true) s
    WHERE s.command IS NOT NULL;
END;

COMMENT ON FUNCTION shardid_admin.id_partition_commands(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz,
    pg_catalog.timestamptz, int, int, pg_catalog.text) IS
'the commands that create the missing partitions of a table by time, and drop old ones; warns of what prevents them';

-- Whether it is a partitioned table of the current user.
CREATE OR REPLACE FUNCTION shardid_admin.owns(parent pg_catalog.regclass)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pg_class c WHERE c.oid = parent AND c.relkind = 'p' AND c.relowner = quote_ident(current_user)::regrole);
END
$$;

-- Without SET search_path, with which no procedure can commit: each transaction sets it before it looks up any name.
CREATE OR REPLACE PROCEDURE shardid_admin.maintain_id_partitions(
    parent pg_catalog.regclass, every interval, ahead int DEFAULT 3, keep interval DEFAULT NULL::interval,
    since pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz, epoch pg_catalog.timestamptz DEFAULT NULL::pg_catalog.timestamptz,
    shard_bits int DEFAULT NULL::int, sequence_bits int DEFAULT NULL::int, timezone pg_catalog.text DEFAULT 'UTC'::pg_catalog.text)
LANGUAGE plpgsql AS $$
DECLARE
    timeout int;
    parts pg_catalog.oid[];
    known_parts pg_catalog.oid[];
    steps pg_catalog.text[];
    tried pg_catalog.text[] := '{}';
    failed int := 0;
    gave_way boolean := false;
    next pg_catalog.text;
    part pg_catalog.text;
    message pg_catalog.text;
    detail pg_catalog.text;
    hint pg_catalog.text;
BEGIN
    -- In a transaction block this fails, before anything is done.
    COMMIT;
    LOOP
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        timeout := COALESCE(timeout, NULLIF((SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'), 0), 1000);
        -- For the turn, with which no query is in the way.
        PERFORM set_config('lock_timeout', timeout::text, true);
        next := NULL;
        BEGIN
            -- So two calls at once take turns. For others than the owner nothing is locked, and they are told why below.
            IF shardid_admin.owns(parent) THEN
                EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', parent);
            END IF;
            -- What is missing is looked up again if others have changed the partitions or, to say so, the owner.
            parts := ARRAY(SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = parent ORDER BY i.inhrelid);
            IF parts IS DISTINCT FROM known_parts OR NOT shardid_admin.owns(parent) THEN
                SELECT array_agg(s.step ORDER BY s.place) FILTER (WHERE s.step IS NOT NULL AND s.step <> ALL (tried)),
                       failed + count(*) FILTER (WHERE known_parts IS NULL AND s.command IS NULL AND s.step IS NULL)
                INTO steps, failed
                FROM shardid_admin.partition_steps(parent, every, ahead, keep, since, epoch, shard_bits, sequence_bits, timezone,
                                                   known_parts IS NULL) WITH ORDINALITY s (command, step, place);
                known_parts := parts;
            END IF;
            -- Each drop would make all others wait once more for the same session.
            IF gave_way THEN
                steps := ARRAY(SELECT s.step FROM unnest(steps) WITH ORDINALITY s (step, place) WHERE starts_with(s.step, 'CREATE ') ORDER BY s.place);
            END IF;
            next := steps[1];
            steps := steps[2:];
            IF next IS NOT NULL THEN
                -- Far less than deadlock_timeout: in a deadlock this gives way, and the application is not refused.
                PERFORM set_config('lock_timeout', LEAST(timeout, 300)::text, true);
                tried := tried || next;
                part := CASE WHEN NOT starts_with(next, 'CREATE ') THEN substring(split_part(next, E'\nDROP ', 2) FROM 'TABLE (.*)') END;
                IF part <> '' THEN
                    -- Under this lock no foreign key is added.
                    PERFORM shardid_admin.refuse_stranger(parent, part::regclass);
                END IF;
                EXECUTE next;
                IF part <> '' THEN
                    RAISE NOTICE USING MESSAGE = format('partition %s is older than keep, and is dropped', part);
                END IF;
                known_parts := ARRAY(SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = parent ORDER BY i.inhrelid);
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = format('could not get a lock for a partition of %s', parent),
                    DETAIL = COALESCE('The commands are: ' || next, 'The lock is that of the table.'),
                    HINT = 'The next call tries it again.' || CASE WHEN next IS NULL THEN '' ELSE ' This call drops no more partitions.' END;
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
        EXIT WHEN next IS NULL;
        COMMIT;
    END LOOP;
    IF failed > 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('partitions of %s are not maintained', parent),
            DETAIL = format('Their number is %s. The warnings before this say why. All else is done.', failed),
            HINT = 'Remove the causes, and call it again.';
    END IF;
END
$$;

COMMENT ON PROCEDURE shardid_admin.maintain_id_partitions(pg_catalog.regclass, interval, int, interval, pg_catalog.timestamptz,
    pg_catalog.timestamptz, int, int, pg_catalog.text) IS
'creates the missing partitions of a table by time and drops old ones, each in a transaction of its own that waits 0.3 s for a lock';

-- ==== Ids for a whole schema ====
--
-- The commands that change the columns of a schema. Everything in them is named with its schema, and every name is quoted. No
-- name gets out of a comment by a line break. Only columns of the caller's own tables are read and changed: functions in an
-- index run with the rights of the role that reads max(id).

-- The default that id_migration_commands gives to columns: a format, to which the generator is passed.
CREATE OR REPLACE FUNCTION shardid_admin.new_default(of_function pg_catalog.oid, one_generator pg_catalog.oid, layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    r record;
BEGIN
    IF of_function IS NULL THEN
        RETURN format('%s.next_id(%s)', replace(shardid_admin.ids_schema(), '%', '%%'), concat_ws(', ',
            CASE WHEN one_generator IS DISTINCT FROM shardid_admin.default_generator() THEN 'generator => %1$L' END, replace(layout, '%', '%%')));
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

-- Every column whose value comes from a sequence, and those of other schemas that share one by their defaults (not is_here). Of
-- a partitioned table with an identity the partitions have one, too, from PostgreSQL 17 on (of_parent): they are where that is.
CREATE OR REPLACE FUNCTION shardid_admin.sequence_columns(of_schema pg_catalog.oid)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    RETURN (
    WITH uses AS MATERIALIZED (
        SELECT q.objid AS attrdef, q.refobjid AS seq, c.relnamespace = of_schema AS is_here
        FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid JOIN pg_attrdef d ON d.oid = q.objid JOIN pg_class c ON c.oid = d.adrelid
        WHERE q.classid = 'pg_attrdef'::regclass AND q.refclassid = 'pg_class'::regclass)
    SELECT jsonb_agg(to_jsonb(k)) FROM (
        SELECT COALESCE(i.home, c.relnamespace) = of_schema AS is_here, c.oid AS rel, c.oid::regclass::text AS name, a.attnum AS num, quote_ident(a.attname) AS col, c.relowner AS owner,
               a.attidentity AS identity, COALESCE(i.of_parent, false) AS of_parent,
               c.relkind = 'p' AS is_parted, c.relkind = 'f' AS is_foreign, CASE WHEN a.attidentity = '' THEN e.expression END AS expression,
               COALESCE(i.seq, e.seq) AS seq, i.seq AS identity_seq, format_type(shardid_admin.base_type(a.atttypid), NULL) AS type, e.is_plain,
               e.cast_to <> format_type(a.atttypid, NULL) AS is_other_type
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
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
            SELECT q.objid AS seq, r.relnamespace AS home, r.oid <> c.oid AS of_parent
            FROM pg_depend q JOIN pg_attribute o ON o.attrelid = q.refobjid AND o.attnum = q.refobjsubid JOIN pg_class r ON r.oid = q.refobjid
            WHERE a.attidentity <> '' AND q.classid = 'pg_class'::regclass AND q.refclassid = 'pg_class'::regclass AND q.deptype = 'i'
              AND q.refobjid IN (c.oid, pg_partition_root(c.oid)) AND o.attname = a.attname
            ORDER BY q.refobjid = c.oid DESC LIMIT 1) i ON true
        WHERE (c.relnamespace = of_schema
               OR a.attidentity <> '' AND (SELECT r.relnamespace FROM pg_class r WHERE r.oid = pg_partition_root(c.oid)) = of_schema
               OR d.oid IN (SELECT o.attrdef FROM uses u JOIN uses o ON o.seq = u.seq WHERE u.is_here AND NOT o.is_here))
          AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't'
          AND (a.attidentity <> '' OR e.expression ~ '\mnextval\(')
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.oid AND q.deptype = 'e')) k);
END
$$;

-- For each of these columns, those of 32 or 16 bits that refer to it, also through others.
CREATE OR REPLACE FUNCTION shardid_admin.integer_referrers(columns pg_catalog.jsonb)
RETURNS TABLE (rel pg_catalog.oid, num int, columns_with_size pg_catalog.text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE references_of AS MATERIALIZED (
        SELECT f.confrelid AS rel, f.confkey[n]::int AS num, f.conrelid AS referrer, f.conkey[n]::int AS referrer_num
        FROM pg_constraint f, generate_subscripts(f.confkey, 1) n WHERE f.contype = 'f'),
    referrers (root, root_num, rel, num) AS (
        SELECT c.rel, c.num, c.rel, c.num FROM jsonb_to_recordset(columns) c (rel oid, num int)
        UNION
        SELECT r.root, r.root_num, f.referrer, f.referrer_num FROM referrers r JOIN references_of f USING (rel, num))
    SELECT root, root_num, string_agg(format('%s.%I (%s)', r.rel::regclass, a.attname, pg_size_pretty(pg_total_relation_size(r.rel))), ', '
                                      ORDER BY r.rel::regclass::text, a.attnum)
    FROM referrers r JOIN pg_attribute a ON a.attrelid = r.rel AND a.attnum = r.num
    WHERE (r.rel, r.num) <> (root, root_num) AND shardid_admin.base_type(a.atttypid) IN ('int'::regtype, 'smallint'::regtype) GROUP BY root, root_num;
END
$$;

-- These columns, with the reason if id_migration_commands cannot change one.
CREATE OR REPLACE FUNCTION shardid_admin.unchanged_columns(columns pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me CONSTANT oid := quote_ident(current_user)::regrole;
BEGIN
    RETURN (
    WITH RECURSIVE c AS MATERIALIZED (
        SELECT c.*
        FROM jsonb_to_recordset(columns) c (is_here bool, rel oid, name text, num int, col text, owner oid, identity text, of_parent bool, is_parted bool,
                                            is_foreign bool, expression text, seq oid, identity_seq oid, type text, is_plain bool, is_other_type bool)),
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
        FROM c WHERE identity = '' AND (type <> 'bigint' OR NOT is_plain OR is_other_type) GROUP BY seq),
    reasons AS MATERIALIZED (
        SELECT c.*,
               CASE WHEN NOT c.is_here AND c.of_parent THEN format('has the identity of %s: not changed. It changes with that table.', pg_partition_root(c.rel)::regclass)
                    WHEN NOT c.is_here THEN ''
                    WHEN c.is_foreign AND NOT c.of_parent THEN 'is in a foreign table: not changed.'
                    WHEN c.identity = '' AND (NOT c.is_plain OR c.type = 'bigint' AND c.is_other_type) THEN format('has a default that is more than nextval: not changed. It is %s.', c.expression)
                    WHEN c.seq IS NULL THEN format('has a default whose sequence is not found: not changed. It is %s.', c.expression)
                    WHEN c.identity = '' AND EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.seq AND q.deptype = 'i')
                         THEN 'uses the sequence of an identity: not changed.'
                    WHEN c.owner <> me THEN format('belongs to %s: not changed. Run this as that role.', c.owner::regrole)
                    WHEN heir <> '' THEN format('is inherited by %s, which belongs to another role: not changed.', heir)
                    WHEN c.type IN ('integer', 'smallint') THEN
                        format('is %s, which holds no id: not changed. ALTER TYPE bigint rewrites %s, with its indexes, under ACCESS EXCLUSIVE%s%s.',
                               c.type, s.size, ' and so each integer column that references it: ' || narrow.columns_with_size, '. Drop first: ' || v.views)
                    WHEN c.type <> 'bigint' THEN format('is %s: not changed.', c.type)
                    WHEN narrow.columns_with_size <> '' THEN
                        format('is referenced by integer columns, which hold no id: not changed. First make them bigint: %s.', narrow.columns_with_size)
                    WHEN u.users <> '' THEN format('is an identity whose sequence is used by %s: not changed. DROP IDENTITY would drop it.', u.users)
                    WHEN EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_attribute pa ON pa.attrelid = p.partrelid
                                 WHERE p.partstrat <> 'h' AND pa.attnum = ANY (p.partattrs) AND quote_ident(pa.attname) = c.col
                                   AND p.partrelid IN (SELECT pg_partition_ancestors(c.rel) UNION ALL SELECT t.relid FROM pg_partition_tree(c.rel) t))
                         THEN 'is the key of its partitions: not changed. First make partitions for the new ids.'
                    WHEN (SELECT seqcycle FROM pg_sequence WHERE seqrelid = c.seq) THEN 'has a sequence that cycles, whose values are no ids: not changed.'
                    WHEN sharing.columns <> '' THEN
                        format('shares its sequence with columns that would not hold its values after the way back: not changed. '
                               'First make them bigint with the default nextval, or give them another sequence: %s.', sharing.columns)
               END AS why_not
    FROM c LEFT JOIN shardid_admin.integer_referrers(columns) narrow USING (rel, num) LEFT JOIN strange USING (rel) LEFT JOIN sharing USING (seq)
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
          AND q.refobjsubid = c.num AND w.ev_class <> c.rel) v (views))
    -- The columns of an identity change together.
    SELECT jsonb_agg(to_jsonb(r) || jsonb_build_object('why_not', COALESCE(r.why_not,
               (SELECT format('shares its identity with %s, which stays: not changed.', min(o.name || '.' || o.col)) FROM reasons o
                WHERE o.seq = r.seq AND o.why_not <> '' AND o.identity <> '' AND r.identity <> '' HAVING count(*) > 0))))
    FROM reasons r);
END
$$;

-- The comments of id_migration_commands on the columns that change.
CREATE OR REPLACE FUNCTION shardid_admin.notes_of_change(columns pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
#variable_conflict use_column
DECLARE
    ids CONSTANT text := shardid_admin.ids_schema();
    a_mark CONSTANT oid := shardid_admin.a_mark();
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
        WHERE s.nspname NOT IN ('pg_catalog', 'information_schema', 'shardid_admin') AND p.prokind <> 'a' AND EXISTS (SELECT FROM changed)
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
        FROM (SELECT DISTINCT rel, name FROM changed) k JOIN pg_class c ON c.oid = k.rel JOIN pg_namespace s ON s.oid = c.relnamespace
        JOIN pg_publication_tables x ON x.tablename = c.relname AND x.schemaname = s.nspname
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

-- The comments of id_migration_commands on columns whose numbers come from elsewhere than their default and a sequence.
CREATE OR REPLACE FUNCTION shardid_admin.notes_of_others(of_schema pg_catalog.oid)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    RETURN QUERY
    WITH callers AS MATERIALIZED (
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace <> 'pg_catalog'::regnamespace AND COALESCE(pg_get_function_sqlbody(p.oid), p.prosrc) ~* '\mnextval\M'),
    relations AS (
        SELECT c.* FROM pg_class c
        WHERE c.relnamespace = of_schema AND c.relkind IN ('r', 'p', 'f', 'v') AND c.relpersistence <> 't'
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.oid AND q.deptype = 'e')),
    notes (object, note) AS (
        SELECT format('%s.%I', c.oid::regclass, a.attname),
               format('gets its numbers from %s: not changed. The default is %s.',
                      CASE WHEN d.oid IS NULL THEN format('domain %s', t.oid::regtype) WHEN c.relkind = 'v' THEN 'the view' ELSE 'a function' END, e.text)
        FROM relations c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attidentity = '' AND a.attgenerated = ''
        JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        CROSS JOIN LATERAL (SELECT COALESCE(d.tableoid, t.tableoid) AS class, COALESCE(d.oid, t.oid) AS oid,
                                   COALESCE(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(t.typdefaultbin, 0)) AS text) e
        WHERE CASE WHEN e.text ~ '\mnextval\(' THEN (d.oid IS NULL) <> (c.relkind = 'v')
              ELSE EXISTS (SELECT FROM pg_depend q JOIN callers ON callers.oid = q.refobjid
                           WHERE q.classid = e.class AND q.objid = e.oid AND q.refclassid = 'pg_proc'::regclass) END
        UNION ALL
        -- Those for INSERT, of a row, before it or instead of it.
        SELECT pg_describe_object(t.tableoid, t.oid, 0), format('fills columns with numbers of nextval: not changed. It calls %s.', t.tgfoid::regprocedure)
        FROM relations c JOIN pg_trigger t ON t.tgrelid = c.oid JOIN callers ON callers.oid = t.tgfoid
        WHERE t.tgparentid = 0 AND t.tgtype & 5 = 5 AND t.tgtype & 66 <> 0)
    SELECT '-- ' || translate(object || ' ' || note, E'\n\r', '  ') FROM notes ORDER BY object;
END
$$;

-- The roles with INSERT on each of these tables, and on those of the schema that have the new default, with its generator. Also
-- through views and rules.
CREATE OR REPLACE FUNCTION shardid_admin.inserters(columns pg_catalog.jsonb, of_schema pg_catalog.oid, of_function pg_catalog.oid, one_generator pg_catalog.oid)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me CONSTANT oid := quote_ident(current_user)::regrole;
    shared CONSTANT oid := shardid_admin.default_generator();
BEGIN
    RETURN (SELECT COALESCE(jsonb_agg(to_jsonb(w)), '[]') FROM (
        WITH RECURSIVE insertable (rel, generator, through, privilege) AS (
            (SELECT k.rel, one_generator, k.rel, 'INSERT' FROM jsonb_to_recordset(columns) k (rel oid, why_not text) WHERE k.why_not IS NULL
             UNION
             SELECT c.oid, COALESCE((SELECT q.refobjid FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid
                                     WHERE q.classid = e.class AND q.objid = e.oid AND q.refclassid = 'pg_class'::regclass LIMIT 1),
                                    CASE WHEN of_function IS NULL THEN shared ELSE one_generator END), c.oid, 'INSERT'
             FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attgenerated = ''
             JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
             CROSS JOIN LATERAL (SELECT COALESCE(d.tableoid, t.tableoid) AS class, COALESCE(d.oid, t.oid) AS oid) e
             JOIN pg_depend f ON f.classid = e.class AND f.objid = e.oid AND f.refclassid = 'pg_proc'::regclass
             JOIN pg_proc p ON p.oid = f.refobjid
             WHERE c.relnamespace = of_schema AND c.relowner = me AND (d.oid IS NOT NULL OR t.typowner = me) AND CASE WHEN of_function IS NULL THEN
                 p.proname = 'next_id' AND p.pronamespace::regnamespace::text = shardid_admin.ids_schema() ELSE p.oid = of_function END)
            UNION
            -- A view of a role that cannot insert itself leads nobody's rows to the table.
            SELECT i.rel, i.generator, w.ev_class, CASE w.ev_type WHEN '1' THEN i.privilege WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END
            FROM insertable i JOIN pg_depend q ON q.refclassid = 'pg_class'::regclass AND q.refobjid = i.through
            JOIN pg_rewrite w ON q.classid = 'pg_rewrite'::regclass AND w.oid = q.objid
            JOIN pg_class v ON v.oid = w.ev_class AND (has_table_privilege(v.relowner, i.through, i.privilege)
                OR i.privilege <> 'DELETE' AND has_any_column_privilege(v.relowner, i.through, NULLIF(i.privilege, 'DELETE'))))
        SELECT DISTINCT x.rel, x.generator, CASE x.role WHEN 0 THEN 'public' ELSE pg_get_userbyid(x.role) END AS name,
               CASE x.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.role)) END AS quoted
        FROM (SELECT i.rel, i.generator, x.grantee FROM insertable i JOIN pg_class c ON c.oid = i.through,
                  aclexplode(COALESCE(c.relacl, acldefault('r', c.relowner))) x WHERE x.privilege_type = i.privilege
              UNION
              SELECT i.rel, i.generator, x.grantee FROM insertable i JOIN pg_attribute a ON a.attrelid = i.through, aclexplode(a.attacl) x
              WHERE x.privilege_type = i.privilege
              UNION
              SELECT i.rel, i.generator, m.roleid FROM insertable i, pg_auth_members m WHERE m.roleid = 'pg_write_all_data'::regrole
             ) x (rel, generator, role)) w);
END
$$;

-- The GRANTs that roles with INSERT lack for the new default.
CREATE OR REPLACE FUNCTION shardid_admin.missing_grants(of_function pg_catalog.oid, inserters pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
#variable_conflict use_column
DECLARE
    as_caller CONSTANT boolean := NOT COALESCE((SELECT p.prosecdef FROM pg_proc p WHERE p.oid = of_function), false);
    -- What no dependency shows: a function in PL/pgSQL uses what it names.
    its_text CONSTANT text := (SELECT p.prosrc FROM pg_proc p WHERE p.oid = of_function AND p.prosqlbody IS NULL AND NOT p.prosecdef);
    ids CONSTANT text := shardid_admin.ids_schema();
    a_mark CONSTANT oid := shardid_admin.a_mark();
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
        SELECT c.oid, c.relkind FROM pg_depend q JOIN pg_class c ON c.oid = q.refobjid
        WHERE q.classid = 'pg_proc'::regclass AND q.objid = of_function AND as_caller AND q.refclassid = 'pg_class'::regclass
          AND c.relkind IN ('S', 'r', 'p', 'v', 'm')
        UNION
        SELECT oid, relkind FROM read),
    needed AS (
        SELECT n.name, n.quoted, o.oid, o.relkind FROM named n, objects o
        UNION
        SELECT w.name, w.quoted, c.oid, c.relkind FROM jsonb_to_recordset(inserters) w (generator oid, name text, quoted text)
        JOIN pg_class c ON c.oid = w.generator AND as_caller),
    homes (oid) AS (    -- schemas, which are looked up by name at each call
        SELECT home FROM called UNION SELECT home FROM read),
    missing AS (
        SELECT n.quoted, format('GRANT USAGE ON SCHEMA %s TO %s', h.oid::regnamespace, n.quoted) AS command,
               has_schema_privilege(h.oid, 'USAGE WITH GRANT OPTION') AS is_grantable
        FROM named n, homes h WHERE NOT has_schema_privilege(n.name, h.oid, 'USAGE')
        UNION ALL
        SELECT n.quoted, format('GRANT %s ON SEQUENCE %s TO %s', rights, n.oid::regclass, n.quoted),
               has_sequence_privilege(n.oid, 'USAGE WITH GRANT OPTION')
        FROM needed n
        WHERE CASE WHEN n.relkind = 'S' THEN NOT has_sequence_privilege(n.name, n.oid, 'USAGE')
                                             OR a_mark IS NOT NULL AND NOT has_sequence_privilege(n.name, n.oid, 'UPDATE') END
        UNION ALL
        SELECT n.quoted, format('GRANT SELECT ON %s TO %s', n.oid::regclass, n.quoted), has_table_privilege(n.oid, 'SELECT WITH GRANT OPTION')
        FROM needed n WHERE CASE WHEN n.relkind <> 'S' THEN NOT has_table_privilege(n.name, n.oid, 'SELECT') END
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

-- The columns that change, grouped by sequence, since those of one sequence change together.
CREATE OR REPLACE FUNCTION shardid_admin.columns_by_sequence(columns pg_catalog.jsonb, inserters pg_catalog.jsonb)
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
               -- Less than deadlock_timeout: in a deadlock this gives way, and the application is not refused. No longer than the session's.
               format('SET LOCAL lock_timeout = %L;', LEAST(CASE WHEN k.n = 1 THEN 3000 ELSE 900 END,
                      (SELECT NULLIF(setting::int, 0) FROM pg_settings WHERE name = 'lock_timeout')) || 'ms') AS timeout,
               format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;',
                      string_agg(CASE WHEN k.identity = '' THEN 'ONLY ' ELSE '' END || k.name, ', ' ORDER BY NOT k.is_parted, k.name)
                          FILTER (WHERE NOT k.of_parent)) AS locking,
               format(CASE WHEN k.n = 1 THEN '%s' ELSE '(%s) highest (id)' END,
                      string_agg(format(CASE WHEN k.n = 1 THEN '%2$s' ELSE 'SELECT %1$s FROM %2$s' END, k.col, k.name), ' UNION ALL '
                                 ORDER BY k.name) FILTER (WHERE NOT k.of_parent)) AS source
        FROM k LEFT JOIN granted USING (seq) GROUP BY k.seq, k.n, granted.grantees ORDER BY min(k.name), k.seq) u;
END
$$;

-- The commands of id_migration_commands for the columns of a sequence.
CREATE OR REPLACE FUNCTION shardid_admin.change_commands(
    of_sequence pg_catalog.jsonb, u_generator pg_catalog.text, own_generator boolean, layout pg_catalog.text, default_call pg_catalog.text,
    soon bigint)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    u record;
    highest bigint;
    ids CONSTANT text := shardid_admin.ids_schema();
    rights CONSTANT text := CASE WHEN shardid_admin.a_mark() IS NULL THEN 'USAGE' ELSE 'USAGE, UPDATE' END;
    new_id CONSTANT text := format(default_call, u_generator);
    id CONSTANT text := CASE WHEN (of_sequence ->> 'n')::int = 1 THEN of_sequence ->> 'col' ELSE 'id' END;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (grantees text[], columns jsonb, timeout text, locking text, source text);
    EXECUTE format('SELECT max(%s) FROM %s', id, u.source) INTO highest;
    RETURN concat_ws(E'\n',
        -- It belongs to no column: clients call setval on the sequence that pg_get_serial_sequence returns.
        CASE WHEN own_generator THEN format('CREATE SEQUENCE %s;', u_generator) END,
        CASE WHEN own_generator THEN
            (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s;', rights, u_generator, g), E'\n' ORDER BY g) FROM unnest(u.grantees) g) END,
        -- Without a shard this fails as next_id does: now, and not at the first INSERT.
        format('DO %L;', format($try$BEGIN IF %s IS NULL THEN RAISE 'the new default generates no id' USING ERRCODE = '55000'; END IF; END$try$, new_id)),
        u.timeout, u.locking,
        CASE WHEN highest >= soon THEN format('SELECT %s.raise_generator(%s) FROM %s;', ids,
            concat_ws(', ', quote_literal(u_generator), format('pg_catalog.max(%s)', id), layout), u.source) END,
        (SELECT string_agg(concat_ws(E'\n',
             CASE WHEN k.identity <> '' AND NOT k.of_parent THEN format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', k.name, k.col) END,
             format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', k.name, k.col, new_id)), E'\n' ORDER BY k.of_parent, NOT k.is_parted, k.name)
         FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, of_parent bool, is_parted bool)));
END
$$;

-- The commands that restore the privileges of a sequence that is created anew.
CREATE OR REPLACE FUNCTION shardid_admin.sequence_rights(sequence pg_catalog.regclass)
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
         FROM aclexplode(c.relacl) x WHERE x.grantee <> c.relowner),
        -- Without UPDATE the owner cannot call setval either.
        (SELECT format('REVOKE %s ON SEQUENCE %s FROM %I;', string_agg(p, ', '), sequence, pg_get_userbyid(c.relowner))
         FROM unnest(ARRAY['SELECT', 'UPDATE', 'USAGE']) p
         WHERE p NOT IN (SELECT x.privilege_type FROM aclexplode(COALESCE(c.relacl, acldefault('s', c.relowner))) x WHERE x.grantee = c.relowner)
         HAVING count(*) > 0));
END
$$;

-- The commands that restore the columns of a sequence as they are now.
CREATE OR REPLACE FUNCTION shardid_admin.back_commands(of_sequence pg_catalog.jsonb, u_generator pg_catalog.text, own_generator boolean, layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
#variable_conflict use_column
DECLARE
    u record;
    r record;
    rights text;
    locks text;
    changes text;
    saved text;
    commands text;
    tag text;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (seq oid, seq_name text, identity text, columns jsonb, col text, parent text, timeout text);
    SELECT q.*, CASE WHEN q.seqincrement < 0 THEN 'LEAST' ELSE 'GREATEST' END AS edge,
           CASE WHEN q.seqincrement < 0 THEN 'min' ELSE 'max' END AS furthest,
           q.seqincrement > 0 AND q.seqmax < 9223372036854775807 AS is_narrow,
           pg_sequence_last_value(u.seq::regclass) AS last,
           obj_description(c.oid, 'pg_class') AS comment INTO r
    FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid WHERE q.seqrelid = u.seq;
    rights := shardid_admin.sequence_rights(u.seq::regclass);
    SELECT string_agg(format('IF %L <> ALL (gone) THEN LOCK TABLE %s IN ACCESS EXCLUSIVE MODE; END IF;', k.name || '.' || k.col,
                             CASE WHEN k.identity = '' THEN 'ONLY ' ELSE '' END || k.name), E'\n' ORDER BY k.place) FILTER (WHERE NOT k.of_parent),
           -- Ids of rows that were deleted are not repeated either.
           string_agg(format(E'IF %L <> ALL (gone) THEN\n    highest := %s(highest, (SELECT pg_catalog.%s(%s) FROM %s));\n'
                             '    ALTER TABLE ONLY %5$s ALTER COLUMN %4$s %6$s;\nEND IF;', k.name || '.' || k.col, r.edge, r.furthest, k.col, k.name,
                             CASE WHEN k.identity <> '' THEN 'DROP DEFAULT'
                                  -- Its first string has all backslashes: one that reads alike in every session.
                                  WHEN strpos(k.expression, '\') = 0 THEN 'SET DEFAULT ' || k.expression
                                  ELSE 'SET DEFAULT ' || regexp_replace(replace(k.expression, '\', '\\'), '''', 'E''') END), E'\n' ORDER BY k.place),
           string_agg(format('(%L, %L, %L, %L)', k.name, k.col, k.expression, k.of_parent), E',\n         ' ORDER BY k.place)
    INTO locks, changes, saved
    FROM (SELECT k.*, row_number() OVER (ORDER BY NOT k.is_parted, k.name) AS place
          FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, of_parent bool, is_parted bool, expression text)) k;
    commands := concat_ws(E'\n', u.timeout, locks, changes,
        CASE WHEN u.identity <> '' THEN format(E'ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY\n'
            '    (SEQUENCE NAME %s START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s);',
            u.parent, u.col, CASE u.identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, u.seq_name, r.seqstart, r.seqincrement,
            r.seqmin, r.seqmax, r.seqcache) END,
        CASE WHEN r.seqincrement > 0 THEN
            format(E'highest := GREATEST(highest,\n'
                   '    (SELECT %1$s.id_lower_bound(s.last_ts + interval ''1 ms''%3$s) FROM %1$s.id_generator_status(%2$L%3$s) s));',
                   shardid_admin.ids_schema(), u_generator, ', ' || layout) END,
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
    -- Columns that have not changed keep their sequence as it is. What was dropped or renamed since does not keep the others from it.
    commands := format(E'DO $%1$s$\n#variable_conflict use_column\nDECLARE\n    highest bigint;\n    gone text[];\n    is_changed boolean;\nBEGIN\n'
                       -- Saved defaults name functions, types and operators of pg_catalog without it.
                       'PERFORM pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true),\n'
                       '    pg_catalog.set_config(''quote_all_identifiers'', ''off'', true),\n'
                       '    pg_catalog.set_config(''standard_conforming_strings'', ''on'', true);\n'
                       'SELECT COALESCE(array_agg(name || ''.'' || col) FILTER (WHERE attname IS NULL), ''{}''),\n'
                       '       bool_or((attidentity <> '''' OR pg_get_expr(adbin, adrelid) = expression) IS NOT TRUE)\n'
                       '           FILTER (WHERE attname IS NOT NULL AND NOT of_parent::boolean)\n'
                       'INTO gone, is_changed\n'
                       'FROM (VALUES\n         %3$s) c (name, col, expression, of_parent)\n'
                       'LEFT JOIN pg_attribute ON attrelid = to_regclass(name) AND quote_ident(attname) = col AND NOT attisdropped\n'
                       'LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum;\n'
                       'IF gone <> ''{}'' THEN\n    RAISE NOTICE ''columns that no longer exist are left out: %%'', array_to_string(gone, '', '');\nEND IF;\n'
                       'IF is_changed THEN\n%2$s\nEND IF;\nEND\n$%1$s$', tag, commands, saved);
    RETURN commands;
END
$$;

CREATE OR REPLACE FUNCTION shardid_admin.id_migration_commands(
    schema pg_catalog.regnamespace, back boolean DEFAULT false, generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    function pg_catalog.regprocedure DEFAULT NULL::pg_catalog.regprocedure,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz, shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC'
    SET standard_conforming_strings = on SET quote_all_identifiers = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
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
    IF schema IS NULL OR back IS NULL OR epoch IS NULL OR shard_bits IS NULL OR sequence_bits IS NULL THEN
        RETURN;
    END IF;
    PERFORM shardid_admin.refuse_superuser(format('Connect as "%s", or as a role without rights that is a member of it.', current_user));
    default_call := shardid_admin.new_default(function::oid, generator::oid, layout);
    IF NOT back THEN
        IF EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = generator AND d.refobjsubid > 0) THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('generator "%s" is owned by a column', generator),
                DETAIL = 'DROP TABLE would drop it, and many scripts set the sequences of columns to the highest id, which stops a generator.',
                HINT = format('Run ALTER SEQUENCE %s OWNED BY NONE, or pass another sequence.', generator);
        END IF;
        -- Ids below this are below all that are generated from now on, even if the clock steps back.
        soon := shardid_admin.first_id(greatest(epoch, clock_timestamp() - interval '30 days'), epoch, shard_bits, sequence_bits);
    END IF;

    columns := shardid_admin.unchanged_columns(shardid_admin.sequence_columns(schema::oid));
    IF NOT back THEN
        RETURN QUERY SELECT shardid_admin.notes_of_change(columns);
        RETURN QUERY SELECT shardid_admin.notes_of_others(schema::oid);
        inserters := shardid_admin.inserters(columns, schema::oid, function::oid, generator::oid);
        RETURN QUERY SELECT shardid_admin.missing_grants(function::oid, inserters);
    END IF;

    -- The columns of one sequence change together: in one row, which is one transaction.
    FOR u IN
        SELECT s.of_sequence, r.* FROM shardid_admin.columns_by_sequence(columns, inserters) WITH ORDINALITY s (of_sequence, place),
               jsonb_to_record(s.of_sequence) r (seq oid) ORDER BY s.place
    LOOP
        u_generator := COALESCE(generator::text, (
            SELECT format('%s.%I', c.relnamespace::regnamespace,
                          CASE WHEN octet_length(c.relname) > 53 THEN md5(c.relname) ELSE c.relname END || '_generator')
            FROM pg_class c WHERE c.oid = u.seq));
        IF back THEN
            RETURN NEXT shardid_admin.back_commands(u.of_sequence, u_generator, generator IS NULL, layout);
        ELSE
            RETURN NEXT shardid_admin.change_commands(u.of_sequence, u_generator, generator IS NULL, layout, default_call, soon);
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

COMMENT ON FUNCTION shardid_admin.id_migration_commands(pg_catalog.regnamespace, boolean, pg_catalog.regclass, pg_catalog.regprocedure,
                                          pg_catalog.timestamptz, int, int) IS
'the commands that make next_id the default of a schema''s columns instead of their sequences, or those that undo it';

-- Default privileges may have given or taken rights on what is new: it gets those that it has without them.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
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
        WHERE o.acl IS NOT NULL AND o.schema = 'shardid_admin'::regnamespace AND o.objid <> ALL (current_setting('shardid_portable.before')::oid[])
        UNION ALL SELECT format('COMMENT ON ROUTINE %s IS ''used by shardid_admin itself''', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'shardid_admin'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
    LOOP
        EXECUTE change;
    END LOOP;
    -- All of it runs with the rights of its caller.
    IF 'shardid_admin'::regnamespace::oid <> ALL (current_setting('shardid_portable.before')::oid[]) THEN
        GRANT USAGE ON SCHEMA shardid_admin TO PUBLIC;
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;
