-- Switches the tables and the function of each schema of save.sql to ids.next_id, one transaction for each schema. A
-- schema that fails is as before: run this until it succeeds.
--
-- All locks together are waited for less than deadlock_timeout, so that this gives way and not the application. The body
-- of the function changes, and the rest of its definition stays.
\set ON_ERROR_STOP on
\ir begin.sql
\set ON_ERROR_STOP off
SELECT CASE WHEN num_nulls(shard, epoch, shard_bits, sequence_bits, generator) > 0 THEN format('CALL before_ids.check_layout(%L)', o.schema)
ELSE format($switch$
SET LOCAL lock_timeout = '%1$sms';
%2$s
CALL before_ids.check_owner(%6$L);
CALL before_ids.check_layout(%6$L);
ALTER SEQUENCE %3$s AS bigint NO MAXVALUE NO CYCLE OWNED BY NONE;
%4$s
%5$s
SELECT %6$L AS schema, max(id) AS highest_old, ids.raise_generator(%3$L, ids.id_lower_bound(
    greatest(ids.id_timestamp(max(id), %7$s), clock_timestamp()) + interval '1 second', %7$s), %7$s) AS smallest_new
FROM (%8$s) highest (id)
$switch$, greatest(1, least(300, deadlock_timeout / (tables + 1) - 20)), locks, generator, replace(defaults, '@', next_id),
    format(E'%s\nAS %L;', regexp_replace(split_part(definition, E'\nAS $', 1), ' LANGUAGE \w+', ' LANGUAGE plpgsql'),
        'BEGIN ' || COALESCE(quote_ident(result) || ' :=', 'RETURN') || ' ' || next_id || '; END'),
    o.schema, layout, COALESCE(highest, 'VALUES (NULL::bigint)')) END
FROM before_ids.old_functions o JOIN pg_namespace n ON nspname = o.schema
    JOIN pg_proc p ON pronamespace = n.oid AND proname = function AND pronargs = 0,
    before_ids.layout(o.schema), format('ids.next_id(%s, %L, %s)', shard, generator, layout) next_id,
    (SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout') d (deadlock_timeout),
    LATERAL (SELECT count(DISTINCT relation), 'LOCK TABLE ' || string_agg(relation, ', ' ORDER BY place) || ' IN ACCESS EXCLUSIVE MODE;',
                    string_agg(format('ALTER TABLE %s ALTER %I SET DEFAULT @;', relation, "column"), E'\n' ORDER BY place),
                    string_agg(format('SELECT max(%I) FROM %s', "column", relation), ' UNION ALL ' ORDER BY place)
             FROM before_ids.old_columns c WHERE c.schema = o.schema) c (tables, locks, defaults, highest)
WHERE NOT before_ids.is_switched(prosrc) \gexec
\set ON_ERROR_STOP on
CALL before_ids.check_all(true);
