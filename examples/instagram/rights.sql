-- Grants what next_id needs to each role that could insert into a table of save.sql, or call its function.
\set ON_ERROR_STOP on
\ir begin.sql
DO 'DECLARE o name; BEGIN FOR o IN SELECT schema FROM before_ids.old_functions LOOP CALL before_ids.check_owner(o); END LOOP; END';
SELECT DISTINCT format('GRANT USAGE ON SCHEMA ids TO %I', rolname),
       format('GRANT USAGE%s ON SEQUENCE %s TO %I', CASE WHEN marks > 0 THEN ', UPDATE' END, generator, rolname),
       CASE WHEN marks > 0 THEN format('CALL ids.shardid_grant_marks(%L)', rolname) END    -- SQL-only version
FROM pg_roles, before_ids.old_functions o,
     (SELECT count(*) FROM pg_proc WHERE proname = 'shardid_grant_marks' AND pronamespace = 'ids'::regnamespace) m (marks)
WHERE (EXISTS (SELECT FROM before_ids.old_columns c
               WHERE c.schema = o.schema AND has_any_column_privilege(rolname, relation, 'INSERT'))
       OR has_sequence_privilege(rolname, generator, 'USAGE, UPDATE'))
  AND NOT (has_schema_privilege(rolname, 'ids', 'USAGE')
           AND has_sequence_privilege(rolname, generator, 'USAGE, UPDATE')) \gexec
