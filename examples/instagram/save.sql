-- Saves Instagram's function of each schema, for switch.sql and back.sql. See "From Instagram's PL/pgSQL function" in
-- examples/instagram/README.md.
--
--     psql -d shop [-v function=next_id] [-v tables=photos,likes] -f examples/instagram/save.sql
--
-- Variables: the name of the function, and the tables in the order in which transactions write them.
\set ON_ERROR_STOP on
BEGIN;
CREATE SCHEMA before_ids;
\ir begin.sql
\if :{?function} \else \set function next_id \endif
\if :{?tables} \else \set tables '' \endif
-- Default privileges may have opened it: back.sql runs what is stored there.
SELECT format('REVOKE ALL ON SCHEMA before_ids FROM %s', COALESCE(quote_ident(rolname), 'PUBLIC'))
FROM pg_namespace, aclexplode(nspacl) LEFT JOIN pg_roles r ON r.oid = grantee WHERE nspname = 'before_ids' AND grantee <> nspowner \gexec

-- The one text that the pattern finds, or NULL: there is none, or there are several.
CREATE FUNCTION before_ids.only(body text, pattern text) RETURNS text LANGUAGE sql
RETURN (SELECT CASE count(DISTINCT m[1]) WHEN 1 THEN min(m[1]) END FROM regexp_matches(body, pattern, 'gi') m);

-- The body that switch.sql writes.
CREATE FUNCTION before_ids.is_switched(body text) RETURNS boolean LANGUAGE sql
RETURN body ~ '^BEGIN (RETURN|.* :=) ids\.next_id\(';

CREATE TABLE before_ids.old_functions AS
SELECT nspname AS schema, before_ids.only(body, 'shard_id' || variable)::bigint AS shard,
       to_timestamp(before_ids.only(body, 'epoch' || variable)::numeric / 1000) AS epoch,
       CASE WHEN is_read THEN shifts[2] - shifts[1] END AS shard_bits, CASE WHEN is_read THEN shifts[1] END AS sequence_bits,
       (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class
        WHERE oid = to_regclass(CASE WHEN name LIKE '%.%' THEN name ELSE format('%I.%s', nspname, name) END)) AS generator,
       (SELECT format('%s.%I', refobjid::regclass, attname)
        FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
        WHERE classid = 'pg_class'::regclass AND deptype = 'a'
          AND objid = to_regclass(CASE WHEN name LIKE '%.%' THEN name ELSE format('%I.%s', nspname, name) END)) AS owned_by,
       proname AS function, proargnames[1] AS result, pg_get_functiondef(p.oid) AS definition, :'tables' AS in_order
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace,
     (VALUES ('\s+(?:constant\s+)?(?:int|integer|bigint|smallint|int[248])\s*(?::=|=|default)\s*(\d{1,13})\s*;')) v (variable),
     regexp_replace(prosrc, '--[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/', ' ', 'g') body,
     before_ids.only(body, 'nextval\(\s*''([^'']+)') name,
     LATERAL (SELECT array_agg(DISTINCT m[1]::int) FROM regexp_matches(body, '<<\s*(\d{1,2})\y', 'g') m) s (shifts),
     -- Sequence numbers that need more bits would change the shard.
     LATERAL (SELECT cardinality(shifts) = 2 AND COALESCE(before_ids.only(body, '%+\s*(\d+)')::numeric,
                         before_ids.only(body, '&\s*(\d+)')::numeric + 1) <= 2 ^ shifts[1]::numeric) r (is_read)
WHERE proname = :'function' AND pronargs = 0 AND nspname <> 'ids' AND body LIKE '%nextval%' AND pg_get_userbyid(proowner) = current_user;

-- The columns of now: a table that was dropped since is left out, and one that was renamed or created since is in it. After the
-- switch they are found by their generator. Other roles can write its name into a default, too.
CREATE VIEW before_ids.old_columns AS
SELECT schema, format('%s.%I', relnamespace::regnamespace, relname) AS relation, attname AS "column",
       row_number() OVER (PARTITION BY schema
           ORDER BY array_position(string_to_array(in_order, ','), relname::text), relname, attnum) AS place
FROM before_ids.old_functions CROSS JOIN LATERAL (
         VALUES ('pg_proc'::regclass, to_regprocedure(format('%I.%I()', schema, function))::oid),
                ('pg_class'::regclass, to_regclass(generator)::oid)) used (class, oid)
    JOIN pg_depend d ON d.refclassid = used.class AND d.refobjid = used.oid AND d.classid = 'pg_attrdef'::regclass
    JOIN pg_attrdef a ON a.oid = d.objid JOIN pg_class c ON c.oid = adrelid AND relkind IN ('r', 'p') AND relpersistence <> 't'
    JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
WHERE used.class = 'pg_proc'::regclass
   OR pg_get_userbyid(relowner) = current_user AND starts_with(pg_get_expr(adbin, adrelid), 'ids.next_id(');

-- Epoch and widths, as all calls of this schema pass them.
CREATE FUNCTION before_ids.layout(of_schema name) RETURNS text LANGUAGE sql
    SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC'
RETURN (SELECT format('%L', epoch) || CASE WHEN (shard_bits, sequence_bits) = (13, 10) THEN '' ELSE format(', %s, %s', shard_bits, sequence_bits) END
        FROM before_ids.old_functions WHERE schema = of_schema);

-- Refuses what belongs to another role, which could have created it since: also parts and heirs of a table.
CREATE PROCEDURE before_ids.check_owner(of_schema name) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    o before_ids.old_functions := (SELECT f FROM before_ids.old_functions f WHERE schema = of_schema);
    other record;
BEGIN
    WITH RECURSIVE family (oid) AS (
        SELECT relation::regclass::oid FROM before_ids.old_columns WHERE schema = of_schema
        UNION
        SELECT inhrelid FROM family JOIN pg_inherits ON inhparent = oid)
    SELECT * INTO other FROM (
        SELECT 'pg_proc'::regclass, p.oid, proowner FROM pg_proc p WHERE p.oid = to_regprocedure(format('%I.%I()', o.schema, o.function))
        UNION ALL
        SELECT 'pg_class'::regclass, c.oid, relowner FROM pg_class c WHERE c.oid = o.generator::regclass OR c.oid IN (SELECT oid FROM family)
    ) used (class, oid, owner)
    WHERE pg_get_userbyid(owner) <> current_user LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', pg_describe_object(other.class, other.oid, 0)),
            DETAIL = format('Its owner is "%s", and the current user is "%s".', pg_get_userbyid(other.owner), current_user),
            HINT = 'Let one role be the owner of function, sequence and tables, and connect as this role.';
    END IF;
END $$;

-- Compares what was read from the function's body with an id that it generates now, and with the highest id of the tables.
CREATE PROCEDURE before_ids.check_layout(of_schema name) LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' SET row_security = off AS $$
DECLARE
    o before_ids.old_functions := (SELECT f FROM before_ids.old_functions f WHERE schema = of_schema);
    new bigint;
    highest bigint;
    wrong record;
BEGIN
    IF num_nulls(o.shard, o.epoch, o.shard_bits, o.sequence_bits, o.generator) > 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the layout of %I.%I() is not known', o.schema, o.function),
            HINT = 'Store shard, epoch, shard_bits, sequence_bits and generator by UPDATE of before_ids.old_functions.';
    END IF;
    EXECUTE format('SELECT %I.%I()', o.schema, o.function) INTO STRICT new;
    EXECUTE (SELECT format('SELECT max(id) FROM (%s) ids (id)', COALESCE(string_agg(
                 format('SELECT max(%I) FROM %s', "column", relation), ' UNION ALL '), 'VALUES (NULL::bigint)'))
             FROM before_ids.old_columns WHERE schema = of_schema) INTO highest;
    SELECT * INTO wrong
    FROM (VALUES ('new', new, interval '1 minute'), ('highest', highest, '1 day')) i (kind, id, at_most),
         ids.id_shard(id, o.shard_bits, o.sequence_bits) shard,
         ids.id_timestamp(id, o.epoch, o.shard_bits, o.sequence_bits) time
    WHERE shard <> o.shard OR time > clock_timestamp() + at_most
       OR kind = 'new' AND time < clock_timestamp() - at_most LIMIT 1;
    IF FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('ids of %I.%I() have another layout', o.schema, o.function),
            DETAIL = format('With shard %s and the layout %s, the %s id %s contains shard %s and the time %s.',
                            o.shard, before_ids.layout(of_schema), wrong.kind, wrong.id, wrong.shard, wrong.time),
            HINT = 'Correct shard, epoch, shard_bits and sequence_bits by UPDATE of before_ids.old_functions.';
    END IF;
END $$;

-- Waits until the clock is later than all ids, but no longer than this.
CREATE PROCEDURE before_ids.wait_for_clock(of_schema name, at_most interval) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text := (SELECT generator FROM before_ids.old_functions WHERE schema = of_schema);
    status text := format('SELECT lead FROM ids.id_generator_status(%L, %s)', name, before_ids.layout(of_schema));
    lead interval;
BEGIN
    EXECUTE status INTO lead;
    PERFORM pg_sleep(extract(epoch FROM least(lead + interval '1 ms', at_most)));
    EXECUTE status INTO lead;
    IF (lead < '0') IS NOT TRUE AND at_most IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('generator "%s" is ahead of the clock', name),
            DETAIL = format('It is ahead by %s.', lead), HINT = 'Run this again.';
    END IF;
END $$;

-- What is wrong, as text.
CREATE FUNCTION before_ids.problem(of_schema name) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    detail text;
BEGIN
    CALL before_ids.check_owner(of_schema);
    CALL before_ids.check_layout(of_schema);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws('. ', SQLERRM, NULLIF(detail, ''));
END $$;

-- The end of switch.sql and back.sql.
CREATE PROCEDURE before_ids.check_all(are_switched boolean) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    others text := (SELECT string_agg(schema, ', ' ORDER BY schema)
                    FROM before_ids.old_functions JOIN pg_proc p ON p.oid = to_regprocedure(format('%I.%I()', schema, function))
                    WHERE before_ids.is_switched(prosrc) <> are_switched);
BEGIN
    IF others IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'not all schemas have changed',
            DETAIL = format('These are as before: %s.', others), HINT = 'Run this again.';
    END IF;
END $$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM before_ids.old_functions) THEN
        RAISE undefined_function USING MESSAGE = format('role "%s" owns no such function with a sequence', current_user),
            HINT = 'Connect as the owner of the functions, or pass -v function=NAME.';
    END IF;
END $$;
COMMIT;
SELECT schema, shard, epoch, shard_bits, sequence_bits, generator,
       (SELECT string_agg(format('%s.%I', relation, "column"), ', ' ORDER BY place) FROM before_ids.old_columns c
        WHERE c.schema = o.schema) AS columns, before_ids.problem(schema)
FROM before_ids.old_functions o ORDER BY shard, schema;
