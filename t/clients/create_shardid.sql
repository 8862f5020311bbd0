DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace JOIN pg_roles r ON r.oid = nspowner
                   WHERE extname = 'shardid' AND nspname = 'ids'
                     AND (rolsuper OR rolname IN (current_user, 'pg_database_owner')
                          OR r.oid = (SELECT datdba FROM pg_database WHERE datname = current_database()))) THEN
        CREATE SCHEMA ids;
        CREATE EXTENSION shardid SCHEMA ids;
    END IF;
END
$$;
