-- Leases of shards, from a registry in the member's own database: what each function does and refuses, which roles
-- may call it, and how ids are drawn across a renewal. No lease ends by itself, and no call gives up, on a machine that
-- is slow. The schema of the extension comes and goes with it: one that exists, in which other roles may have code, is
-- refused.
\set ECHO none
\a \t on
SET client_min_messages = warning;
CREATE EXTENSION dblink;
CREATE EXTENSION postgres_fdw;
CREATE SCHEMA shardid_lease;
\set SHOW_CONTEXT never
CREATE EXTENSION shardid_lease;
\set SHOW_CONTEXT errors
DROP SCHEMA shardid_lease;
CREATE EXTENSION shardid_lease;
SELECT nspowner = current_user::regrole AS own_schema FROM pg_namespace WHERE nspname = 'shardid_lease';
SELECT count(*) AS uncommented
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'shardid_lease'
WHERE d.deptype = 'e' AND d.classid NOT IN ('pg_type'::regclass, 'pg_namespace'::regclass)
    AND obj_description(d.objid, d.classid::regclass::name) IS NULL;
ALTER EXTENSION shardid_lease SET SCHEMA public;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET shardid_lease.timeout = '1 min';
CREATE ROLE regress_shardid_app;
CREATE ROLE regress_shardid_member LOGIN;
CREATE ROLE regress_shardid_other;
CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw;
GRANT USAGE ON FOREIGN SERVER here TO regress_shardid_member;
CREATE USER MAPPING FOR regress_shardid_member SERVER here OPTIONS (user 'regress_shardid_member', password_required 'false');
DO $$
BEGIN
    EXECUTE format('ALTER SERVER here OPTIONS (host %L, port %L, dbname %L)',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user %L)', current_user);
    EXECUTE format('ALTER DATABASE %I SET shardid_lease.registry_timeout = ''1 min''', current_database());
END
$$;

\getenv source PG_ABS_SRCDIR
\set try :source '/../../sql/try.psql'
\i :try
\set ECHO none
ALTER FUNCTION try RENAME TO try_it;
-- Replaces times, hosts and the like, which differ in each run.
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE sql RETURN
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(try_it(statement),
        '\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+\+00|\w{3} \w{3} \d\d [\d:.]+ \d{4} \w{3}', 'TIME', 'g'),
        '(held by|reserved for) \S+, port \d+, database "\w+"', '\1 HOST, PORT, DATABASE'),
        '\d+ ms ahead', 'N ms ahead'),
        '\m' || session_user || '\M', 'SUPERUSER', 'g');
GRANT EXECUTE ON FUNCTION try TO PUBLIC;
-- Skips the times of the generator's window that are left: the next id needs another window.
CREATE FUNCTION end_window(sequence regclass) RETURNS bigint LANGUAGE sql
RETURN (SELECT raise_generator(sequence, id_lower_bound(until)) FROM shardid_lease.shard_leases WHERE generator = sequence);

CREATE FUNCTION draw_and_fail() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint;
BEGIN
    PERFORM end_window('j');
    BEGIN
        drawn := next_id(generator => 'j');
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN
        RETURN drawn;
    END;
END
$$;
\echo -- Id spaces.
SELECT shardid_lease.create_id_space('shop', lease => '1 h', max_ahead => '4 h'), shardid_lease.create_id_space('brief', lease => '10 min', max_ahead => '5 h'),
    shardid_lease.create_id_space('tiny', lease => '1 h', max_ahead => '4 h', epoch => '2020-01-01 00:00:00+00', shard_bits => 1, sequence_bits => 12);

\echo '-- The first lease: shard 0 of the default generator; the lease''s shard is drawn, whatever is set.'
SELECT shardid_lease.lease_shard('shop', 'here');
SET shardid.shard_id = 77;
SELECT next_id() AS first \gset
SELECT id_shard(:first), id_shard(next_id(0)), id_shard(next_id(generator => 'shardid_seq'));
RESET shardid.shard_id;
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(1)$$, $$next_id(-1)$$,
    $$next_id(0, shard_bits => 12)$$, $$next_id(0, epoch => '2020-01-01 00:00:00+00')$$,
    $$next_id(0, shard_bits => 40)$$, $$next_ids(1, 10)$$, $$count(*) FROM next_ids(1, 10)$$,
    $$next_ids(0, 10, sequence_bits => 11)$$]) call;
SELECT count(*), count(DISTINCT id), bool_and(id > :first) FROM next_ids(0, 3000) id;
SELECT id_shard(next_id()), raise_generator('shardid_seq', next_id()) > :first;
\echo -- Times beyond the window must be granted first.
SELECT raise_generator('shardid_seq', id_lower_bound(date_trunc('second', clock_timestamp()) + interval '90 min')) AS raised \gset
SELECT generator, space, shard, server, state, next_id() >= :raised FROM shardid_lease.shard_leases;
SELECT "from" < until, until > id_timestamp(:raised), until = (SELECT until FROM shardid_lease.id_space_shards), renewed_at <= clock_timestamp(), failed_at, error
FROM shardid_lease.shard_leases;
SELECT space, shard, state, host <> '', port > 0, database = current_database(), role::text = current_user,
    since <= clock_timestamp(),
    until > clock_timestamp()
FROM shardid_lease.id_space_shards;

\echo -- The same lease again changes nothing. Another lease is refused until this one is released.
SELECT shardid_lease.lease_shard('shop', 'here'), shardid_lease.lease_shard('shop', 'here', shard => 0);
SET shardid.shard_id = 0;
SELECT shardid_lease.lease_shard('shop', 'here');
RESET shardid.shard_id;
SELECT try('SELECT shardid_lease.' || call) FROM unnest(ARRAY[$$lease_shard('shop', 'here', shard => 1)$$,
    $$lease_shard('tiny', 'here')$$, $$lease_shard('shop', server => 'elsewhere')$$]) call;

\echo -- Other generators of the database get other shards, the lowest free ones.
CREATE SEQUENCE a;
CREATE SEQUENCE b;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'a', shard => 5), shardid_lease.lease_shard('shop', 'here', generator => 'b');
SELECT id_shard(next_id(generator => 'a')), id_shard(next_id(generator => 'b')), try($$SELECT next_id(0, 'b')$$);

\echo -- Leases that are refused.
SELECT try($$SELECT shardid_lease.lease_shard('nowhere', 'here', generator => 'c')$$);
CREATE SEQUENCE c;
SELECT try('SELECT shardid_lease.' || call) FROM unnest(ARRAY[$$lease_shard('nowhere', 'here', generator => 'c')$$,
    $$lease_shard(NULL, 'here', generator => 'c')$$, $$lease_shard('shop', NULL, generator => 'c')$$,
    $$lease_shard('shop', 'here', generator => 'c', shard => -1)$$,
    $$lease_shard('shop', 'here', generator => 'c', shard => 8192)$$,
    $$lease_shard('shop', 'here', generator => 'c', shard => 5)$$,
    $$lease_shard('shop', 'elsewhere', generator => 'c')$$]) call;
CREATE UNLOGGED SEQUENCE unlogged;
CREATE TEMP SEQUENCE temporary;
CREATE TABLE t (id bigint);
CREATE SEQUENCE of_int AS int;
CREATE SEQUENCE downwards INCREMENT -1;
SELECT regexp_replace(try(format('SELECT shardid_lease.lease_shard(%L, %L, %L, 300)', 'shop', 'here', generator)), '_temp_\d+', '_temp_N')
FROM unnest(ARRAY['unlogged', 'temporary', 'shardid_uuid_seq', 'shardid_objectid_seq', 't', '0', 'of_int', 'downwards']) generator;
CREATE SEQUENCE bound;
SELECT next_id(1, 'bound', shard_bits => 12, sequence_bits => 11) IS NOT NULL, try($$SELECT shardid_lease.lease_shard('shop', 'here', generator => 'bound')$$);
BEGIN READ ONLY;
SELECT try('SELECT shardid_lease.' || call) FROM unnest(ARRAY[$$lease_shard('shop', 'here', generator => 'c')$$,
    $$release_shard('a')$$, $$take_over_shard('a')$$, $$renew_leases()$$]) call;
COMMIT;
\echo -- None of these has left a lease or a held shard; at a registry on another server the shard is released.
SELECT generator, shard, state FROM shardid_lease.shard_leases ORDER BY shard;
SELECT shard, state FROM shardid_lease.id_space_shards ORDER BY shard;
SELECT next_id(3, 'c') IS NOT NULL;

\echo -- The id space has two shards, and no third.
CREATE SEQUENCE d;
CREATE SEQUENCE e;
SELECT shardid_lease.lease_shard('tiny', 'here', generator => 'd'), shardid_lease.lease_shard('tiny', 'here', generator => 'e');
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$shardid_lease.lease_shard('tiny', 'here', generator => 'c')$$,
    $$next_id(generator => 'd')$$]) call;
SELECT id_shard(next_id(0, 'd', '2020-01-01 00:00:00+00', 1, 12), 1, 12), id_shard(next_id('e', '2020-01-01 00:00:00+00', 1, 12), 1, 12);
\echo -- An id space that was made anew with another layout grants nothing to leases of before.
UPDATE shardid_lease.id_space SET shard_bits = 2 WHERE name = 'tiny';
SELECT try($$SELECT shardid_lease.take_over_shard('d')$$);
UPDATE shardid_lease.id_space SET shard_bits = 1 WHERE name = 'tiny';

\echo -- A released generator is sealed, its shard is free. The next holder begins after its window, so that ids differ.
SELECT next_id('e', '2020-01-01 00:00:00+00', 1, 12) AS last_of_e, until AS until_of_e FROM shardid_lease.shard_leases WHERE generator = 'e'::regclass \gset
SELECT shardid_lease.release_shard('e');
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id('e', '2020-01-01 00:00:00+00', 1, 12)$$,
    $$next_ids(1, 5, 'e', '2020-01-01 00:00:00+00', 1, 12)$$, $$shardid_lease.release_shard('e')$$, $$shardid_lease.release_shard('t')$$]) call;
SELECT shard, state, (SELECT state FROM shardid_lease.shard_leases WHERE generator = 'e'::regclass) FROM shardid_lease.id_space_shards WHERE space = 'tiny' ORDER BY shard;
CREATE SEQUENCE f;
SELECT shardid_lease.lease_shard('tiny', 'here', generator => 'f');
SELECT next_id('f', '2020-01-01 00:00:00+00', 1, 12) > :last_of_e, "from" = :'until_of_e' FROM shardid_lease.shard_leases WHERE generator = 'f'::regclass;
\echo -- Times that raise_generator() has skipped do not delay the next window.
SELECT raise_generator('f', id_lower_bound(date_trunc('second', clock_timestamp()) + interval '20 h', '2020-01-01 00:00:00+00', 1, 12),
    '2020-01-01 00:00:00+00', 1, 12) IS NOT NULL, shardid_lease.release_shard('f');
SELECT until BETWEEN :'until_of_e'::timestamptz + interval '1 min' AND :'until_of_e'::timestamptz + interval '50 min' FROM shardid_lease.id_space_shards WHERE space = 'tiny' AND shard = 1;
\echo -- A sealed generator can be leased again, with the same layout.
SELECT try($$SELECT shardid_lease.lease_shard('shop', 'here', generator => 'e')$$);
\echo -- It generates no ids of its old shard while it asks for another, with an unreachable registry.
CREATE SERVER nowhere FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere', port '5432', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER nowhere;
SELECT regexp_replace(try($$SELECT shardid_lease.lease_shard('tiny', 'nowhere', 'e')$$), 'DETAIL: Could not reach the registry: .*', 'DETAIL: Could not reach the registry.');
SELECT state, shard, try($$SELECT next_id(1, 'e', '2020-01-01 00:00:00+00', 1, 12)$$) FROM shardid_lease.shard_leases WHERE generator = 'e'::regclass;
SET client_min_messages = warning;
SELECT shardid_lease.release_shard('e');
RESET client_min_messages;
SELECT state, try($$SELECT next_id(1, 'e', '2020-01-01 00:00:00+00', 1, 12)$$) FROM shardid_lease.shard_leases WHERE generator = 'e'::regclass;
SELECT shardid_lease.lease_shard('tiny', 'here', generator => 'e');
SELECT next_id('e', '2020-01-01 00:00:00+00', 1, 12) > :last_of_e;
\echo -- Released to a registry that now has another id space of this name: it does not know the lease. The generator can then
\echo -- be leased there.
CREATE SEQUENCE anew;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'anew', shard => 400);
UPDATE shardid_lease.leased_generator SET registry = 'gone' WHERE generator::text = 'public.anew';
SET client_min_messages = error;
SELECT shardid_lease.release_shard('anew');
RESET client_min_messages;
SELECT state, error, shardid_lease.lease_shard('shop', 'here', generator => 'anew', shard => 401) FROM shardid_lease.shard_leases WHERE generator = 'anew'::regclass;
SELECT id_shard(next_id(generator => 'anew')), shardid_lease.release_shard('anew'), shardid_lease.evict_shard('shop', 400);
DROP SEQUENCE anew;
\echo -- What is dropped has no lease, nor has a sequence of the same name.
CREATE SEQUENCE anew;
SELECT id_shard(next_id(9, 'anew')), count(*) FROM shardid_lease.shard_leases WHERE generator = 'anew'::regclass;
DROP SEQUENCE anew;
\echo -- A takeover by the holder itself changes nothing.
SELECT shardid_lease.take_over_shard('a'), id_shard(next_id(generator => 'a'));
SELECT try($$SELECT shardid_lease.take_over_shard('c')$$), try($$SELECT shardid_lease.take_over_shard('t')$$);

\echo -- Evicted: the holder learns it at its next renewal. Others begin after its window.
SELECT until AS until_of_a, shardid_lease.evict_shard('shop', 5) FROM shardid_lease.shard_leases WHERE generator = 'a'::regclass \gset
CREATE SEQUENCE g;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'g', shard => 5);
SELECT next_id(generator => 'a') < next_id(generator => 'g'), "from" = :'until_of_a', try($$SELECT raise_generator('a', next_id(generator => 'g'))$$)
FROM shardid_lease.shard_leases WHERE generator = 'g'::regclass;
SELECT shardid_lease.renew_leases();
SET shardid_lease.timeout = 0;
SELECT try($$SELECT next_id(generator => 'a')$$), state, error ~ '^The registry says: shard 5 of id space "shop" is held by .*, port .*, database .* \(role .*\), since .* until '
FROM shardid_lease.shard_leases WHERE failed_at IS NOT NULL AND generator = 'a'::regclass;
SET shardid_lease.timeout = '1 min';
DROP SEQUENCE a;

\echo '-- Renewed manually: all possible leases of this role''s generators.'
SELECT shardid_lease.renew_leases() AS held, count(*) FROM shardid_lease.shard_leases WHERE state = 'held';

\echo -- A transaction whose snapshot does not see later commits uses the present window.
CREATE SEQUENCE j;
CREATE TABLE drawn (id bigint);
SELECT shardid_lease.lease_shard('brief', 'here', generator => 'j');
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO drawn SELECT next_id(generator => 'j');
INSERT INTO drawn SELECT next_id(generator => 'j') FROM end_window('j');
COMMIT;
\echo -- Waiting for a window within a statement, a function and a subtransaction, some of which are rolled back.
INSERT INTO drawn SELECT next_id(generator => 'j') FROM generate_series(1, 3), end_window('j');
INSERT INTO drawn SELECT draw_and_fail();
BEGIN;
SELECT next_id(generator => 'j') AS lost \gset
ROLLBACK;
INSERT INTO drawn SELECT :lost UNION ALL SELECT next_id(generator => 'j');
SELECT count(*), count(DISTINCT id), bool_and(is_later) IS TRUE FROM (SELECT id, id > lag(id, 1, 0::bigint) OVER (ORDER BY ctid) AS is_later FROM drawn) s;

\echo -- RESTART, rolled back: the old storage has no window any more. (t/rules has other moves.)
SELECT next_id(generator => 'j') AS last \gset
BEGIN;
ALTER SEQUENCE j RESTART;
SELECT next_id(generator => 'j') AS inside \gset
ROLLBACK;
SELECT :inside > :last, next_id(generator => 'j') > :inside;

\echo -- Refused in a transaction that has created, altered or used the sequence: the worker, another process, does not see
\echo -- its changes.
BEGIN;
CREATE SEQUENCE k;
SELECT try($$SELECT shardid_lease.lease_shard('brief', 'here', generator => 'k')$$);
COMMIT;
BEGIN;
ALTER SEQUENCE k RESTART;
SELECT try($$SELECT shardid_lease.lease_shard('brief', 'here', generator => 'k')$$);
ROLLBACK;
BEGIN;
SELECT next_id(1, 'k') IS NOT NULL, try($$SELECT shardid_lease.lease_shard('brief', 'here', generator => 'k')$$);
ROLLBACK;
SELECT shardid_lease.lease_shard('brief', 'here', generator => 'k'), id_shard(next_id(generator => 'k'));
BEGIN;
SELECT next_id(generator => 'k') IS NOT NULL, shardid_lease.take_over_shard('k'), shardid_lease.release_shard('k'), try($$SELECT next_id(generator => 'k')$$);
ROLLBACK;
SELECT shardid_lease.lease_shard('brief', 'here', generator => 'k');
\echo -- With a timeout of 0 a call does not wait for the registry, which waits for this transaction.
BEGIN;
SELECT shard, end_window('k') IS NOT NULL FROM shardid_lease.granted_shard WHERE space = 'brief' AND shard = 1 FOR UPDATE;
SET shardid_lease.timeout = 0;
SELECT try($$SELECT next_id(generator => 'k')$$);
COMMIT;
SET shardid_lease.timeout = '1 min';
SELECT id_shard(next_id(generator => 'k'));

\echo -- A role that owns its generator, and may be granted shards.
GRANT CREATE ON SCHEMA public TO regress_shardid_member, regress_shardid_other;
SET ROLE regress_shardid_member;
CREATE SEQUENCE of_member;
SELECT try($$SELECT shardid_lease.lease_shard('shop', 'here', generator => 'of_member')$$);
RESET ROLE;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts
    TO regress_shardid_member, regress_shardid_other;
SET ROLE regress_shardid_member;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'of_member', shard => 100);
SELECT generator, shard, state, id_shard(next_id(generator => 'of_member')) FROM shardid_lease.shard_leases;
SELECT space, shard, role, state FROM shardid_lease.id_space_shards ORDER BY space, shard;
SELECT count(*), shardid_lease.renew_leases() FROM shardid_lease.shard_leases;
SELECT count(*), try('SELECT shardid_lease.' || call) FROM unnest(ARRAY[$$lease_shard('shop', 'here')$$,
    $$lease_shard('shop', 'here', generator => 'b')$$, $$release_shard()$$, $$release_shard('b')$$,
    $$take_over_shard('b')$$, $$renew_now('b')$$]) call GROUP BY 2 ORDER BY 1;
\echo -- All that others than superusers may do with the tables.
SELECT format(statement, relation)
FROM unnest(ARRAY['granted_shard', 'leased_generator', 'lease_window', 'registry_confirmation', 'id_space']) relation,
    unnest(ARRAY['SELECT FROM shardid_lease.%s', 'DELETE FROM shardid_lease.%s', 'INSERT INTO shardid_lease.%s DEFAULT VALUES',
        'LOCK shardid_lease.%s IN EXCLUSIVE MODE']) statement
WHERE try(format(statement, relation)) NOT LIKE '42501 | permission denied for table %';
\echo -- A role with USAGE on the sequence draws; the worker asks as the role that leased it.
CREATE SEQUENCE brief_one;
GRANT USAGE ON SEQUENCE brief_one TO regress_shardid_app;
SELECT shardid_lease.lease_shard('brief', 'here', generator => 'brief_one', shard => 9), end_window('brief_one') IS NOT NULL;
SET ROLE regress_shardid_app;
SELECT id_shard(next_id(generator => 'brief_one')) FROM generate_series(1, 2);
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$next_id(generator => 'of_member')$$,
    $$shardid_lease.release_shard('brief_one')$$]) call;
SELECT count(*) FROM shardid_lease.shard_leases;
RESET ROLE;
SELECT role FROM shardid_lease.id_space_shards WHERE space = 'brief' AND shard = 9;
\echo -- pg_monitor sees all and cannot change anything.
GRANT pg_monitor TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT (SELECT count(*) > 3 FROM shardid_lease.shard_leases), count(*) > 3 FROM shardid_lease.id_space_shards;
RESET ROLE;

\echo -- Without the extension a generator has no lease, and draws as before.
SELECT next_id() AS last \gset
SET client_min_messages = warning;
DROP EXTENSION shardid_lease CASCADE;
DROP EXTENSION dblink CASCADE;
DROP EXTENSION postgres_fdw CASCADE;
RESET client_min_messages;
SELECT id_shard(next_id(7)), next_id(7) >> 23 >= :last >> 23, to_regnamespace('shardid_lease') IS NULL;
REVOKE CREATE ON SCHEMA public FROM regress_shardid_member, regress_shardid_other;
DROP OWNED BY regress_shardid_member, regress_shardid_other;
DROP ROLE regress_shardid_app, regress_shardid_member, regress_shardid_other;
-- Clean up for the other topics.
RESET ALL;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET shardid_lease.registry_timeout', current_database()); END $$;
DROP SEQUENCE b, c, unlogged, temporary, of_int, downwards, bound, d, e, f, g, j, k;
DROP TABLE t, drawn;
DROP FUNCTION draw_and_fail, try, try_it;
ALTER SEQUENCE shardid_seq RESTART;
