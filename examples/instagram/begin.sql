-- What the scripts of this directory begin with. Only the owner of functions, sequences and tables may run them, because
-- functions in an index of a table run when SELECT max(id) is planned. SET ROLE or SET SESSION AUTHORIZATION in a session of a
-- superuser, or of a member of one, protects nobody: such a function can RESET it.
\set QUIET on
\set AUTOCOMMIT on
\set ON_ERROR_ROLLBACK off
SET search_path = pg_catalog, pg_temp;
SET row_security = off;    -- fail rather than raise above a part of the ids
-- What is saved as text is read alike by all scripts.
SET quote_all_identifiers = off;
SET standard_conforming_strings = on;
SET datestyle = 'ISO';
SET timezone = 'UTC';
DO $$
DECLARE
    other name := (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = 'before_ids'::regnamespace);
BEGIN
    IF EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid()) JOIN pg_roles l ON l.oid = usesysid
               JOIN pg_roles s ON s.rolsuper AND pg_has_role(l.oid, s.oid, 'MEMBER') WHERE current_user NOT IN (l.rolname, s.rolname)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser, or a member of one, cannot run this as another role',
            DETAIL = 'Functions of its tables could run RESET ROLE.',
            HINT = format('Connect as "%s", or as a role without rights that is a member of it.', current_user);
    END IF;
    IF other <> current_user THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of schema before_ids',
            DETAIL = format('Its owner is "%s", and the current user is "%s".', other, current_user),
            HINT = format('Connect as "%s".', other);
    END IF;
END $$;
