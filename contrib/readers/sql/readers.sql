-- Readers: what each function does and refuses, which roles may call it, and the rows of partitions and under row security.
\set ECHO none
\set SHOW_CONTEXT never
\getenv source PG_ABS_SRCDIR
\set try :source '/../../sql/try.psql'
\i :try
\set ECHO none
CREATE SEQUENCE order_ids CACHE 2; CREATE SEQUENCE other_ids CACHE 2; CREATE SEQUENCE plain_ids;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass), item text);
CREATE TABLE mails (id bigint PRIMARY KEY, item text);

\echo -- What add_reader refuses.
SELECT try($$SELECT shardid_readers.add_reader('mailer', 'orders')$$);
INSERT INTO orders (item) VALUES ('lamp'), ('chair');
CREATE VIEW as_view AS SELECT * FROM orders;
CREATE TEMPORARY TABLE passing (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass));
CREATE TABLE serials (id bigserial PRIMARY KEY);
CREATE TABLE uncached (id bigint PRIMARY KEY DEFAULT next_id(1, 'plain_ids'::regclass));
CREATE TABLE twice (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass), more bigint DEFAULT next_id(1, 'other_ids'::regclass));
CREATE TABLE chosen (id bigint PRIMARY KEY DEFAULT next_id(1, CASE WHEN random() < 2 THEN 'order_ids'::regclass END));
CREATE TABLE without_index (id bigint DEFAULT next_id(1, 'order_ids'::regclass), item text, PRIMARY KEY (item, id));
CREATE TABLE parted (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass), item text) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted (id DEFAULT next_id(1, 'other_ids'::regclass)) DEFAULT;
CREATE TABLE parent (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass));
CREATE TABLE child () INHERITS (parent);
CREATE TABLE grandchild (id bigint DEFAULT next_id(1, 'other_ids'::regclass)) INHERITS (child);
CREATE TABLE spread (id bigint PRIMARY KEY DEFAULT next_id(1, 'order_ids'::regclass));
CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far FOREIGN DATA WRAPPER far;
CREATE FOREIGN TABLE abroad () INHERITS (spread) SERVER far;
SELECT tab, try(format('SELECT shardid_readers.add_reader(''r'', %L)', tab))
FROM unnest(ARRAY['as_view', 'passing', 'serials', 'uncached', 'twice', 'chosen', 'without_index', 'parted', 'parent', 'spread']) tab;
SELECT substring(try($$SELECT shardid_readers.add_reader('r', 'twice')$$) FROM 'run (.*DROP DEFAULT)') AS hint \gset
:hint;
SELECT shardid_readers.add_reader('r', 'twice', 0), shardid_readers.drop_reader('r');
SELECT try($$SELECT shardid_readers.add_reader(NULL, 'orders')$$);
SELECT try($$SELECT shardid_readers.add_reader('r', 'orders', shares => 0)$$);
SELECT try($$SELECT shardid_readers.add_reader('r', 'orders', shares => NULL)$$);
SELECT try($$SELECT shardid_readers.add_reader(repeat('r', 64), 'orders')$$);
SELECT try($$SELECT shardid_readers.add_reader('r', 'orders', role => 'nobody_here')$$);

\echo -- From now, from an id.
SELECT pg_sleep(0.002) \gset
SELECT shardid_readers.add_reader('mailer', 'orders') > (SELECT max(id) FROM orders);
SELECT shardid_readers.add_reader('all', 'orders', 0);
SELECT try($$SELECT shardid_readers.add_reader('all', 'orders', 0)$$);
INSERT INTO orders (item) VALUES ('table');
SELECT pg_sleep(0.002) \gset
INSERT INTO mails SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders, at_most => 1000);
INSERT INTO mails SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders, at_most => 1000);
SELECT item FROM mails;
SELECT item FROM shardid_readers.next_rows('all', NULL::orders, 2);
SELECT item FROM shardid_readers.next_rows('all', NULL::orders, 2);
SELECT shardid_readers.move_reader('mailer', 0);
SELECT item FROM shardid_readers.next_rows('mailer', NULL::orders);
SELECT name, tab, share, position_time <= now(), behind < interval '1 minute', held_back_by FROM shardid_readers.status ORDER BY name;

\echo -- What statements have left. Rows that they leave out count as read.
CREATE FUNCTION left_by(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN PERFORM shardid_readers.move_reader('mailer', 0); FOREACH statement IN ARRAY string_to_array(statement, ';; ') LOOP EXECUTE statement; END LOOP; RETURN (SELECT string_agg(item, ' ') FROM shardid_readers.next_rows('mailer', NULL::orders)); END $$;
BEGIN;
CREATE TABLE ruled (item text);
CREATE RULE again AS ON INSERT TO ruled DO ALSO INSERT INTO mails VALUES (0, NEW.item);
CREATE MATERIALIZED VIEW new_orders AS SELECT item FROM shardid_readers.next_rows('mailer', NULL::orders, 2) WITH NO DATA;
CREATE FUNCTION unmarked() RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM shardid_readers.next_rows('mailer', NULL::orders)); END $$;
SELECT sql, left_by(sql) FROM unnest(ARRAY[
    $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders) WHERE item = 'lamp'$$,
    $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders) JOIN mails USING (id)$$,
    $$SELECT count(*) FROM shardid_readers.next_rows('mailer', NULL::orders)$$,
    $$DO 'DECLARE r record; BEGIN FOR r IN SELECT id FROM shardid_readers.next_rows(''mailer'', NULL::orders) LOOP EXIT; END LOOP; END'$$,
    $$DO 'BEGIN PERFORM FROM shardid_readers.next_rows(''mailer'', NULL::orders); END'$$, $$EXPLAIN SELECT unmarked()$$,
    $$DECLARE c CURSOR FOR SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 2) ORDER BY item;; FETCH 2 FROM c;; CLOSE c$$,
    $$INSERT INTO ruled SELECT item FROM shardid_readers.next_rows('mailer', NULL::orders, 1)$$,
    $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 1) UNION ALL SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 1)$$,
    $$REFRESH MATERIALIZED VIEW new_orders;; REFRESH MATERIALIZED VIEW new_orders$$, $$UPDATE orders SET item = upper(item) WHERE item = 'lamp'$$,
    $$DELETE FROM orders WHERE item = 'chair'$$]) sql;
SELECT item FROM new_orders;
ROLLBACK;

\echo -- Statements that may not fetch all rows. A LIMIT that has nothing to do with them is none, nor is a loop.
SELECT shardid_readers.move_reader('mailer', 0);
CREATE FUNCTION wrapped() RETURNS SETOF orders LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders); END $$;
CREATE FUNCTION looped() RETURNS SETOF orders LANGUAGE plpgsql AS $$
DECLARE r orders; BEGIN FOR r IN SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders) LOOP RETURN NEXT r; END LOOP; END $$;
CREATE FUNCTION all_of_them() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int; BEGIN CREATE TEMPORARY TABLE got AS SELECT FROM shardid_readers.next_rows('mailer', NULL::orders); GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
CREATE FUNCTION first_one() RETURNS orders LANGUAGE sql AS $$ SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders) $$;
SELECT sql, try(sql) FROM unnest(ARRAY[
    $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders) LIMIT 1$$, $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders) ORDER BY id OFFSET 1$$,
    $$SELECT shardid_readers.next_rows('mailer', NULL::orders) FETCH FIRST ROW ONLY$$,
    $$INSERT INTO mails SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders) LIMIT 1$$,
    $$WITH n AS (SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders)) SELECT FROM n LIMIT 1$$,
    $$SELECT (SELECT id FROM shardid_readers.next_rows('mailer', NULL::orders) LIMIT 1)$$,
    $$SELECT unnest((SELECT array_agg(id) FROM shardid_readers.next_rows('mailer', NULL::orders))) LIMIT 1$$,
    $$SELECT FROM (VALUES ('mailer'), ('all')) r (name), LATERAL (SELECT array_agg(n.id) AS ids FROM shardid_readers.next_rows(name, NULL::orders) n) s ORDER BY s.ids LIMIT 1$$,
    $$SELECT array_agg(id) FROM shardid_readers.next_rows('mailer', NULL::orders) OFFSET 1$$, $$SELECT FROM wrapped() LIMIT 1$$,
    $$SELECT first_one()$$, $$SELECT EXISTS (SELECT FROM shardid_readers.next_rows('mailer', NULL::orders))$$, $$SELECT WHERE NOT EXISTS (SELECT FROM wrapped())$$,
    $$DO 'BEGIN IF EXISTS (SELECT FROM shardid_readers.next_rows(''mailer'', NULL::orders)) THEN END IF; END'$$,
    $$UPDATE mails SET item = '' WHERE item = '' OR id IN (SELECT id FROM shardid_readers.next_rows('mailer', NULL::orders))$$,
    $$EXPLAIN ANALYZE SELECT FROM shardid_readers.next_rows('mailer', NULL::orders)$$,
    $$DO 'DECLARE r record; BEGIN SELECT * INTO r FROM shardid_readers.next_rows(''mailer'', NULL::orders); END'$$,
    $$DO 'DECLARE r record; BEGIN SELECT unnest((SELECT array_agg(id) FROM shardid_readers.next_rows(''mailer'', NULL::orders))) INTO r; END'$$,
    $$DO 'DECLARE c refcursor; r record; BEGIN OPEN c FOR SELECT * FROM shardid_readers.next_rows(''mailer'', NULL::orders); FETCH c INTO r; END'$$,
    $$DECLARE c CURSOR FOR SELECT FROM shardid_readers.next_rows('mailer', NULL::orders);; FETCH 1 FROM c$$,
    $$DECLARE c CURSOR FOR SELECT FROM shardid_readers.next_rows('mailer', NULL::orders);; MOVE ALL IN c$$,
    -- All rows; the errors before it, in the same transaction, refuse none.
    $$DECLARE c CURSOR FOR SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 3);; FETCH 3 FROM c;; CLOSE c$$]) sql;
SELECT shardid_readers.move_reader('mailer', 0);
\echo -- Three rows of the function are six of the statement. A function can return more than at_most rows.
SELECT try($$DECLARE c CURSOR FOR SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 3), generate_series(1, 2);; FETCH 3 FROM c$$);
SELECT try($$DECLARE c CURSOR FOR SELECT FROM ROWS FROM (shardid_readers.next_rows('mailer', NULL::orders, 3), generate_series(1, 100)) n ORDER BY generate_series DESC;; FETCH 3 FROM c$$);
SELECT try($$DECLARE c CURSOR FOR SELECT FROM wrapped();; FETCH 1000 FROM c$$);
BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT item FROM shardid_readers.next_rows('mailer', NULL::orders); COMMIT;
BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT item FROM looped(); COMMIT;
\echo -- A transaction that ends within a loop, also before that has come to a row of the reader.
DO $$DECLARE r record; BEGIN FOR r IN SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders) LOOP COMMIT; END LOOP; END$$;
DO $$DECLARE r record; BEGIN FOR r IN SELECT 'first' FROM generate_series(1, 100) UNION ALL SELECT item FROM shardid_readers.next_rows('mailer', NULL::orders) LOOP COMMIT; END LOOP; END$$;
DO $$DECLARE r record; BEGIN FOR r IN SELECT * FROM looped() LOOP ROLLBACK; END LOOP; END$$;
\echo -- Memoize calls it once for equal arguments.
CREATE TABLE workers AS SELECT 'mailer' AS reader FROM generate_series(1, 3); ANALYZE workers;
\set each 'SELECT n.item FROM workers, LATERAL shardid_readers.next_rows(reader, NULL::orders, 1) n'
:each;
BEGIN; SET LOCAL enable_memoize = off; :each; ROLLBACK;
SELECT n.item, l.item FROM shardid_readers.next_rows('mailer', NULL::orders) n, LATERAL (SELECT m.item FROM mails m LIMIT 1) l;
SELECT shardid_readers.move_reader('mailer', 0);
DO $$DECLARE r record; BEGIN
    RAISE NOTICE '% rows', all_of_them();
    PERFORM shardid_readers.move_reader('mailer', 0);
    SELECT array_agg(item) AS item INTO r FROM shardid_readers.next_rows('mailer', NULL::orders, 2) LIMIT 1;
    RAISE NOTICE '%', r.item;
    PERFORM shardid_readers.move_reader('mailer', 0);
    RAISE NOTICE '%', (WITH n AS (SELECT count(*) FROM shardid_readers.next_rows('mailer', NULL::orders, 1)) SELECT count + 1 FROM n);
    PERFORM shardid_readers.move_reader('mailer', 0);
    SELECT * INTO r FROM shardid_readers.next_rows('mailer', NULL::orders, 1);
    RAISE NOTICE '%', r.item;
    FOR r IN SELECT * FROM shardid_readers.next_rows('mailer', NULL::orders) LOOP
        RAISE NOTICE '%', r.item;
    END LOOP;
    COMMIT;
END$$;

\echo -- What each call checks.
SELECT sql, try(sql) FROM unnest(ARRAY[
    $$SELECT FROM shardid_readers.next_rows('nobody', NULL::orders)$$, $$SELECT FROM shardid_readers.next_rows(NULL, NULL::orders)$$,
    $$SELECT FROM shardid_readers.next_rows('mailer', NULL::mails)$$, $$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders, 0)$$,
    $$SELECT shardid_readers.move_reader('nobody', 0)$$, $$SELECT shardid_readers.move_reader('mailer', NULL)$$,
    $$SELECT shardid_readers.drop_reader(NULL)$$, $$SELECT shardid_readers.drop_reader('nobody')$$]) sql;
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM shardid_readers.next_rows('mailer', NULL::orders); ROLLBACK;
BEGIN READ ONLY; SELECT FROM shardid_readers.next_rows('mailer', NULL::orders); ROLLBACK;
ALTER TABLE orders ALTER id SET DEFAULT next_id(1, 'other_ids'::regclass);
SELECT try($$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders)$$);
ALTER TABLE orders ALTER id SET DEFAULT next_id(2, 'order_ids'::regclass);
ALTER TABLE orders ADD more bigint DEFAULT next_id(1, 'order_ids'::regclass);
SELECT try($$SELECT FROM shardid_readers.next_rows('mailer', NULL::orders)$$);
\echo -- A renamed table, column and generator, and a dropped column, are followed.
ALTER TABLE orders DROP more, DROP item CASCADE, ADD thing text;
ALTER TABLE orders RENAME id TO number;
ALTER TABLE orders RENAME TO sales;
ALTER SEQUENCE order_ids RENAME TO sale_ids;
INSERT INTO sales (thing) VALUES ('desk');
SELECT pg_sleep(0.002) \gset
SELECT number > 0, thing FROM shardid_readers.next_rows('mailer', NULL::sales);
DROP TABLE sales CASCADE;
SELECT regexp_replace(try($$SELECT FROM shardid_readers.next_rows('mailer', NULL::mails)$$), '\d{2,}\.', 'N.');
SELECT shardid_readers.drop_reader('mailer'), shardid_readers.drop_reader('all');

\echo -- Partitions, and row security of the role of a reader.
ALTER TABLE part ALTER id DROP DEFAULT;
CREATE ROLE readers_role LOGIN; CREATE ROLE readers_other LOGIN;
GRANT SELECT ON parted, sale_ids TO readers_role;
GRANT INSERT, SELECT ON mails TO readers_role;
CREATE POLICY not_secret ON parted FOR SELECT USING (item <> 'secret');
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
SELECT shardid_readers.add_reader('parts', 'parted', role => 'readers_role') > 0;
INSERT INTO parted (item) VALUES ('lamp'), ('secret'), ('chair');
SELECT pg_sleep(0.002) \gset
SET ROLE readers_role;
SELECT item FROM shardid_readers.next_rows('parts', NULL::parted);
RESET ROLE;
\echo -- Rows of a table that is attached are below the position.
CREATE TABLE attached (LIKE parted);
INSERT INTO attached VALUES (7, 'attached');
ALTER TABLE parted ATTACH PARTITION attached FOR VALUES FROM (MINVALUE) TO (8);
SELECT count(*) FROM shardid_readers.next_rows('parts', NULL::parted);
SELECT shardid_readers.move_reader('parts', 7);
SELECT item FROM shardid_readers.next_rows('parts', NULL::parted);
ALTER TABLE part ALTER id SET DEFAULT next_id(1, 'other_ids'::regclass);
SELECT try($$SELECT FROM shardid_readers.next_rows('parts', NULL::parted)$$);
ALTER TABLE part ALTER id DROP DEFAULT;

\echo -- Rights: readers of roles of which the user is a member; no locks.
SET ROLE readers_other;
SELECT name FROM shardid_readers.status;
SELECT sql, try(sql) FROM unnest(ARRAY[
    $$SELECT FROM shardid_readers.next_rows('parts', NULL::parted)$$, $$SELECT shardid_readers.drop_reader('parts')$$,
    $$SELECT shardid_readers.add_reader('r', 'parted')$$,
    $$INSERT INTO shardid_readers.own_reader VALUES ('r', 'readers_other', 'mails', 'sale_ids', 1, 0, 0)$$,
    $$UPDATE shardid_readers.own_reader SET name = 'r'$$, $$SELECT FROM shardid_readers.reader$$,
    $$SELECT shardid_readers.lock_table('mails')$$]) sql;
SELECT mode, try(format('LOCK TABLE shardid_readers.own_reader IN %s MODE', mode)), try(format('LOCK TABLE shardid_readers.reader IN %s MODE', mode))
FROM unnest(ARRAY['SHARE', 'ACCESS EXCLUSIVE']) mode;
\echo -- The status does not fail with a reader of what is no generator, or has no id.
RESET ROLE;
GRANT INSERT ON shardid_readers.own_reader TO readers_other;
SET ROLE readers_other;
SELECT try($$SELECT shardid_readers.add_reader('r', 'parted', role => 'readers_role')$$);
SELECT try($$INSERT INTO shardid_readers.own_reader VALUES ('r', 'readers_role', 'mails', 'sale_ids', 1, 0, 0)$$);
INSERT INTO shardid_readers.own_reader VALUES ('parts', 'readers_other', 'mails', 'sale_ids', 2, 1, 0);
CREATE TEMPORARY SEQUENCE baits CACHE 2;
INSERT INTO shardid_readers.own_reader SELECT 'bait of ' || generator, 'readers_other', 'baits', generator, 1, 0, 0 FROM unnest('{baits,pg_class,sale_ids,0}'::regclass[]) generator;
RESET ROLE;
SELECT count(*) FROM shardid_readers.next_rows('parts', NULL::parted);
SELECT name, position_time FROM shardid_readers.status WHERE name ~ 'bait' ORDER BY name;
\echo -- A reader whose role was renamed or dropped is seen by the owner of the database.
ALTER ROLE readers_other RENAME TO readers_renamed;
SELECT name, role FROM shardid_readers.status WHERE name = 'bait of baits';
ALTER ROLE readers_renamed RENAME TO readers_other;
SET ROLE readers_other;
SELECT count(shardid_readers.drop_reader(name)) FROM shardid_readers.status;
\echo -- The trigger function is for no other table.
CREATE TEMPORARY TABLE trap (name text, share int);
SELECT try('CREATE TRIGGER t AFTER DELETE ON trap FOR EACH ROW EXECUTE FUNCTION shardid_readers.delete_reader()');
\echo -- Whatever query the caller passes, the ids are read from a row with an array of bigint.
\c -
SET ROLE readers_other;
BEGIN;
SAVEPOINT s;
CREATE TEMPORARY TABLE trap ();
ROLLBACK TO s;
SELECT query, try(format('SELECT shardid_readers.seen_ids(%L, 0, 0, 0, 0)', query))
FROM unnest(ARRAY['SELECT ''{1}''::bigint[]', 'SELECT', 'SELECT 1 WHERE false', 'SELECT 16::bigint', 'SELECT NULL::bigint[]', 'BEGIN', '']) query;
COMMIT;
SET ROLE readers_role;
SELECT shardid_readers.drop_reader('parts');
SELECT count(*) FROM shardid_readers.status;
RESET ROLE;
\echo -- The search_path of the caller finds nothing: an operator of a schema that comes first is not called.
CREATE SCHEMA planted;
CREATE FUNCTION planted.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
CREATE FUNCTION planted.less(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
CREATE OPERATOR planted.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = planted.less);
SELECT shardid_readers.add_reader('parts', 'parted', 0);
SET search_path = planted, pg_catalog, public;
SELECT item FROM shardid_readers.next_rows('parts', NULL::public.parted);
RESET search_path;
DROP OWNED BY readers_role, readers_other;
DROP ROLE readers_role, readers_other;
\echo -- A schema that exists is refused.
DROP EXTENSION shardid_readers;
CREATE SCHEMA shardid_readers;
CREATE EXTENSION shardid_readers;
