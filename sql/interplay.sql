-- next_id together with everything else that uses or changes a sequence: core's functions, DDL, transactions.
\a \t on

-- Draws one id, and returns whether it is greater than all drawn before from that generator.
CREATE TABLE drawn (generator text, id bigint);
CREATE FUNCTION draw(generator text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    id bigint := next_id(1, generator::regclass);
    greater boolean := id > ALL (SELECT d.id FROM drawn d WHERE d.generator = draw.generator);
BEGIN
    INSERT INTO drawn VALUES (draw.generator, id);
    RETURN greater;
END
$$;

-- For tests that set a generator back, or ahead of the clock: forgets what was drawn, and waits for
-- the next millisecond.
CREATE FUNCTION forget(generator text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM drawn WHERE drawn.generator = forget.generator;
    SELECT pg_sleep(0.05);
$$;

-- nextval, currval, lastval, setval
CREATE SEQUENCE g;
SELECT nextval('g'), nextval('g');
SELECT next_id(1, 'g') IS NOT NULL AS jumps_to_the_present;
SELECT currval('g'), lastval();
SELECT last_value AS last FROM g \gset
SELECT nextval('g') - :last AS next;
SELECT draw('g');
SELECT count(*) AS never_ahead_of_next_id FROM (SELECT nextval('g') FROM generate_series(1, 100)) s;
SELECT draw('g');
SELECT last_value AS last FROM g \gset
SELECT setval('g', :last + 1024) - :last AS set_forward;
SELECT draw('g');
SELECT forget('g');
SELECT setval('g', 5);
SELECT next_id(1, 'g') IS NOT NULL AS from_the_clock;
SELECT setval('g', 5, false);
SELECT next_id(1, 'g') IS NOT NULL AS from_the_clock;
SELECT last_value > 5 AND is_called AS called FROM g;
SELECT last_value > 5 AS in_the_view FROM pg_sequences WHERE sequencename = 'g';

-- Other increments and a cache: the values of nextval and the ticks of next_id never collide.
CREATE SEQUENCE tens INCREMENT 10 CACHE 20;
SELECT draw('tens');
CREATE TABLE ticks (tick bigint PRIMARY KEY);
DO $$
BEGIN
    FOR i IN 1 .. 300 LOOP
        INSERT INTO ticks SELECT ((id >> 23) << 10) | (id & 1023) FROM next_id(1, 'tens') id;
        INSERT INTO ticks SELECT nextval('tens');
    END LOOP;
END
$$;
SELECT count(*) FROM ticks;
SELECT draw('tens');

-- A sequence that starts below zero.
CREATE SEQUENCE below MINVALUE -1000 START -1000;
SELECT draw('below'), draw('below');

-- ALTER SEQUENCE: every form that keeps the position keeps the order.
ALTER SEQUENCE g OWNED BY drawn.id;
SELECT draw('g');
ALTER SEQUENCE g MAXVALUE 9000000000000000000;
SELECT draw('g');
ALTER SEQUENCE g CACHE 10;
SELECT draw('g');
ALTER SEQUENCE g INCREMENT 3;
SELECT draw('g'), draw('g');
ALTER SEQUENCE g INCREMENT -1 MINVALUE 1;
SELECT draw('g');
ALTER SEQUENCE g INCREMENT 1 NO MAXVALUE OWNED BY NONE;
SELECT draw('g');
ALTER SEQUENCE g RENAME TO h;
ALTER SEQUENCE h RENAME TO g;
ALTER SEQUENCE g SET UNLOGGED;
SELECT draw('g');
ALTER SEQUENCE g SET LOGGED;
SELECT draw('g');
-- A RESTART starts a millisecond later, so that it repeats nothing.
ALTER SEQUENCE g RESTART;
SELECT last_value, is_called FROM g;
SELECT draw('g');
-- After RESTART WITH a position ahead of the clock, ids continue from there.
CREATE SEQUENCE ahead;
SELECT draw('ahead');
DO $$ BEGIN EXECUTE format('ALTER SEQUENCE ahead RESTART WITH %s', (SELECT last_value + 3686400000 FROM ahead)); END $$;
SELECT last_value AS last FROM ahead \gset
SELECT draw('ahead');
SELECT last_value - :last BETWEEN 1 AND 1024 AS goes_on FROM ahead;
DROP SEQUENCE ahead;

-- DROP and CREATE with the same name; a prepared statement then uses the new sequence.
PREPARE by_name AS SELECT draw('g');
EXECUTE by_name;
DROP SEQUENCE g;
EXECUTE by_name;
CREATE SEQUENCE g;
EXECUTE by_name;
DO $$
BEGIN
    FOR i IN 1 .. 20 LOOP
        IF NOT draw('g') THEN RAISE 'repeated before DROP %', i; END IF;
        DROP SEQUENCE g;
        CREATE SEQUENCE g;
        IF NOT draw('g') THEN RAISE 'repeated after DROP %', i; END IF;
    END LOOP;
END
$$;
PREPARE by_oid AS SELECT next_id(1, 'g') IS NOT NULL AS drawn;
EXECUTE by_oid;
DROP SEQUENCE g;
\set VERBOSITY sqlstate
EXECUTE by_oid;
\set VERBOSITY default
DEALLOCATE by_oid;
CREATE SEQUENCE g;

-- serial and identity columns; TRUNCATE ... RESTART IDENTITY
CREATE TABLE items (id bigserial, other bigint GENERATED ALWAYS AS IDENTITY, new_id bigint);
INSERT INTO items (new_id) SELECT next_id(1, 'items_id_seq') FROM generate_series(1, 3);
SELECT draw('items_id_seq'), draw('items_other_seq');
TRUNCATE items RESTART IDENTITY;
SELECT last_value, is_called FROM items_id_seq;
SELECT draw('items_id_seq'), draw('items_other_seq');
DO $$
BEGIN
    FOR i IN 1 .. 20 LOOP
        IF NOT draw('items_id_seq') THEN RAISE 'repeated before TRUNCATE %', i; END IF;
        TRUNCATE items RESTART IDENTITY;
        IF NOT draw('items_id_seq') THEN RAISE 'repeated after TRUNCATE %', i; END IF;
    END LOOP;
END
$$;

-- Savepoints and ROLLBACK: ids are not reused. (A plain table would lose them with the
-- transaction, so they are kept in variables.)
BEGIN;
SELECT next_id(1, 'g') AS first \gset
SAVEPOINT s;
SELECT next_id(1, 'g') AS second \gset
ROLLBACK TO s;
SELECT next_id(1, 'g') AS third \gset
ROLLBACK;
SELECT next_id(1, 'g') AS fourth \gset
SELECT :first < :second AND :second < :third AND :third < :fourth AS increasing;

-- Temporary sequences.
CREATE TEMPORARY SEQUENCE temporary;
SELECT draw('temporary'), draw('temporary');
BEGIN;
SELECT draw('temporary');
SAVEPOINT s;
SELECT draw('temporary');
ROLLBACK TO s;
SELECT draw('temporary');
COMMIT;
SELECT draw('temporary');
BEGIN;
SELECT draw('temporary');
PREPARE TRANSACTION 'with a temporary sequence';
DROP SEQUENCE temporary;

-- DISCARD
DISCARD SEQUENCES;
SELECT draw('g');
CREATE TEMPORARY SEQUENCE temporary;
SELECT draw('temporary');
DISCARD ALL;
SELECT draw('g');
\set VERBOSITY sqlstate
SELECT draw('temporary');
\set VERBOSITY default

-- Prepared statements, custom and generic plans.
PREPARE draw (int) AS SELECT id_shard(next_id($1, 'g'));
EXECUTE draw(1);
EXECUTE draw(2);
SET plan_cache_mode = force_generic_plan;
EXECUTE draw(3);
RESET plan_cache_mode;
EXECUTE draw(NULL);

CREATE TABLE triggered (id bigint PRIMARY KEY, n int);
CREATE FUNCTION set_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := next_id(6, 'g');
    RETURN NEW;
END
$$;
-- A deferred trigger draws while the transaction commits.
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON triggered DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION set_id();
INSERT INTO triggered VALUES (0, 0);
DROP TABLE drawn, ticks, items, triggered;
DROP SEQUENCE g, tens, below;
DROP FUNCTION draw, forget, set_id;
