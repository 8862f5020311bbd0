-- Read by files that create functions in the schema that is first in search_path: it must be a schema of who loads them, in
-- which no other role can create objects.
DO $$
DECLARE
    own_schema pg_catalog.name := pg_catalog.current_schema();
    me pg_catalog.oid := pg_catalog.quote_ident(current_user)::pg_catalog.regrole;
    of_schema pg_catalog.pg_namespace;
    other pg_catalog.text;
BEGIN
    -- No name is looked up but in pg_catalog, whatever there is in that schema and in search_path.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT n.* INTO of_schema FROM pg_namespace n WHERE n.nspname = own_schema;
    IF NOT FOUND THEN
        RAISE invalid_schema_name USING MESSAGE = 'no schema has been selected to create in',
            HINT = 'Set search_path to a schema of yours.';
    END IF;
    -- A superuser has all rights, but what runs as this role must be its own. That of schema "public" is the database's
    -- owner.
    IF of_schema.nspowner <> me AND NOT EXISTS (
        SELECT FROM pg_database d WHERE d.datname = current_database() AND d.datdba = me
                                    AND of_schema.nspowner = 'pg_database_owner'::regrole) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('must be owner of schema "%s"', own_schema),
            DETAIL = format('Its owner is "%s", and the current user is "%s".',
                            pg_get_userbyid(of_schema.nspowner), current_user),
            HINT = 'Run this as its owner.';
    END IF;
    SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END INTO other
    FROM aclexplode(of_schema.nspacl) a
    WHERE a.grantee <> of_schema.nspowner AND a.privilege_type = 'CREATE' LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('others can create objects in schema "%s"', own_schema),
            HINT = format('Use a schema of your own, or run REVOKE CREATE ON SCHEMA %I FROM %s.', own_schema, other);
    END IF;
    SELECT o.name INTO other
    FROM (SELECT relname, relowner FROM pg_class WHERE relnamespace = of_schema.oid AND relname ~ '^(shardid_(seq|mark_[0-9]+)$|public_id_keys)'
          -- The extension's own is no other role's.
          AND NOT (relowner = 'pg_database_owner'::regrole
                   AND of_schema.oid IN (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'shardid'))
          UNION ALL SELECT proname, proowner FROM pg_proc WHERE pronamespace = of_schema.oid
          UNION ALL SELECT oprname, oprowner FROM pg_operator WHERE oprnamespace = of_schema.oid) o (name, owner)
    -- What is called here may be found among them. Superusers need not plant anything.
    WHERE o.owner <> me AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('another role owns "%s" in schema "%s"', other, own_schema),
            HINT = 'Use another schema, or drop it.';
    END IF;
    -- What exists keeps its rights.
    PERFORM set_config('shardid_portable.before', ARRAY(
        SELECT d.objid FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = of_schema.oid
        UNION ALL SELECT of_schema.oid)::text, true),
            set_config('client_min_messages', 'warning', true),
            set_config('search_path', format('%I, pg_temp', own_schema), true);
END
$$;
