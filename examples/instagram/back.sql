-- Puts back the functions and defaults of save.sql, one transaction for each schema. A schema that fails is as before: run
-- this until it prints nothing.
--
-- First it waits without locks until the clock is later than all ids of the generator, and once more for the ids that
-- were generated until it has the locks.
\set QUIET on
SET search_path = pg_catalog;
SELECT format($back$
SET LOCAL lock_timeout = '%1$sms';
SELECT pg_sleep(extract(epoch FROM lead)) FROM ids.id_generator_status(%3$L, %4$L) WHERE lead > '0';
%2$s
ALTER SEQUENCE %3$s AS bigint NO MAXVALUE OWNED BY %9$s;    -- waits for callers, and makes new ones wait
SELECT pg_sleep(least(0.1, extract(epoch FROM lead) + 0.001)) FROM ids.id_generator_status(%3$L, %4$L);
DO %8$L;
%5$s;
%6$s
SELECT %7$L AS schema
$back$, greatest(1, least(300, deadlock_timeout / (tables + 1) - 20)), locks, generator, epoch, definition, defaults, o.schema,
    format($check$
DECLARE lead interval := (SELECT lead FROM ids.id_generator_status(%1$L, %2$L));
BEGIN
    IF (lead < '0') IS NOT TRUE THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'generator "' || %1$L || '" is ahead of the clock',
            DETAIL = 'It is ahead by ' || lead || '.', HINT = 'Run this again.';
    END IF;
END $check$, generator, epoch), COALESCE(owned_by, 'NONE'))
FROM before_ids.old_functions o JOIN pg_namespace n ON nspname = o.schema
    JOIN pg_proc p ON pronamespace = n.oid AND proname = function,
    (SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout') d (deadlock_timeout),
    LATERAL (SELECT count(DISTINCT relation), 'LOCK TABLE ' || string_agg(relation, ', ' ORDER BY place) || ' IN ACCESS EXCLUSIVE MODE;',
                    string_agg(format('ALTER TABLE %s ALTER %I SET DEFAULT %I.%I();', relation, "column", o.schema, function),
                        E'\n' ORDER BY place)
             FROM before_ids.old_columns c WHERE c.schema = o.schema) c (tables, locks, defaults)
WHERE prosrc LIKE '%ids.next\_id%' \gexec
