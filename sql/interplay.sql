-- next_id together with everything else that uses or changes a sequence: core's functions, DDL, transactions.
\set ECHO none
\a \t on

\echo -- Draws one id, and returns whether it is greater than all drawn before from that generator.
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
-- Draws before and after these statements, each in a transaction of its own, several times.
CREATE PROCEDURE draw_around(generator text, VARIADIC statements text[]) LANGUAGE plpgsql AS $$
DECLARE
    statement text;
BEGIN
    FOR i IN 1 .. 5 LOOP
        FOREACH statement IN ARRAY statements LOOP
            IF NOT draw(generator) THEN RAISE 'repeated before %', statement; END IF;
            COMMIT;
            EXECUTE statement;
            COMMIT;
            IF NOT draw(generator) THEN RAISE 'repeated after %', statement; END IF;
        END LOOP;
    END LOOP;
END
$$;

\echo -- nextval, currval, lastval, setval
CREATE SEQUENCE g;
SELECT nextval('g'), nextval('g');
SELECT draw('g') AS jumps_to_the_present;
SELECT currval('g'), lastval();
SELECT last_value AS last FROM g \gset
SELECT nextval('g') - :last AS next, draw('g');
DELETE FROM drawn;
SELECT setval('g', 5, false);
SELECT draw('g') AS from_the_clock;
SELECT last_value > 5 AND is_called AS called FROM g;
SELECT last_value > 5 AS in_the_view FROM pg_sequences WHERE sequencename = 'g';

\echo -- A sequence that starts below zero.
CREATE SEQUENCE below MINVALUE -1000 START -1000;
SELECT draw('below'), draw('below');

\echo -- ALTER SEQUENCE: every form that keeps the position keeps the order. A RESTART starts a millisecond later, so that it
\echo -- repeats nothing, and so do other ways to get new storage.
CALL draw_around('g', 'ALTER SEQUENCE g OWNED BY drawn.id', 'ALTER SEQUENCE g MAXVALUE 9000000000000000000',
    'ALTER SEQUENCE g CACHE 10', 'ALTER SEQUENCE g INCREMENT 3',
    'ALTER SEQUENCE g INCREMENT 1 NO MAXVALUE OWNED BY NONE', 'ALTER SEQUENCE g RENAME TO h; ALTER SEQUENCE h RENAME TO g',
    'ALTER SEQUENCE g SET UNLOGGED; ALTER SEQUENCE g SET LOGGED', 'ALTER SEQUENCE g RESTART',
    'DROP SEQUENCE g; CREATE SEQUENCE g');
CREATE TABLE items (id bigserial, other bigint GENERATED ALWAYS AS IDENTITY);
CALL draw_around('items_id_seq', 'TRUNCATE items RESTART IDENTITY');
CALL draw_around('items_other_seq', 'TRUNCATE items RESTART IDENTITY');
TRUNCATE items RESTART IDENTITY;
SELECT last_value, is_called FROM items_id_seq;
\echo -- After RESTART WITH a position ahead of the clock, ids continue from there.
CREATE SEQUENCE ahead;
SELECT id_lower_bound(clock_timestamp() + interval '1 hour') >> 23 << 10 AS position \gset
ALTER SEQUENCE ahead RESTART WITH :position;
SELECT draw('ahead'), last_value - :position BETWEEN 0 AND 1024 AS continues FROM ahead;

\echo -- DROP and CREATE with the same name; a prepared statement then uses the new sequence.
PREPARE by_oid AS SELECT next_id(1, 'g') > 0 AS drawn;
EXECUTE by_oid;
DROP SEQUENCE g;
\set VERBOSITY sqlstate
EXECUTE by_oid;
\set VERBOSITY default
CREATE SEQUENCE g;
EXECUTE by_oid;

\echo -- Temporary sequences, and DISCARD.
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
DISCARD SEQUENCES;
SELECT draw('g'), draw('temporary');
DISCARD ALL;
SELECT draw('g');
\set VERBOSITY sqlstate
SELECT draw('temporary');
\set VERBOSITY default

-- Only in the extension:
\echo -- Only in the extension:
\echo -- A session forgets the sequences that are gone, and OIDs that never were one.
DO $$
BEGIN
    FOR n IN 1 .. 2000 LOOP
        BEGIN
            PERFORM next_id(1, (900000000 + n)::oid);
        EXCEPTION WHEN undefined_table THEN
        END;
        IF n % 10 = 0 THEN
            CREATE TEMPORARY SEQUENCE gone;
            EXECUTE $q$SELECT next_id(1, 'gone')$q$;
            DROP SEQUENCE gone;
            COMMIT;
        END IF;
    END LOOP;
END $$;
SELECT total_bytes < 200000 AS forgotten FROM pg_backend_memory_contexts WHERE name = 'shardid generators';
\echo -- In both versions:
-- In both versions:

\echo -- A deferred trigger draws while the transaction commits.
CREATE TABLE triggered (id bigint PRIMARY KEY, n int);
CREATE FUNCTION set_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := next_id(6, 'g');
    RETURN NEW;
END
$$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON triggered DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION set_id();
INSERT INTO triggered VALUES (0, 0);
DROP TABLE drawn, items, triggered;
DROP SEQUENCE g, below, ahead;
DROP FUNCTION draw, set_id;
DROP PROCEDURE draw_around;
