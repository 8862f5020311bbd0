-- Not in the extension. A transaction that created something before CREATE was revoked may have ended after this began.
-- What is above may have found that, wherever it has been moved since then.
DO $$
DECLARE
    own_path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    other pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT pg_describe_object(o.classid, o.objid, 0) INTO other
    FROM (SELECT tableoid, oid, proowner FROM pg_proc WHERE pronamespace = own_schema
          UNION ALL SELECT tableoid, oid, oprowner FROM pg_operator WHERE oprnamespace = own_schema
          UNION ALL
          -- What this transaction has made uses it.
          SELECT d.refclassid, d.refobjid, COALESCE(p.proowner, q.oprowner, t.typowner, c.relowner) FROM pg_depend d
          LEFT JOIN pg_proc p ON d.refclassid = p.tableoid AND d.refobjid = p.oid
          LEFT JOIN pg_operator q ON d.refclassid = q.tableoid AND d.refobjid = q.oid
          LEFT JOIN pg_type t ON d.refclassid = t.tableoid AND d.refobjid = t.oid
          LEFT JOIN pg_class c ON d.refclassid = c.tableoid AND d.refobjid = c.oid
              -- Those of the extension.
              AND NOT (c.relkind = 'S' AND c.relowner = 'pg_database_owner'::regrole)
          WHERE d.xmin = pg_current_xact_id()::xid
         ) o (classid, objid, owner)
    WHERE o.owner <> quote_ident(current_user)::regrole
      AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('another role has created %s', other), HINT = 'Use another schema, or drop it.';
    END IF;
    PERFORM set_config('search_path', own_path, true);
END
$$;
