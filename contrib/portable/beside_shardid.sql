-- Read by the files that are loaded after shardid.sql, by the role that has loaded it.
DO $$
DECLARE
    own_schema pg_catalog.name := pg_catalog.current_schema();
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
    bound pg_catalog.pg_proc;
BEGIN
    -- No name is looked up but in pg_catalog, whatever there is in that schema and in search_path.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT p.* INTO bound FROM pg_proc p
    WHERE p.oid = to_regprocedure(quote_ident(own_schema) || '.id_lower_bound(timestamptz, timestamptz, int, int)');
    IF bound.oid IS NULL THEN
        RAISE undefined_function USING
            MESSAGE = format('schema %I has no portable functions', own_schema),
            HINT = 'Load contrib/portable/shardid.sql first.';
    ELSIF bound.proowner <> me THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of the portable functions in schema %I', own_schema),
            HINT = format('Run this as %s.', bound.proowner::regrole);
    END IF;
    -- What exists keeps its rights.
    PERFORM set_config('shardid_portable.before', ARRAY(
        SELECT d.objid FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = bound.pronamespace
        UNION ALL SELECT bound.pronamespace)::text, true),
            set_config('client_min_messages', 'warning', true),
            set_config('search_path', format('%I, pg_temp', own_schema), true);
END
$$;
