-- The registry of leases, as members call it: what it grants, refuses and takes back, and to which roles; and the
-- registry in another place, after a restore, and in a dump.
\set ECHO none
\a \t on
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION dblink;
CREATE EXTENSION shardid_lease;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
CREATE ROLE regress_shardid_owner;
CREATE ROLE regress_shardid_member;
CREATE ROLE regress_shardid_other;
CREATE ROLE regress_shardid_app;

-- Replaces what differs in each run: times, places and names of the server.
CREATE FUNCTION plain(message text) RETURNS text LANGUAGE sql RETURN
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(message,
        '\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+\+00', 'TIME', 'g'),
        'host [^,]+, port \d+|place, [^,]+, port \d+', 'HOST', 'g'),
        '\d+ ms ahead', 'N ms ahead', 'g'),
        'host \S+ instead', 'host H instead', 'g'),
        '(system|identifier|of) \d{10,}', '\1 S', 'g'),
        '\m' || session_user || '\M', 'SUPERUSER', 'g');
\getenv source PG_ABS_SRCDIR
\set try :source '/../../sql/try.psql'
\i :try
\set ECHO none
ALTER FUNCTION try RENAME TO try_it;
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE sql RETURN plain(try_it(statement));

-- A member, and the last answer that it received; the last argument of ask() adds to its request.
CREATE TABLE answer (who text PRIMARY KEY, answer jsonb);
CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql RETURN floor(extract(epoch FROM clock_timestamp()) * 1000);
CREATE FUNCTION displaced(space jsonb, shard jsonb) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    RETURN to_jsonb(coalesce((SELECT g.serial FROM shardid_lease.granted_shard g WHERE to_jsonb(g.space) = displaced.space AND to_jsonb(g.shard) = displaced.shard), 0));
END
$$;
CREATE FUNCTION request(who text, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('space', 'shop', 'origin', request.who, 'incarnation', request.who || ' 1', 'place', request.who || ' place',
            'started', 1, 'clock', clock_ms(), 'host', 'db.example', 'port', 5432, 'database', 'app',
            'shard', a.answer->'shard', 'receipt', a.answer->'receipt', 'displaces', displaced(coalesce(more->'space', '"shop"'),
            coalesce(more->'shard', a.answer->'shard'))) || more
    FROM (SELECT) one LEFT JOIN answer a ON a.who = request.who
$$;
-- What is not "joins", "takes_over" or "returns" renews. An incarnation is a family, and where others moved the page.
CREATE FUNCTION typed(r jsonb) RETURNS shardid_lease.request_1 LANGUAGE sql RETURN
    jsonb_populate_record(NULL::shardid_lease.request_1, r || jsonb_build_object('family', split_part(r->>'incarnation', '@', 1),
        'moved_at', coalesce(nullif(split_part(r->>'incarnation', '@', 2), ''), '0/1'), 'kind',
        CASE 'true' WHEN r->>'joins' THEN 'join' WHEN r->>'takes_over' THEN 'take_over' WHEN r->>'returns' THEN 'return' ELSE 'renew' END));
-- The receipt as receipts() gives it, which this is too early for: before the commit.
CREATE FUNCTION noted(who text, answer jsonb) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF answer->>'error' IS NULL THEN
        answer := answer || (SELECT jsonb_build_object('until', g.until_ms, 'registry', s.identity, 'receipt',
                shardid_lease.signed(s, concat_ws('.', g.shard, s.branch, g.serial, g.until_ms)))
            FROM shardid_lease.granted_shard g JOIN shardid_lease.id_space s ON s.name = g.space
            WHERE g.space = answer->>'space' AND g.shard = (answer->>'shard')::int);
        INSERT INTO answer AS a VALUES (who, answer) ON CONFLICT ON CONSTRAINT answer_pkey DO UPDATE SET answer = a.answer || excluded.answer;
        RETURN format('ok: shard %s, serial %s', answer->>'shard', answer->>'serial');
    END IF;
    RETURN CASE WHEN (answer->>'is_final')::boolean THEN 'final: ' ELSE '' END || plain(answer->>'error');
END
$$;
CREATE FUNCTION ask(who text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN noted(who, to_jsonb((shardid_lease.grant_shards(ARRAY[typed(request(who, more))]))[1]));
END
$$;
CREATE FUNCTION give_back(who text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN ask(who, more || '{"returns": true}');
END
$$;
CREATE FUNCTION confirmed_as(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM shardid_lease.registry_confirmation;
    INSERT INTO shardid_lease.registry_confirmation TABLE confirmed;
    EXECUTE 'UPDATE shardid_lease.registry_confirmation SET ' || change;
    RETURN change;
END
$$;
CREATE FUNCTION tick_at(ms bigint) RETURNS bigint LANGUAGE sql RETURN ms << 10;
GRANT SELECT, INSERT, UPDATE ON answer TO PUBLIC;

\echo -- Times are exact, also milliseconds that a double cannot hold.
SELECT count(*), count(*) FILTER (WHERE shardid_lease.ms_of(epoch + ms * interval '1 ms') IS DISTINCT FROM
    floor(extract(epoch FROM epoch) * 1000)::bigint + ms) AS wrong
FROM unnest(ARRAY['1961-01-01', '1969-12-31 23:59:00', '1978-03-04 05:06:07.089', '1987-06-05 04:03:02.001', '2004-02-29 12:00:00.999',
        '2038-01-19 03:13:00', '2039-12-31 23:59:00']::timestamptz[]) epoch,
    generate_series(0, 100000, 7) ms;
SELECT shardid_lease.ms_of('2011-08-24 21:07:01.721+00'), shardid_lease.ms_of('1969-12-31 23:59:59.999+00'),
    shardid_lease.ms_of('1969-12-31 23:59:59.9991+00'), shardid_lease.ts_of(-1, '2011-08-24 21:07:01.721+00');

\echo -- Names that are looked up late.
CREATE SEQUENCE "Odd.name";
SELECT 'regress_shardid_app'::shardid_lease.late_name, shardid_lease.role_oid('regress_shardid_app') = 'regress_shardid_app'::regrole,
    shardid_lease.role_oid('nobody at all'), shardid_lease.role_oid(''), shardid_lease.role_ref(0::oid);
SELECT count(*), count(shardid_lease.sequence_oid(name::shardid_lease.late_name)), shardid_lease.sequence_oid('public."Odd.name"') = '"Odd.name"'::regclass
FROM unnest(ARRAY['"Odd.name"', 'public.odd', 'no."Odd.name"', 'public.answer', 'a.b.c', '', '.', '"', 'public."Odd.name" x', '16384']) name;
DROP SEQUENCE "Odd.name";

\echo -- Id spaces, and calls that are refused.
SELECT shardid_lease.create_id_space('shop');
SELECT name, owner::text = session_user, epoch, shard_bits, sequence_bits, lease_ms, max_ahead_ms, not_before,
    was_set_back, timeline, length(identity), length(secret) > 60, place = (shardid_lease.this_server()).place, was_restored
FROM shardid_lease.id_space JOIN shardid_lease.registry_confirmation USING (identity);
SELECT try('SELECT shardid_lease.create_id_space(' || arguments || ')')
FROM unnest(ARRAY[$$'shop'$$, 'NULL', $$''$$, $$repeat('x', 64)$$, $$'s', lease => NULL$$, $$'s', lease => '999 ms'$$,
    $$'s', max_ahead => '59 s'$$, $$'s', max_ahead => '5 h 59 min 1 s'$$, $$'s', lease => '2 h 1 ms'$$,
    $$'s', shard_bits => 32$$, $$'s', epoch => '2020-01-01 00:00:00.0001'$$]) arguments;
SELECT try(format('SELECT shardid_lease.%s', call))
FROM unnest(ARRAY[$$create_id_space(repeat('x', 63))$$, $$drop_id_space(repeat('x', 63))$$, $$drop_id_space('none')$$]) call;

\echo -- No lease ends by itself on a machine that is slow.
UPDATE shardid_lease.id_space SET lease_ms = 600000, max_ahead_ms = 3000000;

\echo -- Requests that are incomplete, or nonsense.
SELECT ask('a', jsonb_build_object('shard', 0, key, NULL)), count(*)
FROM unnest(ARRAY['origin', 'incarnation', 'place', 'started', 'clock', 'host', 'port', 'database']) key GROUP BY 1;
SELECT ask('a', '{"shard": 0}' || request)
FROM unnest(ARRAY['{"space": "none"}', jsonb_build_object('host', repeat('x', 4000)), '{"host": "h\nLOG:  it"}', '{"registry": "another"}', '{"shard": 8192, "joins": true}',
    '{"shard": -1, "joins": true}', '{"bound_epoch": 1, "bound_shard_bits": 13, "bound_sequence_bits": 10}']) request;
SELECT shardid_lease.grant_shards('{}'), shardid_lease.grant_shards(NULL), error FROM unnest(shardid_lease.grant_shards('{NULL}'));
SELECT count(*), try(format('SELECT shardid_lease.%s(%L)', name, argument))
FROM unnest(ARRAY['grant_shards', 'receipts']) name, unnest(ARRAY['1', '{1}', '{"(1)"}']) argument GROUP BY 2 ORDER BY min(length(argument));
SELECT give_back('a'), give_back('a', '{"shard": 3}'), count(*) FROM shardid_lease.granted_shard;

\echo -- A join, renewals, serials, and the holder of the window.
SELECT ask('a'), ask('a', '{"joins": true}');
SELECT from_ms, until_ms FROM shardid_lease.granted_shard WHERE shard = 0 \gset
SELECT ask('a'), ask('a');
SELECT from_ms = :from_ms, until_ms >= :until_ms, serial, state, host, port, database FROM shardid_lease.granted_shard;
\echo -- The window comes after the commit: by another call, in a transaction that has changed nothing.
SELECT ARRAY[jsonb_populate_record(NULL::shardid_lease.grant_1, answer)] AS of_a FROM answer WHERE who = 'a' \gset
SELECT jsonb_strip_nulls(to_jsonb(c)) - ARRAY['from_ms', 'until_ms', 'receipt', 'registry', 'moved_at'] FROM unnest(shardid_lease.receipts(:'of_a')) c;
SELECT c.receipt = answer->>'receipt', c.until_ms = g.until_ms, c.from_ms = g.from_ms
FROM unnest(shardid_lease.receipts(:'of_a')) c, answer, shardid_lease.granted_shard g WHERE who = 'a';
BEGIN;
SELECT ask('a'), try(format('SELECT shardid_lease.receipts(%L)', :'of_a'));
ROLLBACK;
SELECT count(*), c.error, c.is_later FROM unnest(shardid_lease.receipts(ARRAY(
    SELECT jsonb_populate_record(g, change) FROM unnest(:'of_a'::shardid_lease.grant_1[]) g,
        unnest(ARRAY['{"error": "no"}', '{"serial": 99}', '{"origin": "b"}', '{"shard": null}', '{"space": "none"}']::jsonb[]) change))) c GROUP BY 2, 3 ORDER BY 1;
\echo -- A member that joins again, or restarts in its place, begins after its old window. That is ahead of the clock, so each
\echo -- window there, and each renewal, is a small step longer, and not a lease of 600 s.
SELECT until_ms, ask('a', '{"joins": true}') FROM shardid_lease.granted_shard WHERE shard = 0 \gset
SELECT from_ms = :until_ms, until_ms - from_ms BETWEEN 18750 AND 60000, serial FROM shardid_lease.granted_shard;
SELECT until_ms, ask('a', '{"incarnation": "a 2"}') FROM shardid_lease.granted_shard WHERE shard = 0 \gset
SELECT from_ms = :until_ms, serial FROM shardid_lease.granted_shard;
SELECT ask('a', jsonb_build_object('incarnation', 'a 2', 'tick', tick_at(:until_ms + 10000)));
SELECT until_ms - from_ms BETWEEN 28750 AND 60000 FROM shardid_lease.granted_shard;
SELECT ask('a', request) FROM unnest(ARRAY['{"incarnation": "a 3", "place": "copy"}', '{"incarnation": "a 3", "place": "copy", "takes_over": true}',
    '{"incarnation": "a 2"}', '{"incarnation": "a 4", "takes_over": true}']::jsonb[]) request;
\echo -- A late takeover displaces nobody.
SELECT ask('a', '{"incarnation": "a 5", "place": "copy", "takes_over": true, "displaces": 7}'), ask('a', '{"incarnation": "a 5", "takes_over": true, "displaces": null}');
SELECT serial FROM unnest(shardid_lease.receipts(NULL, ARRAY[typed('{"space": "shop", "shard": 0}'), typed('{"space": "shop", "shard": 99}')]));
SELECT ask('b', '{"shard": 0, "joins": true}'), ask('b', '{"shard": 0, "takes_over": true}'), ask('b', '{"shard": 0}');
SELECT ask('b', '{"joins": true}'), ask('b', '{"joins": true, "shard": null, "place": "copy"}'), ask('c', '{"joins": true, "shard": 7}');
\echo -- A member that received no answer and asks again, without a shard, gets the same shard.
DELETE FROM answer WHERE who = 'b';
SELECT ask('b', '{"joins": true}');
SELECT space, shard, state, host, port, database, role::text = session_user, since <= now(), until > now(), comment
FROM shardid_lease.id_space_shards ORDER BY shard;

\echo -- Clocks and ticks are checked separately.
SELECT ask('c', request)
FROM shardid_lease.id_space, unnest(ARRAY[jsonb_build_object('clock', clock_ms() + 3600000), jsonb_build_object('tick', tick_at(shardid_lease.now_ms(epoch) + 3600000)),
    jsonb_build_object('clock', 1), jsonb_build_object('clock', 1, 'tick', tick_at(shardid_lease.now_ms(epoch) + 2999999))]) request;
\echo -- A renewal that arrives late takes nothing back.
SELECT until_ms, ask('c', jsonb_build_object('clock', 1)) FROM shardid_lease.granted_shard WHERE shard = 7 \gset
SELECT until_ms = :until_ms, serial, ask('c', '{"joins": true}') FROM shardid_lease.granted_shard WHERE shard = 7;

\echo -- Two servers with one place: a start that comes back after another one. A takeover decides.
SELECT ask('t', '{"joins": true, "shard": 60}'), ask('t', '{"started": 2, "incarnation": "t 2"}'), ask('t', '{"started": 3, "incarnation": "t 3"}');
SELECT ask('t'), ask('t', '{"started": 2, "incarnation": "t 2"}'), ask('t', '{"started": 3, "incarnation": "t 3"}');
SELECT ask('t', '{"takes_over": true}'), ask('t', '{"started": 3, "incarnation": "t 3"}'), ask('t');
SELECT count(ask('t', jsonb_build_object('started', n))) FROM generate_series(4, 20) n;
SELECT starts FROM shardid_lease.granted_shard WHERE shard = 60;

\echo -- A page that nobody has moved is of whatever incarnation of its family had a window last: sessions that do not know of
\echo '-- each other''s requests share the window.'
SELECT ask('p', '{"joins": true, "shard": 61, "incarnation": "p@0/0"}'), ask('p', '{"incarnation": "p@0/5"}');
SELECT from_ms FROM shardid_lease.granted_shard WHERE shard = 61 \gset
SELECT ask('p', '{"incarnation": "p@0/0"}'), ask('p', '{"incarnation": "p@0/5"}'), ask('p', '{"incarnation": "p@0/0"}');
SELECT family, moved_at = '0/5', from_ms = :from_ms FROM shardid_lease.granted_shard WHERE shard = 61;
SELECT ask('p', '{"incarnation": "p@0/4"}'), ask('p', '{"incarnation": "other@0/0"}');
SELECT family, moved_at = '0/0', from_ms > :from_ms FROM shardid_lease.granted_shard WHERE shard = 61;

\echo -- Released by its own generator, in its place or by its incarnation. The window is kept: the next one begins after it.
SELECT give_back('x', '{"shard": 7}'), give_back('b', '{"shard": 7}');
SELECT answer->>'receipt' AS old FROM answer WHERE who = 'b' \gset
SELECT ask('b', '{"joins": true}'), give_back('b', '{"incarnation": "b 2", "place": "copy"}');
SELECT until_ms, give_back('b') FROM shardid_lease.granted_shard WHERE shard = 1 \gset
SELECT until_ms = :until_ms, state, give_back('b'), give_back('b', '{"incarnation": "b 9"}') FROM shardid_lease.granted_shard WHERE shard = 1;
\echo -- No late request of this lease undoes a release; the generator joins by another one.
SELECT ask('b'), ask('b', jsonb_build_object('joins', true, 'receipt', :'old')), ask('b', '{"joins": true}');
SELECT ask('b', '{"lease": "anew", "joins": true}'), ask('b', '{"lease": "anew"}');
SELECT from_ms = :until_ms FROM shardid_lease.granted_shard WHERE shard = 1;
SELECT give_back('b'), ask('d', '{"joins": true}'), give_back('b', '{"lease": "anew", "incarnation": "b 2"}');

\echo -- Evicted: renewals are refused; other members can lease it, and the former holder by a takeover.
SELECT shardid_lease.evict_shard('shop', 7), try($$SELECT shardid_lease.evict_shard('shop', 7)$$), ask('c'), ask('c', '{"joins": true}'), give_back('c');
UPDATE shardid_lease.granted_shard SET until_ms = 1000, from_ms = 0 WHERE shard = 7;
SELECT ask('c', '{"takes_over": true}'), shardid_lease.evict_shard('shop', 7), ask('e', '{"shard": 7, "joins": true}'), ask('c', '{"takes_over": true}');

\echo -- Expired, long ago: only a takeover moves it to another place, and only an eviction to another member.
UPDATE shardid_lease.granted_shard SET until_ms = 1000, from_ms = 0 WHERE shard = 7;
SELECT ask('e', '{"incarnation": "e 2", "place": "copy"}'), ask('e', '{"incarnation": "e 2", "place": "copy", "joins": true}'), ask('f', '{"shard": 7, "joins": true}');
SELECT state, ask('e', '{"incarnation": "e 2", "place": "copy", "takes_over": true}') FROM shardid_lease.id_space_shards WHERE shard = 7;
SELECT shardid_lease.evict_shard('shop', 7), ask('f', '{"shard": 7}'), ask('f', '{"shard": 7, "takes_over": true}'), ask('f', '{"shard": 7, "joins": true}'), ask('e');

\echo -- Reserved: it is never granted.
SELECT shardid_lease.reserve_shard('shop', 9, 'the old server'), shardid_lease.reserve_shard('shop', 9, 'the old server in the cellar'),
    shardid_lease.reserve_shard('shop', 10), ask('g', '{"shard": 9, "joins": true}'), ask('g', '{"shard": 10, "takes_over": true}'), give_back('g', '{"shard": 9}');
SELECT shard, state, until, comment FROM shardid_lease.id_space_shards WHERE state = 'reserved' ORDER BY shard;
SELECT try(format('SELECT shardid_lease.%s', call))
FROM unnest(ARRAY[$$reserve_shard('shop', 7)$$, $$reserve_shard('shop', NULL)$$, $$reserve_shard('shop', 8192)$$,
    $$reserve_shard('none', 1)$$, $$reserve_shard(NULL, 1)$$, $$unreserve_shard('shop', 7)$$, $$unreserve_shard('shop', 11)$$,
    $$evict_shard('shop', 9)$$, $$drop_id_space('shop')$$]) call;
SELECT date_trunc('milliseconds', clock_timestamp()) + interval '50 min' AS earliest, shardid_lease.unreserve_shard('shop', 10) \gset
SELECT state, comment, until BETWEEN :'earliest' AND clock_timestamp() + interval '50 min', try($$SELECT shardid_lease.reserve_shard('shop', 10)$$)
FROM shardid_lease.id_space_shards WHERE shard = 10;
UPDATE shardid_lease.granted_shard SET until_ms = 1000 WHERE shard = 10;
SELECT ask('g', '{"shard": 10, "joins": true}'), shardid_lease.evict_shard('shop', 10);
UPDATE shardid_lease.granted_shard SET until_ms = 1000 WHERE shard = 10;
SELECT shardid_lease.reserve_shard('shop', 10) \gset
SELECT origin, place, family, moved_at, role, host, serial FROM shardid_lease.granted_shard WHERE shard = 10;

\echo '-- Only with READ COMMITTED. No setting of the caller''s transaction is changed.'
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*), try(format('SELECT shardid_lease.%s', call))
FROM unnest(ARRAY[$$grant_shards('{}')$$, $$receipts('{}')$$, $$create_id_space('s')$$, $$drop_id_space('shop')$$, $$evict_shard('shop', 1)$$,
    $$reserve_shard('shop', 1)$$, $$unreserve_shard('shop', 1)$$, 'registry_was_restored()', 'registry_was_moved()']) call GROUP BY 2;
ROLLBACK;

\echo -- Receipts: a forged one stops nothing; one of a forgotten grant stops the registry.
SELECT ask('a'), ask('a', '{"receipt": ""}'), ask('a', '{"receipt": "0.x.99.1.00"}');
SELECT ask('a', jsonb_build_object('receipt', regexp_replace(answer->>'receipt', '^(\d+)\.([^.]+)\.(\d+)', '\1.\2.999'))) FROM answer WHERE who = 'a';
SELECT count(*), count(*) FILTER (WHERE ask('a', jsonb_build_object('receipt', array_to_string(parts[:n - 1] || changed || parts[n + 1:], '.'))) ~ '^ok')
FROM answer, string_to_array(answer->>'receipt', '.') parts, generate_series(1, 5) n,
    unnest(ARRAY['', parts[n] || '0', translate(parts[n], '0123456789abcdef', '123456789abcdef0')]) changed
WHERE who = 'a';
SELECT ask('a'), was_set_back FROM shardid_lease.id_space;
\echo -- The registry is set back; a receipt for another shard proves it as well.
UPDATE shardid_lease.granted_shard SET serial = serial - 1 WHERE shard = 0;
SELECT ask('h', '{"joins": true}') ~ '^ok', ask('a', '{"joins": true, "shard": null}');
SELECT was_set_back, ask('a'), ask('h'), give_back('h') FROM shardid_lease.id_space;
SELECT count(*), try(format('SELECT shardid_lease.%s', call))
FROM unnest(ARRAY[$$drop_id_space('shop')$$, $$evict_shard('shop', 1)$$, $$reserve_shard('shop', 1)$$, $$unreserve_shard('shop', 10)$$,
    'registry_was_moved()']) call GROUP BY 2 ORDER BY 1;
UPDATE shardid_lease.granted_shard SET until_ms = until_ms + 1800000 WHERE shard = 60;
SELECT greatest(max(until_ms), shardid_lease.now_ms(epoch)) AS highest FROM shardid_lease.granted_shard, shardid_lease.id_space GROUP BY epoch \gset
SELECT branch, shardid_lease.registry_was_restored() FROM shardid_lease.id_space \gset
SELECT was_set_back, branch <> :'branch', not_before = :highest + 3600000 FROM shardid_lease.id_space;
\echo -- Called again, it changes nothing before the next grant.
SELECT not_before, branch, shardid_lease.registry_was_restored() FROM shardid_lease.id_space \gset
SELECT not_before = :not_before, branch = :'branch', ask('a'), ask('h') FROM shardid_lease.id_space;
SELECT g.from_ms = s.not_before FROM shardid_lease.granted_shard g, shardid_lease.id_space s WHERE g.shard = 0;
\echo -- A forgotten reservation can be made again at once, with a warning.
SET client_min_messages = error;
SELECT try($$SELECT shardid_lease.reserve_shard('shop', 99)$$), shardid_lease.unreserve_shard('shop', 99), try($$SELECT shardid_lease.drop_id_space('shop')$$);
SET client_min_messages = warning;
\echo -- A renewal of a lost grant is granted; a renewal without any grant is not.
SELECT ask('i', '{"joins": true, "shard": 50}');
DELETE FROM shardid_lease.granted_shard WHERE shard = 50;
UPDATE shardid_lease.id_space SET branch = 'forgotten', not_before = not_before + 7200000;
SELECT ask('j', '{"shard": 50}'), ask('i');
\echo -- But not if the owner has evicted it since the restore.
UPDATE shardid_lease.id_space SET branch = 'forgotten again', not_before = not_before + 7200000;
UPDATE shardid_lease.granted_shard SET serial = 0 WHERE shard = 50;
SELECT shardid_lease.evict_shard('shop', 50), ask('i'), ask('i', '{"takes_over": true}');
\echo -- A receipt of another branch that is later than this registry knows: it stops, and knows until when.
UPDATE shardid_lease.id_space SET branch = 'clone', not_before = 0;
SELECT ask('i') \gset
SELECT :'ask', not_before = (SELECT (answer->>'until')::bigint FROM answer WHERE who = 'i'), was_set_back FROM shardid_lease.id_space;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT shardid_lease.registry_was_restored('infinity');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT shardid_lease.registry_was_restored('-infinity'), date_trunc('second', clock_timestamp()) + interval '23 h' AS newest \gset
SELECT shardid_lease.registry_was_restored(:'newest') \gset
SELECT shardid_lease.ts_of(not_before, epoch) - :'newest'::timestamptz FROM shardid_lease.id_space;
UPDATE shardid_lease.id_space SET not_before = 0, was_set_back = false;
UPDATE answer SET answer = answer - 'receipt';

\echo -- Another place, a dump, a base backup or another timeline.
SELECT place, system_identifier FROM shardid_lease.registry_confirmation \gset
UPDATE shardid_lease.registry_confirmation SET place = 'elsewhere';
SELECT ask('a', '{"joins": true}'), give_back('a'), try($$SELECT shardid_lease.evict_shard('shop', 0)$$), shardid_lease.registry_was_moved();
SELECT place = :'place' FROM shardid_lease.registry_confirmation;
CREATE TABLE confirmed AS TABLE shardid_lease.registry_confirmation;
SELECT confirmed_as(change), ask('a'), try('SELECT shardid_lease.registry_was_moved()')
FROM unnest(ARRAY['timeline = 0', 'timeline = -1', 'timeline = 2', $$system_identifier = '1', timeline = 5$$, $$host = 'former'$$,
    $$place = replace(place, '/', '/9'), database = 'former'$$]) change;
\echo -- That somebody has removed the file backup_label.old does not matter, only that there is another one.
SELECT confirmed_as('backup = backup'), ask('a');
SELECT here, shardid_lease.where_differs(jsonb_populate_record(c, '{"backup": "known"}'), jsonb_populate_record(c, jsonb_build_object('backup', here)))
FROM shardid_lease.registry_confirmation c, unnest(ARRAY['', 'known', 'of another']) here;
\echo -- Nor is anything granted where logical replication can change the tables.
BEGIN;
ALTER TABLE shardid_lease.granted_shard ENABLE TRIGGER keep_own_rows;
SELECT ask('a');
ROLLBACK;
DELETE FROM shardid_lease.registry_confirmation;
SELECT ask('a'), try('SELECT shardid_lease.registry_was_moved()'), shardid_lease.registry_was_restored();
SELECT timeline, system_identifier = :'system_identifier' FROM shardid_lease.registry_confirmation;
UPDATE shardid_lease.id_space SET not_before = 0;

\echo -- A receipt that is a day ahead stops nothing.
SELECT ask('z', jsonb_build_object('shard', 70, 'receipt', shardid_lease.signed(s, concat_ws('.', 70, 'of a copy', 1, shardid_lease.now_ms(epoch) + 172800000)))),
    was_set_back FROM shardid_lease.id_space s;

\echo -- Privileges: all that others than superusers may call at first.
SELECT p.oid::regprocedure FROM pg_proc p
WHERE pronamespace = 'shardid_lease'::regnamespace AND has_function_privilege('regress_shardid_app', p.oid, 'EXECUTE')
ORDER BY p.oid::regprocedure::text COLLATE "C";
SET ROLE regress_shardid_app;
SELECT name, owner IS NOT NULL, was_set_back, timeline FROM shardid_lease.id_space JOIN shardid_lease.registry_confirmation USING (identity);
SELECT count(*), try('SELECT ' || columns || ' FROM shardid_lease.id_space') FROM unnest(ARRAY['secret', 'branch', '*']) columns GROUP BY 2;
SELECT count(*), try($$SELECT shardid_lease.grant_shards('{}')$$) FROM shardid_lease.id_space_shards;
RESET ROLE;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO regress_shardid_member, regress_shardid_other;
GRANT EXECUTE ON FUNCTION shardid_lease.create_id_space, shardid_lease.drop_id_space, shardid_lease.evict_shard, shardid_lease.reserve_shard,
    shardid_lease.registry_was_restored, shardid_lease.registry_was_moved TO regress_shardid_owner, regress_shardid_other;
SET ROLE regress_shardid_owner;
SELECT try('SELECT shardid_lease.registry_was_restored()'), shardid_lease.create_id_space('mine', lease => '10 min'), shardid_lease.registry_was_moved(),
    try($$SELECT shardid_lease.drop_id_space('shop')$$);
SET ROLE regress_shardid_member;
SELECT ask('m', '{"space": "mine", "joins": true}');
SELECT ARRAY[jsonb_populate_record(NULL::shardid_lease.grant_1, answer)] AS of_m FROM answer WHERE who = 'm' \gset
SELECT receipt <> '' FROM unnest(shardid_lease.receipts(:'of_m'));
\echo -- Another role cannot pretend to be the holder, and is given no receipt.
SET ROLE regress_shardid_other;
SELECT receipt, error FROM unnest(shardid_lease.receipts(:'of_m'));
SELECT ask('m', '{"space": "mine"}'), ask('m', '{"space": "mine", "takes_over": true}'), give_back('m', '{"space": "mine"}');
SELECT try('SELECT shardid_lease.' || call)
FROM unnest(ARRAY[$$evict_shard('mine', 0)$$, $$registry_was_moved()$$]) call;
SELECT count(*) FROM shardid_lease.id_space_shards;
RESET ROLE;
\echo -- A role that was renamed, and its members, can continue; a missing role refuses.
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO regress_shardid_app;
ALTER ROLE regress_shardid_member RENAME TO regress_shardid_renamed;
GRANT regress_shardid_renamed TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT ask('m', '{"space": "mine"}'), role FROM shardid_lease.id_space_shards WHERE space = 'mine';
RESET ROLE;
ALTER ROLE regress_shardid_renamed RENAME TO regress_shardid_member;

\echo -- A dump contains names of roles, which may not exist where it is restored, and not where the registry was confirmed.
COPY (SELECT space, shard, role FROM shardid_lease.granted_shard WHERE space = 'mine') TO STDOUT;
COPY (SELECT name, owner FROM shardid_lease.id_space WHERE name = 'mine') TO STDOUT;
SELECT extconfig::regclass[] @> ARRAY['shardid_lease.id_space', 'shardid_lease.granted_shard']::regclass[],
    'shardid_lease.registry_confirmation'::regclass = ANY (extconfig)
FROM pg_extension WHERE extname = 'shardid_lease';
UPDATE shardid_lease.granted_shard SET role = 'regress_shardid_gone' WHERE space = 'mine';
UPDATE shardid_lease.id_space SET owner = 'regress_shardid_gone' WHERE name = 'mine';
SELECT ask('m', '{"space": "mine"}'), role FROM shardid_lease.id_space_shards WHERE space = 'mine';
SET ROLE regress_shardid_owner;
SELECT try($$SELECT shardid_lease.evict_shard('mine', 0)$$);
RESET ROLE;
CREATE ROLE regress_shardid_gone IN ROLE regress_shardid_member;
GRANT EXECUTE ON FUNCTION shardid_lease.evict_shard, shardid_lease.registry_was_restored TO regress_shardid_gone;
SET ROLE regress_shardid_gone;
SELECT ask('m', '{"space": "mine"}'), shardid_lease.registry_was_restored();
RESET ROLE;
\echo -- From then on roles are stored by OID.
ALTER ROLE regress_shardid_gone RENAME TO regress_shardid_found;
SELECT owner, role, try($$SELECT shardid_lease.drop_id_space('mine')$$) FROM shardid_lease.id_space JOIN shardid_lease.granted_shard ON name = space WHERE name = 'mine';

\echo '-- An id space is used once: what was granted is never forgotten. Of another one''s leases only a takeover remains.'
UPDATE shardid_lease.id_space SET not_before = 0 WHERE name = 'mine';
UPDATE shardid_lease.granted_shard SET from_ms = 0, until_ms = 1000, state = 'released' WHERE space = 'mine';
SELECT try($$SELECT shardid_lease.drop_id_space('mine')$$), ask('m', '{"space": "mine", "registry": "another"}'), ask('m', '{"space": "mine", "registry": "another", "takes_over": true}');
SELECT shardid_lease.create_id_space('late', epoch => '2100-01-01 00:00:00+00') \gset
SELECT not_before, ask('l', '{"space": "late", "joins": true}') FROM shardid_lease.id_space WHERE name = 'late';

\echo -- Whatever a member sends is an answer of its own: it costs the others of the batch nothing, nor any later request.
SELECT shardid_lease.create_id_space('odd'), ask('good', '{"space": "odd", "joins": true}');
CREATE TABLE odd AS
SELECT jsonb_build_object(key, value) AS value
FROM unnest(ARRAY['shard', 'port', 'bound_shard_bits', 'tick', 'started', 'clock', 'bound_epoch', 'displaces', 'serial', 'from_ms', 'until_ms',
        'lease_ms', 'epoch_ms', 'sequence_bits']) WITH ORDINALITY k(key, number),
    unnest(ARRAY['null', '-1', '0', '65535', '65536', '2147483647', '-2147483648', '9223372036854775807', '-9223372036854775808']::jsonb[]) value
WHERE key NOT IN ('shard', 'port', 'bound_shard_bits', 'sequence_bits') OR value = 'null' OR value::text::numeric BETWEEN -2147483648 AND 2147483647
UNION ALL SELECT jsonb_build_object(key, value)
FROM unnest(ARRAY['space', 'origin', 'lease', 'incarnation', 'family', 'moved_at', 'place', 'receipt', 'registry', 'joins', 'takes_over', 'returns',
    'host', 'database', 'error', 'is_final', 'is_later']) key, unnest(ARRAY['null', '"0/7"', 'true']::jsonb[]) value
WHERE key NOT IN ('moved_at', 'is_final', 'is_later') OR value = 'null' OR key = 'moved_at' AND value = '"0/7"';
SELECT count(*), count(*) FILTER (WHERE e.error IS NULL)
FROM odd, unnest(ARRAY['{"joins": true}', '{"joins": true, "shard": 4}', '{"shard": 4, "takes_over": true}', '{"shard": 4}', '{"shard": 4, "returns": true}']::jsonb[]) kind,
    LATERAL unnest(shardid_lease.grant_shards(ARRAY[typed(request('odd', '{"space": "odd"}' || kind || value)), typed(request('good', '{"space": "odd"}'))])) e
WHERE e.origin = 'good';
SELECT ask('last', '{"space": "odd", "joins": true}') ~ '^ok', ask('good', '{"space": "odd"}') ~ '^ok';
SELECT count(*) > 3, max(until) < now() + interval '7 min' FROM shardid_lease.id_space_shards WHERE space = 'odd';
SELECT count(*), count(r.receipt)
FROM odd, unnest(shardid_lease.receipts(ARRAY[jsonb_populate_record(NULL::shardid_lease.grant_1, '{"space": "odd", "shard": 0, "serial": 1}' || value)])) r;

\echo -- Nor does what a registry answers: a member finds a fault in it, or takes what is a valid time and shard.
SELECT count(*), count(*) FILTER (WHERE (c).fault IS NULL),
    bool_and((c).answer.from_ms >= 0 AND (c).answer.until_ms > (c).answer.from_ms AND (c).answer.until_ms <= 1::bigint << 47) FILTER (WHERE (c).fault IS NULL)
FROM odd, LATERAL (SELECT shardid_lease.check_answer(typed(asked || '{"joins": true}'), (ARRAY[jsonb_populate_record(NULL::shardid_lease.grant_1,
        asked || granted || value)], NULL, false)) AS c
    FROM (SELECT '{"origin": "o", "lease": "l", "incarnation": "i@0/0", "shard": 1}'::jsonb AS asked, '{"family": "i", "moved_at": "0/5", "from_ms": 1, "until_ms": 60001,
        "lease_ms": 60000, "serial": 1, "receipt": "r", "registry": "here", "shard_bits": 13, "sequence_bits": 10, "epoch_ms": 0}'::jsonb AS granted) a) a;
SELECT count(*) FROM unnest(ARRAY['', 'x', '1', '{1}', '{{}', '{"()"}', '[]', repeat('{', 1000000)]) said WHERE shardid_lease.read_answers(said) IS NULL;

\echo -- All shards taken.
SELECT shardid_lease.create_id_space('one', shard_bits => 0), ask('o1', '{"space": "one", "joins": true}'), ask('o2', '{"space": "one", "joins": true}');
SELECT shardid_lease.create_id_space('wide', shard_bits => 31, sequence_bits => 0), ask('w', '{"space": "wide", "joins": true, "shard": 2147483647}');

DROP FUNCTION typed;
\echo -- Who drops the extension drops what was granted: only CASCADE does so.
SELECT try('DROP EXTENSION shardid_lease');
DROP EXTENSION shardid_lease CASCADE;
DROP EXTENSION dblink CASCADE;
DROP TABLE answer, confirmed, odd;
DROP FUNCTION ask, confirmed_as, give_back, noted, request, displaced, clock_ms, tick_at, try, try_it, plain;
DROP OWNED BY regress_shardid_owner, regress_shardid_member, regress_shardid_other, regress_shardid_app, regress_shardid_found;
DROP ROLE regress_shardid_owner, regress_shardid_member, regress_shardid_other, regress_shardid_app, regress_shardid_found;
