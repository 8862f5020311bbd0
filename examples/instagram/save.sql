-- Saves Instagram's function of each schema, for switch.sql and back.sql. See "From Instagram's PL/pgSQL function" in
-- docs/migrating-ids.md.
--
--     psql -d shop [-v function=next_id] [-v tables=photos,likes] -f examples/instagram/save.sql
--
-- Variables: the name of the function, and the tables in the order in which transactions write them.
\set QUIET on
\set ON_ERROR_STOP on
SET search_path = pg_catalog;
\if :{?function} \else \set function next_id \endif
\if :{?tables} \else \set tables '' \endif
BEGIN;
CREATE SCHEMA before_ids;
CREATE TABLE before_ids.old_functions AS
SELECT nspname AS schema, substring(prosrc FROM 'shard_id\s+int\s*:=\s*(\d+)')::int AS shard,
       to_timestamp(substring(prosrc FROM 'epoch\s+bigint\s*:=\s*(\d+)')::bigint / 1000.0) AT TIME ZONE 'UTC' || '+00'
           AS epoch,
       (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class
        WHERE oid = to_regclass(CASE WHEN name LIKE '%.%' THEN name ELSE format('%I.%s', nspname, name) END)) AS generator,
       (SELECT format('%s.%I', refobjid::regclass, attname)
        FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
        WHERE classid = 'pg_class'::regclass AND deptype = 'a'
          AND objid = to_regclass(CASE WHEN name LIKE '%.%' THEN name ELSE format('%I.%s', nspname, name) END)) AS owned_by,
       proname AS function, proargnames[1] AS result, pg_get_functiondef(p.oid) AS definition
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace, substring(prosrc FROM 'nextval\(\s*''([^'']+)') name
WHERE proname = :'function' AND name IS NOT NULL AND nspname <> 'ids'
  AND NOT EXISTS (    -- of a stranger, whose function only names the sequence
      SELECT FROM pg_class WHERE oid = to_regclass(CASE WHEN name LIKE '%.%' THEN name ELSE format('%I.%s', nspname, name) END)
          AND relkind = 'S' AND NOT has_sequence_privilege(proowner, oid, 'USAGE'));

CREATE TABLE before_ids.old_columns AS
SELECT n.nspname AS schema, format('%s.%I', relnamespace::regnamespace, relname) AS relation, attname AS "column",
       row_number() OVER (PARTITION BY n.nspname
           ORDER BY array_position(string_to_array(:'tables', ','), relname::text), relname, attnum) AS place
FROM before_ids.old_functions o JOIN pg_namespace n ON n.nspname = schema JOIN pg_proc p ON pronamespace = n.oid AND proname = function
    JOIN pg_depend d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid AND d.classid = 'pg_attrdef'::regclass
    JOIN pg_attrdef a ON a.oid = d.objid JOIN pg_class c ON c.oid = adrelid AND relkind IN ('r', 'p')
    JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum;
COMMIT;
SELECT schema, shard, epoch, generator,
       (SELECT string_agg(format('%s.%I', relation, "column"), ', ' ORDER BY place) FROM before_ids.old_columns c
        WHERE c.schema = o.schema) AS columns
FROM before_ids.old_functions o ORDER BY shard;
