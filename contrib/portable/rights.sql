-- Default privileges may have given or taken rights on what is new: it gets those that it has without them.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    change pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR change IN
        SELECT format('REVOKE ALL ON %1$s FROM PUBLIC%2$s CASCADE; GRANT ALL ON %1$s TO %3$s', o.name,
                      (SELECT string_agg(', ' || a.grantee::regrole, '') FROM aclexplode(o.acl) a WHERE a.grantee <> 0), o.grantees)
        FROM (SELECT tableoid, oid, pronamespace, 'ROUTINE ' || oid::regprocedure, proacl, proowner::regrole || ', PUBLIC' FROM pg_proc
              UNION ALL SELECT tableoid, oid, typnamespace, 'TYPE ' || oid::regtype, typacl, typowner::regrole || ', PUBLIC' FROM pg_type
              UNION ALL SELECT tableoid, oid, oid, 'SCHEMA ' || oid::regnamespace, nspacl, nspowner::regrole::text FROM pg_namespace
              UNION ALL SELECT tableoid, oid, relnamespace, CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass,
                  NULLIF(relacl || ARRAY(SELECT unnest(attacl) FROM pg_attribute WHERE attrelid = c.oid), '{}'),
                  relowner::regrole::text FROM pg_class c) o (classid, objid, schema, name, acl, grantees)
        WHERE o.acl IS NOT NULL AND o.schema = own_schema AND o.objid <> ALL (current_setting('shardid_portable.before')::oid[])
    LOOP
        EXECUTE change;
    END LOOP;
    PERFORM set_config('search_path', own_path, true);
END
$$;
