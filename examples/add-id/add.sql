-- Adds an id column to a table that is in use: a generated id for each new row, and for each old row an id that carries
-- its time. See "Add an id column" in docs/migrating.md, which has the locks of each step.
--
--     psql -d shop -v table=orders -v time=created_at -v key=order_no -f examples/add-id/add.sql
--
-- It can be interrupted. Run again, it continues. Further variables:
--   key        columns with a unique index, as in order_no or order_no,line
--   column     the name of the new column: id
--   function   its default: ids.new_id(), or ids.next_id() if there is no such function
--   shard      the shard in the ids of old rows, which no generator may use: that of the database + 4096
--   batch      rows per transaction of the fill: 5000
--   pause      seconds after each of them: 0.05
--   triggers   "run" to run the table's triggers for each row of the fill
--   swap       "no" if the column is not going to be swapped with a column id that foreign keys reference
\set ON_ERROR_STOP on
\ir table.sql
\if :{?time} \else \set time '' \endif
\if :{?key} \else \set key '' \endif
\if :{?column} \else \set column id \endif
\if :{?function}
\else
SELECT CASE WHEN to_regprocedure('ids.new_id()') IS NULL THEN 'ids.next_id()' ELSE 'ids.new_id()' END AS function \gset
\endif
\if :{?shard} \else \set shard '' \endif
\if :{?batch} \else \set batch 5000 \endif
\if :{?pause} \else \set pause 0.05 \endif
\if :{?triggers} \else \set triggers '' \endif
\if :{?swap} \else \set swap '' \endif
SET statement_timeout = 0;
SET application_name = 'add_id';
SELECT set_config('add_id.' || name, value, false)
FROM (VALUES ('time', :'time'), ('key', :'key'), ('column', :'column'), ('function', :'function'), ('shard', :'shard'),
      ('triggers', :'triggers'), ('swap', :'swap')) v (name, value) \g /dev/null

DO $$
DECLARE
    of_table regclass := current_setting('add_id.relation')::regclass;
    table_name text := current_setting('add_id.table');
    time_name name := current_setting('add_id.time');
    key_names name[] := regexp_split_to_array(current_setting('add_id.key'), '\s*,\s*');
    is_new bool := NOT EXISTS (SELECT FROM pg_temp.added_ids WHERE relation = of_table);
    own_shard int;
    old_shard int := NULLIF(current_setting('add_id.shard'), '');
    new_default text := current_setting('add_id.function');
    is_plain bool := new_default ~ '^[[:alnum:]_.]+[(][)]$';    -- a function and no arguments
    new_function regprocedure;      -- NULL if it has arguments, which have defaults
    calls text;
    found text;
    is_wrong bool;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = of_table) <> 'r' OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = of_table)
       OR EXISTS (SELECT FROM pg_rewrite WHERE ev_class = of_table AND ev_type = '2')
    THEN
        RAISE wrong_object_type USING MESSAGE = format('rows of "%s" cannot be filled with ids', table_name),
            DETAIL = 'It is not an ordinary table, or other tables inherit from it, or it has a rule for UPDATE.';
    END IF;
    IF row_security_active(of_table) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('row-level security of table "%s" can hide rows from role "%s"', table_name, current_user),
            DETAIL = 'Rows that it hides would get no id.',
            HINT = format('Run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY until the script has ended.', of_table);
    END IF;
    SELECT relname INTO found FROM pg_class c LEFT JOIN pg_index ON indexrelid = c.oid
    WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = of_table) AND (indrelid IS DISTINCT FROM of_table OR is_new)
      AND relname = ANY (ARRAY[current_setting('add_id.by_id'), current_setting('add_id.by_time'), current_setting('add_id.kept_key')]);
    IF found IS NOT NULL THEN
        RAISE duplicate_table USING MESSAGE = format('relation "%s" already exists', found),
            HINT = 'An index of these scripts needs this name: rename the other relation, and run add.sql again.';
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = of_table AND attname = time_name AND attnum > 0 AND atttypid = 'timestamptz'::regtype)
    THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('table "%s" has no column "%s" of type timestamp with time zone', table_name, time_name),
            HINT = 'Pass the column with the time of each row, as in -v time=created_at.';
    END IF;

    -- The key.
    IF NOT EXISTS (
        SELECT FROM pg_index
        WHERE indrelid = of_table AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL AND indnkeyatts = cardinality(key_names)
          AND indnkeyatts = (SELECT count(*) FROM pg_attribute
                             WHERE attrelid = indrelid AND attnum = ANY (indkey[0:indnkeyatts - 1]) AND attname = ANY (key_names)))
    THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('table "%s" has no unique index on exactly "%s"', table_name, array_to_string(key_names, '", "')),
            HINT = 'Pass the key, as in -v key=order_no, and if need be run CREATE UNIQUE INDEX CONCURRENTLY first.';
    END IF;
    EXECUTE (SELECT format('SELECT EXISTS (SELECT FROM %s WHERE %s)', of_table, COALESCE(string_agg(quote_ident(attname) || ' IS NULL', ' OR '), 'false'))
             FROM pg_attribute WHERE attrelid = of_table AND attname = ANY (key_names) AND NOT attnotnull) INTO is_wrong;
    IF is_wrong THEN
        RAISE not_null_violation USING MESSAGE = format('key of table "%s" contains NULL', table_name), HINT = 'Pass a key without NULL.';
    END IF;
    PERFORM set_config('add_id.key', key_names::text, false);

    -- The column.
    SELECT string_agg(format('"%s" of table %s', conname, conrelid::regclass), ', ') INTO found
    FROM pg_constraint JOIN pg_attribute ON attrelid = confrelid AND attnum = ANY (confkey)
    WHERE confrelid = of_table AND contype = 'f' AND attname = 'id' AND NOT EXISTS (
        SELECT FROM pg_temp.added_ids WHERE relation = of_table AND added = 'id');
    IF found IS NOT NULL AND current_setting('add_id.swap') <> 'no' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('column "id" of table "%s" is referenced by foreign keys', table_name),
            DETAIL = format('Rows that reference it would keep the old ids: %s.', found),
            HINT = 'Change the column itself by id_migration_commands. '
                'Or pass -v swap=no, if the new column stays next to it.';
    END IF;
    IF is_new AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = of_table AND attname = current_setting('add_id.column')) THEN
        RAISE duplicate_column USING MESSAGE = format('table "%s" already has a column "%s"', table_name, current_setting('add_id.column')),
            HINT = 'Pass another name, as in -v column=new_id, and swap the names afterwards by swap.sql.';
    END IF;

    -- What UPDATE runs.
    SELECT string_agg(tgname, ', ') INTO found FROM pg_trigger
    WHERE tgrelid = of_table AND NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgtype & 16 <> 0 AND tgattr::text = ''
      AND pg_get_triggerdef(oid) NOT LIKE '%''add_id''%';
    IF found IS NOT NULL AND current_setting('add_id.triggers') <> 'run' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('table "%s" has triggers that run for each row of the fill', table_name),
            DETAIL = format('The triggers are: %s.', found),
            HINT = 'Create them again with WHEN (current_setting(''application_name'') <> ''add_id''), '
                'or pass -v triggers=run.';
    END IF;

    -- The shard of old rows.
    IF is_new THEN
        -- Names in the default are found as in the caller's session.
        calls := format('SELECT ids.id_shard(%1$s), %2$s', new_default,
            CASE WHEN is_plain THEN format('pg_catalog.to_regprocedure(%L)', new_default) ELSE 'NULL' END);
        PERFORM set_config('search_path', current_setting('add_id.path'), true);
        EXECUTE calls INTO own_shard, new_function;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        old_shard := COALESCE(old_shard, CASE WHEN own_shard < 4096 THEN own_shard + 4096 END);
        IF old_shard IS NULL OR old_shard = own_shard OR old_shard NOT BETWEEN 0 AND 8191 THEN
            RAISE invalid_parameter_value USING MESSAGE = 'no shard for the ids of old rows',
                DETAIL = format('The shard of this database is %s.', COALESCE(own_shard::text, 'not set')),
                HINT = 'Store a shard below 4096 for this database, or pass one that no generator uses, as in -v shard=8000.';
        END IF;
        PERFORM set_config('add_id.shard', old_shard::text, false);
    END IF;

    -- What roles with INSERT lack for the default.
    IF is_new AND NOT is_plain THEN
        RAISE WARNING USING MESSAGE = format('GRANTs for the default %s are not checked, because it has arguments', new_default);
    ELSIF is_new THEN
        IF has_schema_privilege(to_regnamespace('shardid_admin')::oid, 'USAGE') IS NOT TRUE THEN
            RAISE insufficient_privilege USING MESSAGE = format('the GRANTs for table "%s" cannot be checked', table_name),
                DETAIL = format('Role "%s" needs USAGE on schema shardid_admin.', current_user),
                HINT = format('Run %s.', CASE WHEN to_regnamespace('shardid_admin') IS NULL THEN 'CREATE EXTENSION shardid_admin, or contrib/portable/admin.sql'
                                         ELSE format('GRANT USAGE ON SCHEMA shardid_admin TO %I', current_user) END);
        END IF;
        SELECT string_agg(command, '; ') INTO found
        FROM shardid_admin.missing_grants(new_function::oid, 'ids.shardid_seq'::regclass::oid,
            shardid_admin.inserters(jsonb_build_array(jsonb_build_object('rel', of_table::oid)))) command;
        IF found IS NOT NULL THEN
            RAISE insufficient_privilege USING
                MESSAGE = format('roles with INSERT on table "%s" lack rights for the new default', table_name),
                HINT = format('Run these commands first: %s.', found);
        END IF;
    END IF;
END
$$;

SELECT count(*) = 1 AS is_added FROM pg_temp.added_ids WHERE relation = :relation_oid \gset
\if :is_added
\else
\echo 1. the column, with the default for new rows
BEGIN;
SET LOCAL lock_timeout = '3s';
INSERT INTO pg_temp.added_ids (relation, added, shard, time_column, key_columns)
VALUES (:relation_oid, :'column', current_setting('add_id.shard')::int, :'time', current_setting('add_id.key')::name[]);
SELECT set_config('search_path', :'caller_path', true) \g /dev/null
ALTER TABLE :relation ADD COLUMN :"column" bigint, ALTER COLUMN :"column" SET DEFAULT :function;
COMMIT;
\endif
SELECT pg_temp.added_column() AS added \gset

SELECT shard, time_column AS time, attnotnull AS is_complete,
       (SELECT string_agg(quote_ident(k), ', ') FROM unnest(key_columns) k) AS key_list
FROM pg_temp.added_ids JOIN pg_attribute ON attrelid = relation AND attname = added WHERE relation = :relation_oid \gset
\if :is_complete
\else
\echo 2. an index for the order of the rows
SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS :"by_time" ON :relation (:"time", :key_list);

-- The columns of the key, and their last values as of their types, without the domains over these: the fill begins with
-- NULL, which a domain may refuse. Their operators can be in a schema of their own.
WITH RECURSIVE keys AS (
    SELECT place, k AS name, atttypid AS type, atttypmod AS length
    FROM pg_temp.added_ids, unnest(key_columns) WITH ORDINALITY u (k, place), pg_attribute
    WHERE relation = :relation_oid AND attrelid = relation AND attname = k
    UNION ALL
    SELECT place, name, typbasetype, typtypmod FROM keys JOIN pg_type t ON t.oid = type AND typtype = 'd')
SELECT string_agg(format('t.%I', name), ', ' ORDER BY place) AS sort_key,
       string_agg(format('t.%I::pg_catalog.text', name), ', ' ORDER BY place) AS key_texts,
       string_agg(format('add_id_key[%s]::%s', place, format_type(type, length)), ', ' ORDER BY place) AS last_key,
       concat_ws(', ', 'pg_catalog', (
           SELECT string_agg(DISTINCT oprnamespace::regnamespace::text, ', ')
           FROM pg_index, unnest(indclass) of_key JOIN pg_opclass o ON o.oid = of_key
               JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype AND amoprighttype = opcintype AND amopstrategy = 5
               JOIN pg_operator p ON p.oid = amopopr
           WHERE indexrelid = to_regclass(format('%I.%I', :'schema', :'by_time')) AND oprnamespace <> 'pg_catalog'::regnamespace),
           'pg_temp') AS path_of_key
FROM keys JOIN pg_type t ON t.oid = type AND typtype <> 'd' \gset

-- The id of an old row: of its millisecond, and above the id of the row before.
CREATE OR REPLACE FUNCTION pg_temp.old_id(shard int, created_at timestamptz, previous bigint) RETURNS bigint LANGUAGE sql
RETURN greatest(
    ids.id_from_parts(least(greatest(created_at, '2011-08-24 21:07:02+00'), now()), shard, 0),
    CASE WHEN ids.id_sequence(previous) < 1023 THEN previous + 1    -- the next id of this millisecond
         ELSE ids.id_from_parts(ids.id_timestamp(previous) + interval '1 ms', shard, 0) END);    -- it is full

-- Batches in the order of time and key. They wait for no row: a session that waits for one of theirs would find a
-- deadlock. Triggers and checks of the table find names as in the caller's session. What is run then is qualified.
SELECT format($code$
CREATE OR REPLACE PROCEDURE pg_temp.fill(add_id_batch int, add_id_pause float) LANGUAGE plpgsql AS $add_id_code$
#variable_conflict use_variable
DECLARE add_id_time timestamptz; add_id_key text[]; add_id_last bigint; add_id_row record; add_id_rows int := add_id_batch;
BEGIN
    LOOP
        BEGIN
            SELECT a.last_time, a.last_key, a.last_id INTO add_id_time, add_id_key, add_id_last
            FROM pg_temp.added_ids a WHERE a.relation = %1$s FOR UPDATE;
            PERFORM set_config('search_path', %9$L, true);
            FOR add_id_row IN SELECT t.ctid, t.%3$I AS at, ARRAY[%6$s] AS key FROM %2$s t
                WHERE (t.%3$I, %5$s) > (add_id_time, %7$s) AND t.%4$I IS NULL
                ORDER BY t.%3$I, %5$s LIMIT add_id_rows FOR NO KEY UPDATE NOWAIT
            LOOP
                PERFORM pg_catalog.set_config('search_path', %10$L, true);
                add_id_last := pg_temp.old_id(%8$s, add_id_row.at, add_id_last);
                UPDATE %2$s t SET %4$I = add_id_last WHERE t.ctid OPERATOR(pg_catalog.=) add_id_row.ctid;
            END LOOP;
            EXIT WHEN NOT FOUND;
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
            UPDATE pg_temp.added_ids a SET last_time = add_id_row.at, last_key = add_id_row.key, last_id = add_id_last
            WHERE a.relation = %1$s;
            add_id_rows := least(add_id_rows * 2, add_id_batch);
        EXCEPTION WHEN lock_not_available THEN    -- the application has a row of this batch: again, with fewer
            add_id_rows := greatest(add_id_rows / 2, 1);
        END;
        COMMIT;
        PERFORM pg_sleep(add_id_pause);
    END LOOP;
END $add_id_code$;

-- The rows that the fill does not find: without a time, or with one that was set back, or inserted with NULL.
CREATE OR REPLACE PROCEDURE pg_temp.fill_rest() LANGUAGE plpgsql AS $add_id_code$
#variable_conflict use_variable
DECLARE add_id_free bigint := 0; add_id_row record;
BEGIN
    PERFORM set_config('search_path', %10$L, true);
    FOR add_id_row IN SELECT t.ctid, t.%3$I AS at FROM %2$s t WHERE t.%4$I IS NULL ORDER BY t.%3$I NULLS FIRST
        FOR NO KEY UPDATE NOWAIT LOOP
        LOOP
            add_id_free := pg_temp.old_id(%8$s, add_id_row.at, add_id_free);
            EXIT WHEN NOT EXISTS (SELECT FROM %2$s t WHERE t.%4$I OPERATOR(pg_catalog.=) add_id_free);
        END LOOP;
        UPDATE %2$s t SET %4$I = add_id_free WHERE t.ctid OPERATOR(pg_catalog.=) add_id_row.ctid;
    END LOOP;
END $add_id_code$;
$code$, :relation_oid, :'relation', :'time', :'added', :'sort_key', :'key_texts', :'last_key', :'shard', :'path_of_key', :'caller_path') AS code \gset
:code

\echo 3. ids for the old rows, which carry shard :shard
SET lock_timeout = '500ms';
CALL pg_temp.fill(:batch, :pause);

\echo 4. a unique index
SET lock_timeout = 0;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS :"by_id" ON :relation (:"added");

\echo 5. NOT NULL
SET lock_timeout = '3s';
ALTER TABLE :relation DROP CONSTRAINT IF EXISTS add_id_is_set, ADD CONSTRAINT add_id_is_set CHECK (:"added" IS NOT NULL) NOT VALID;
SET lock_timeout = '500ms';
CALL pg_temp.fill_rest();
BEGIN;
ALTER TABLE :relation VALIDATE CONSTRAINT add_id_is_set;
ALTER TABLE :relation ALTER :"added" SET NOT NULL;
ALTER TABLE :relation DROP CONSTRAINT add_id_is_set;
COMMIT;
\endif

\echo 6. clean up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS :"schema".:"by_time";
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
VACUUM (ANALYZE) :relation;
SET search_path = pg_catalog, pg_temp;
\echo Rows, different ids, and ids that do not carry the time of their row:
SELECT count(*), count(DISTINCT :"added"), count(*) FILTER (
    WHERE ids.id_timestamp(:"added") NOT BETWEEN :"time" - interval '1 s' AND :"time" + interval '1 s') AS other_time
FROM :relation;
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
