-- Puts back the functions and defaults of save.sql, one transaction for each schema. A schema that fails is as before: run
-- this until it succeeds.
--
-- First it waits without locks until the clock is later than all ids of the generator, and once more for the ids that
-- were generated until it has the locks.
\set ON_ERROR_STOP on
\ir begin.sql
\set ON_ERROR_STOP off
SELECT format($back$
SET LOCAL lock_timeout = '%1$sms';
CALL before_ids.wait_for_clock(%3$L, NULL);
%2$s
CALL before_ids.check_owner(%3$L);
ALTER SEQUENCE %4$s AS bigint NO MAXVALUE OWNED BY %7$s;    -- waits for callers, and makes new ones wait
CALL before_ids.wait_for_clock(%3$L, '0.1 s');
%5$s;
%6$s
SELECT %3$L AS schema
$back$, greatest(1, least(300, deadlock_timeout / (tables + 1) - 20)), locks, o.schema, generator, definition, defaults,
    COALESCE(owned_by, 'NONE'))
FROM before_ids.old_functions o JOIN pg_namespace n ON nspname = o.schema
    JOIN pg_proc p ON pronamespace = n.oid AND proname = function AND pronargs = 0,
    (SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout') d (deadlock_timeout),
    LATERAL (SELECT count(DISTINCT relation), 'LOCK TABLE ' || string_agg(relation, ', ' ORDER BY place) || ' IN ACCESS EXCLUSIVE MODE;',
                    string_agg(format('ALTER TABLE %s ALTER %I SET DEFAULT %I.%I();', relation, "column", o.schema, function),
                        E'\n' ORDER BY place)
             FROM before_ids.old_columns c WHERE c.schema = o.schema) c (tables, locks, defaults)
WHERE before_ids.is_switched(prosrc) \gexec
\set ON_ERROR_STOP on
CALL before_ids.check_all(false);
