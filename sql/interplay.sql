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
-- Repeatedly, within one or two milliseconds.
DO $$
BEGIN
    FOR i IN 1 .. 20 LOOP
        IF NOT draw('g') THEN RAISE 'repeated before RESTART %', i; END IF;
        ALTER SEQUENCE g RESTART;
        IF NOT draw('g') THEN RAISE 'repeated after RESTART %', i; END IF;
    END LOOP;
END
$$;
-- After RESTART WITH a position ahead of the clock, ids continue from there.
CREATE SEQUENCE ahead;
SELECT draw('ahead');
DO $$ BEGIN EXECUTE format('ALTER SEQUENCE ahead RESTART WITH %s', (SELECT last_value + 10240000 FROM ahead)); END $$;
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

-- A sequence created in the same transaction, or in a subtransaction that is rolled back.
BEGIN;
CREATE SEQUENCE new_one;
SELECT draw('new_one'), draw('new_one');
SAVEPOINT s;
CREATE SEQUENCE newer;
SELECT draw('newer');
ROLLBACK TO s;
SELECT draw('new_one');
COMMIT;
SELECT draw('new_one');

-- A rollback of ALTER, RESTART or TRUNCATE restores the old storage; ids drawn from the new one
-- meanwhile are not repeated, even if the generator is ahead of the clock.
CREATE SEQUENCE ahead;
SELECT setval('ahead', ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 60000) << 10) > 0;
SELECT next_id(1, 'ahead') AS before \gset
BEGIN;
ALTER SEQUENCE ahead CACHE 5;
SELECT next_id(1, 'ahead') AS first \gset
SAVEPOINT s;
ALTER SEQUENCE ahead MAXVALUE 9000000000000000000;
SELECT next_id(1, 'ahead') AS second \gset
SAVEPOINT t;
ALTER SEQUENCE ahead CACHE 7;
SELECT next_id(1, 'ahead') AS third \gset
RELEASE t;
SELECT next_id(1, 'ahead') AS fourth \gset
ROLLBACK TO s;
SELECT next_id(1, 'ahead') AS fifth \gset
ROLLBACK;
SELECT next_id(1, 'ahead') AS sixth \gset
SELECT :before < :first AND :first < :second AND :second < :third AND :third < :fourth
       AND :fourth < :fifth AND :fifth < :sixth AS increasing;
SELECT seqmax, seqcache FROM pg_sequence WHERE seqrelid = 'ahead'::regclass;
BEGIN;
SELECT next_id(1, 'g') AS first \gset
ALTER SEQUENCE g RESTART;
SELECT max(id) AS second FROM (SELECT next_id(1, 'g') AS id FROM generate_series(1, 3000)) s \gset
ROLLBACK;
SELECT next_id(1, 'g') AS third \gset
SELECT :first < :second AND :second < :third AS increasing;
-- But a plain sequence is restored unchanged: its values must stay below its MAXVALUE.
CREATE SEQUENCE plain AS integer;
SELECT nextval('plain');
BEGIN;
ALTER SEQUENCE plain AS bigint NO MAXVALUE;
SELECT draw('plain');
ROLLBACK;
SELECT nextval('plain');

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

-- PL/pgSQL callers: exceptions, commits inside, triggers.
DO $$
DECLARE
    first bigint := next_id(1, 'g');
    inner_id bigint;
BEGIN
    BEGIN
        inner_id := next_id(1, 'g');
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    COMMIT;
    IF NOT (first < inner_id AND inner_id < next_id(1, 'g')) THEN RAISE 'not increasing'; END IF;
    ROLLBACK;
    IF NOT inner_id < next_id(1, 'g') THEN RAISE 'not increasing'; END IF;
END
$$;
CREATE TABLE triggered (id bigint PRIMARY KEY, n int);
CREATE FUNCTION set_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := next_id(6, 'g');
    RETURN NEW;
END
$$;
CREATE TRIGGER set_id BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION set_id();
INSERT INTO triggered (n) SELECT generate_series(1, 2000);
SELECT count(DISTINCT id), bool_and(id_shard(id) = 6) FROM triggered;

-- A deferred trigger draws while the transaction commits, and so does a cursor WITH HOLD.
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON triggered DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION set_id();
INSERT INTO triggered (n) VALUES (0);
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT next_id(1, 'g') > 0 AS drawn FROM generate_series(1, 3);
SELECT draw('g');
COMMIT;
FETCH ALL FROM held;
CLOSE held;

-- COPY, INSERT ... SELECT, MERGE and UPDATE evaluate the default for each row.
CREATE TABLE rows (id bigint PRIMARY KEY DEFAULT next_id(5, 'g'), n int);
COPY rows (n) FROM stdin;
1
2
3
\.
INSERT INTO rows (n) SELECT generate_series(4, 6);
MERGE INTO rows USING (VALUES (7), (8)) v (n) ON false WHEN NOT MATCHED THEN INSERT (n) VALUES (v.n);
UPDATE rows SET id = DEFAULT WHERE n = 1;
SELECT string_agg(n::text, ' ' ORDER BY id) AS in_order_of_ids FROM rows;

-- Many generators in one session.
DO $$
BEGIN
    FOR i IN 1 .. 100 LOOP EXECUTE format('CREATE SEQUENCE many_%s', i); END LOOP;
END
$$;
SELECT count(next_id(1, format('many_%s', i % 100 + 1)::regclass)) FROM generate_series(1, 1000) i;
DO $$
BEGIN
    FOR i IN 1 .. 100 LOOP EXECUTE format('DROP SEQUENCE many_%s', i); END LOOP;
END
$$;

DROP TABLE drawn, ticks, items, triggered, rows;
DROP SEQUENCE g, tens, below, new_one, ahead, plain;
DROP FUNCTION draw, forget, set_id;
