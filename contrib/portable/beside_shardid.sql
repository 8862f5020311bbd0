-- Read by the files that are loaded after shardid.sql, by the role that has loaded it.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_schema pg_catalog.name := pg_catalog.current_schema();
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
    portable pg_catalog.pg_proc;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT p.* INTO portable FROM pg_proc p
    WHERE p.oid = to_regprocedure(quote_ident(own_schema) || '.shardid_set_shard(regclass)');
    IF portable.oid IS NULL THEN
        RAISE undefined_function USING
            MESSAGE = format('schema %I has no portable functions', own_schema),
            HINT = 'Load contrib/portable/shardid.sql first.';
    ELSIF portable.proowner <> me THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of the portable functions in schema %I', own_schema),
            HINT = format('Run this as %s.', portable.proowner::regrole);
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;
