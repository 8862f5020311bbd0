-- Switches the tables and the function of each schema of save.sql to ids.next_id, one transaction for each schema. A
-- schema that fails is as before: run this until it prints nothing.
--
-- All locks together are waited for less than deadlock_timeout, so that this gives way and not the application. The body
-- of the function changes, and the rest of its definition stays.
\set QUIET on
SET search_path = pg_catalog;
SET row_security = off;    -- fail rather than raise above a part of the ids
SELECT format($switch$
SET LOCAL lock_timeout = '%1$sms';
%2$s
DO %9$L;
ALTER SEQUENCE %3$s AS bigint NO MAXVALUE NO CYCLE OWNED BY NONE;
%4$s
%5$s
SELECT %6$L AS schema, max(id) AS highest_old, ids.raise_generator(%3$L, ids.id_lower_bound(
    greatest(ids.id_timestamp(max(id), %7$L), clock_timestamp()) + interval '1 second', %7$L), %7$L) AS smallest_new
FROM (%8$s) highest (id)
$switch$, greatest(1, least(300, deadlock_timeout / (tables + 1) - 20)), locks, generator, replace(defaults, '@', next_id),
    format(E'%s\nAS %L;', regexp_replace(split_part(definition, E'\nAS $', 1), ' LANGUAGE \w+', ' LANGUAGE plpgsql'),
        'BEGIN ' || COALESCE(quote_ident(result) || ' :=', 'RETURN') || ' ' || next_id || '; END'),
    o.schema, epoch, COALESCE(highest, 'VALUES (NULL::bigint)'),
    -- Its owner may have made a view of that name since, whose functions would run with the rights of this role.
    format($check$
DECLARE other text := (SELECT min(oid::regclass::text) FROM pg_class WHERE oid = ANY (%L::regclass[]) AND relkind NOT IN ('r', 'p'));
BEGIN
    IF other IS NOT NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('relation "%%s" is not a table', other),
            HINT = 'Remove it from before_ids.old_columns.';
    END IF;
END $check$, names))
FROM before_ids.old_functions o JOIN pg_namespace n ON nspname = o.schema
    JOIN pg_proc p ON pronamespace = n.oid AND proname = function,
    format('ids.next_id(%s, %L, %L)', shard, generator, epoch) next_id,
    (SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout') d (deadlock_timeout),
    LATERAL (SELECT count(DISTINCT relation), array_agg(relation), 'LOCK TABLE ' || string_agg(relation, ', ' ORDER BY place) || ' IN ACCESS EXCLUSIVE MODE;',
                    string_agg(format('ALTER TABLE %s ALTER %I SET DEFAULT @;', relation, "column"), E'\n' ORDER BY place),
                    string_agg(format('SELECT max(%I) FROM %s', "column", relation), ' UNION ALL ' ORDER BY place)
             FROM before_ids.old_columns c WHERE c.schema = o.schema) c (tables, names, locks, defaults, highest)
WHERE prosrc NOT LIKE '%ids.next\_id%' \gexec
