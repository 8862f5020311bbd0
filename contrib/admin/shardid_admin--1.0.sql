-- Partitions by time on a bigint id: see docs/partitioning.md. The extension has what follows the line "Also in the
-- extension", by the Makefile. For the SQL-only version load it after contrib/portable/shardid.sql, as the same role:
--
--     psql -f contrib/portable/shardid.sql -f contrib/portable/partitions.sql
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;

DO $$
DECLARE
    bound pg_catalog.pg_proc;
BEGIN
    SELECT p.* INTO bound FROM pg_catalog.pg_proc p
    WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure(pg_catalog.quote_ident(pg_catalog.current_schema())
          OPERATOR(pg_catalog.||) '.id_lower_bound(pg_catalog.timestamptz, pg_catalog.timestamptz, int, int)');
    IF bound.oid IS NULL THEN
        RAISE undefined_function USING
            MESSAGE = pg_catalog.format('schema %I has no portable functions', pg_catalog.current_schema()),
            HINT = 'Load contrib/portable/shardid.sql first.';
    ELSIF bound.proowner
          OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(current_user)::pg_catalog.regrole::pg_catalog.oid THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('must be owner of the portable functions in schema %I',
                                        pg_catalog.current_schema()),
            HINT = pg_catalog.format('Run this as %s.', bound.proowner::pg_catalog.regrole);
    END IF;
    PERFORM pg_catalog.set_config('client_min_messages', 'warning', true);
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('%I, pg_temp', pg_catalog.current_schema()), true);
END
$$;

-- Also in the extension.

-- Partitions by time on an id.
--
-- What depends on a table runs code of its owner's: planning computes constants in the expressions of its indexes, and so does ATTACH.
-- So nobody but the owner may ask for these commands.
--
-- The last argument tells where the functions are, wherever search_path leads: id_lower_bound, id_timestamp, and, for the procedure
-- below, this one. They are called by name, but with arguments of just their types, so that no other function of that name is meant.
--
-- A row without a command and without a step is an obstacle.

CREATE OR REPLACE FUNCTION shardid_partition_steps(
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

CREATE OR REPLACE FUNCTION id_partition_commands(
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
CREATE OR REPLACE PROCEDURE maintain_id_partitions(
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

-- Not in the extension. A transaction that created something before CREATE was revoked may have ended after this began.
-- What is above may have found that, wherever it has been moved since then.
DO $$
DECLARE
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    other pg_catalog.text;
BEGIN
    SELECT pg_catalog.pg_describe_object(o.classid, o.objid, 0) INTO other
    FROM (SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.proowner
          FROM pg_catalog.pg_proc p
          WHERE p.pronamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.oprowner
          FROM pg_catalog.pg_operator p
          WHERE p.oprnamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          -- What this transaction has made uses it.
          SELECT d.refclassid, d.refobjid, COALESCE(p.proowner, q.oprowner, t.typowner, c.relowner)
          FROM pg_catalog.pg_depend d
          LEFT JOIN pg_catalog.pg_proc p
              ON d.refclassid OPERATOR(pg_catalog.=) p.tableoid AND d.refobjid OPERATOR(pg_catalog.=) p.oid
          LEFT JOIN pg_catalog.pg_operator q
              ON d.refclassid OPERATOR(pg_catalog.=) q.tableoid AND d.refobjid OPERATOR(pg_catalog.=) q.oid
          LEFT JOIN pg_catalog.pg_type t
              ON d.refclassid OPERATOR(pg_catalog.=) t.tableoid AND d.refobjid OPERATOR(pg_catalog.=) t.oid
          LEFT JOIN pg_catalog.pg_class c
              ON d.refclassid OPERATOR(pg_catalog.=) c.tableoid AND d.refobjid OPERATOR(pg_catalog.=) c.oid
          WHERE d.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid
         ) o (classid, objid, owner)
    WHERE o.owner OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(current_user)::pg_catalog.regrole::pg_catalog.oid
      AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('another role has created %s', other), HINT = 'Use another schema, or drop it.';
    END IF;
END
$$;

COMMIT;
