-- Swaps the names: the column of add.sql becomes id, and the column id becomes old_id. With "back" the other way round:
--
--     psql -d shop -v table=orders [-v back=yes] -f examples/add-id/swap.sql
\set ON_ERROR_STOP on
\ir table.sql
\if :{?back} \else \set back no \endif
SELECT set_config('add_id.back', :'back', false) \g /dev/null
BEGIN;
SET LOCAL lock_timeout = '3s';
LOCK TABLE :relation IN ACCESS EXCLUSIVE MODE;
DO $$
DECLARE
    of_table regclass := current_setting('add_id.relation')::regclass;
    table_name text := current_setting('add_id.table');
    is_back bool := current_setting('add_id.back');
    is_swapped bool := pg_temp.added_column() = 'id';
    columns name[] := (SELECT array_agg(attname) FROM pg_attribute WHERE attrelid = of_table AND NOT attisdropped);
    found text;
BEGIN
    IF is_swapped <> is_back OR NOT columns @> ARRAY[CASE WHEN is_back THEN 'old_id' ELSE 'id' END]::name[] THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('table "%s" has no names to swap', table_name),
            DETAIL = format('The column of add.sql is called "%s".', pg_temp.added_column());
    END IF;
    SELECT string_agg(format('"%s" of table %s', conname, conrelid::regclass), ', ') INTO found
    FROM pg_constraint JOIN pg_attribute ON attrelid = confrelid AND attnum = ANY (confkey)
    WHERE confrelid = of_table AND contype = 'f' AND attname = 'id';
    IF found IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('column "id" of table "%s" is referenced by foreign keys', table_name),
            DETAIL = format('Columns that reference it contain its values, and not those of "%s": %s.',
                CASE WHEN is_back THEN 'old_id' ELSE pg_temp.added_column() END, found),
            HINT = CASE WHEN is_back THEN 'Drop these foreign keys.'
                ELSE 'Run undo.sql, and change the column itself by id_migration_commands.' END;
    END IF;
END
$$;
\if :back
ALTER TABLE :relation RENAME id TO new_id;
ALTER TABLE :relation RENAME old_id TO id;
UPDATE pg_temp.added_ids SET added = 'new_id' WHERE relation = :relation_oid;
\else
SELECT pg_temp.added_column() AS added \gset
ALTER TABLE :relation RENAME id TO old_id;
ALTER TABLE :relation RENAME :"added" TO id;
UPDATE pg_temp.added_ids SET added = 'id' WHERE relation = :relation_oid;
\endif
COMMIT;
SELECT set_config('search_path', :'caller_path', false) \g /dev/null
