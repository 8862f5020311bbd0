-- Drawing needs USAGE or UPDATE on the sequence, as nextval does, at the moment of the call. specs/revoked.spec has rights that
-- change while a session draws, and memberships.
\set ECHO none
\a \t on
CREATE ROLE regress_shardid_owner;
CREATE ROLE regress_shardid_user;
CREATE SCHEMA shop AUTHORIZATION regress_shardid_owner;
GRANT USAGE, CREATE ON SCHEMA shop TO PUBLIC;
SET ROLE regress_shardid_owner;
CREATE SEQUENCE shop.ids;
RESET ROLE;
CREATE FUNCTION shop.drawn(call text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint;
BEGIN
    EXECUTE 'SELECT ' || call INTO drawn;
    RETURN drawn IS NOT NULL;
EXCEPTION WHEN insufficient_privilege THEN
    RETURN false;
END
$$;
-- What a role can do that has this right alone, in a session that goes on.
CREATE FUNCTION shop.with_right(name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    result boolean;
BEGIN
    EXECUTE 'GRANT ' || name || ' ON SEQUENCE shop.ids TO regress_shardid_user';
    SET LOCAL ROLE regress_shardid_user;
    result := shop.drawn('next_id(1, ''shop.ids'')');
    RESET ROLE;
    EXECUTE 'REVOKE ' || name || ' ON SEQUENCE shop.ids FROM regress_shardid_user';
    RETURN result;
END
$$;
-- SECURITY DEFINER: the owner's right, only inside the function.
CREATE FUNCTION shop.next() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT next_id(1, 'shop.ids') $$;
ALTER FUNCTION shop.next() OWNER TO regress_shardid_owner;
CREATE FUNCTION shop.in_turns(OUT direct boolean[], OUT lent boolean[]) LANGUAGE sql AS $$
    SELECT array_agg(shop.drawn('next_id(1, ''shop.ids'')')), array_agg(shop.drawn('shop.next()')) FROM generate_series(1, 3)
$$;

SET ROLE regress_shardid_user;
SELECT next_id(1, 'shop.ids');
SELECT nextval('shop.ids');
RESET ROLE;
SELECT name, shop.with_right(name) FROM unnest('{USAGE, SELECT, UPDATE, SELECT, USAGE}'::text[]) name;
\set VERBOSITY sqlstate

\echo -- Each call is checked for its own role: SET ROLE and back, also inside one transaction.
BEGIN;
SELECT next_id(1, 'shop.ids') IS NOT NULL AS as_superuser;
SET LOCAL ROLE regress_shardid_user;
SAVEPOINT s;
SELECT next_id(1, 'shop.ids');
ROLLBACK TO s;
SET LOCAL ROLE regress_shardid_owner;
SELECT next_id(1, 'shop.ids') IS NOT NULL AS as_owner;
COMMIT;

\echo '-- The owner''s right by a function, in turns with the user''s own: each role''s changes have effect on its own calls only.'
SET ROLE regress_shardid_user;
SELECT * FROM shop.in_turns();
RESET ROLE;
GRANT USAGE ON SEQUENCE shop.ids TO regress_shardid_user;
REVOKE ALL ON SEQUENCE shop.ids FROM regress_shardid_owner;
SET ROLE regress_shardid_user;
SELECT * FROM shop.in_turns();
RESET ROLE;
\echo '-- Roles need a grant to draw from the default generator, except the database''s owner.'
SELECT format('ALTER DATABASE %I OWNER TO regress_shardid_user', current_database()) \gexec
SET ROLE regress_shardid_user;
SELECT next_id(1) IS NOT NULL AS as_owner;
RESET ROLE;
SELECT format('ALTER DATABASE %I OWNER TO CURRENT_USER', current_database()) \gexec
SET ROLE regress_shardid_user;
SELECT next_id(1);
RESET ROLE;
\set VERBOSITY default
GRANT USAGE ON SEQUENCE shardid_seq TO regress_shardid_user;
SET ROLE regress_shardid_user;
SELECT next_id(1) IS NOT NULL AS granted;

\echo -- max_lead and max_borrow: only superusers, and roles with GRANT SET, may set them.
SET shardid.max_lead = '1h';
SET shardid.max_borrow = '1h';
RESET ROLE;
GRANT SET ON PARAMETER shardid.max_borrow TO regress_shardid_user;
SET ROLE regress_shardid_user;
SET shardid.max_borrow = '1h';
SHOW shardid.max_borrow;
RESET shardid.max_borrow;
SET shardid.shard_id = 9;
SELECT id_shard(next_id()) AS own_setting;
RESET shardid.shard_id;
RESET ROLE;
REVOKE SET ON PARAMETER shardid.max_borrow FROM regress_shardid_user;

\echo -- A temporary sequence, for every role of its session.
CREATE TEMPORARY SEQUENCE mine;
SELECT next_id(1, 'mine') < next_id(1, 'mine') AS own_temporary;
BEGIN READ ONLY;
SELECT next_id(1, 'mine') IS NOT NULL AS read_only_may_use_it;
COMMIT;
CREATE EXTENSION dblink;
SELECT dblink_connect('other', format('host=%s port=%s dbname=%s', split_part(current_setting('unix_socket_directories'), ',', 1),
                                      current_setting('port'), current_database()));
SELECT dblink_exec('other', 'CREATE TEMPORARY SEQUENCE theirs');
SELECT oid AS theirs FROM pg_class WHERE relname = 'theirs' \gset
SELECT next_id(1, :theirs);
SELECT nextval(:theirs);
SELECT id > 0 AS theirs_works_there FROM dblink('other', 'SELECT next_id(1, ''theirs'')') AS t (id bigint);
SELECT dblink_disconnect('other');
DROP EXTENSION dblink;

SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
REVOKE USAGE ON SEQUENCE shardid_seq FROM regress_shardid_user;
DROP ROLE regress_shardid_owner, regress_shardid_user;
