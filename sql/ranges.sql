-- nextval_range: many values of a plain sequence in one step.
\set ECHO none
\a \t on
CREATE SEQUENCE s;
SELECT * FROM nextval_range('s', 10);
SELECT nextval('s');
SELECT * FROM nextval_range('s', 1000000);
\echo -- currval and lastval do not change.
SELECT currval('s'), lastval();

\echo -- It returns the values of as many calls of nextval, also downwards, in steps and around zero; if
\echo -- nextval would end or wrap around, it takes nothing.
CREATE FUNCTION by_nextval(seq regclass, count int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ascends bool := (SELECT seqincrement > 0 FROM pg_sequence WHERE seqrelid = seq);
    first bigint;
    previous bigint := (SELECT last_value FROM ours WHERE is_called);
    next bigint;
BEGIN
    FOR i IN 1 .. count LOOP
        next := nextval(seq);
        IF (next > previous) <> ascends THEN RAISE sequence_generator_limit_exceeded; END IF;
        first := coalesce(first, next);
        previous := next;
    END LOOP;
    RETURN format('%s..%s', first, next);
EXCEPTION WHEN sequence_generator_limit_exceeded THEN
    RETURN 'none';
END
$$;
CREATE FUNCTION by_range(seq regclass, count int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT format('%s..%s', first, last) FROM nextval_range(seq, count));
EXCEPTION WHEN sequence_generator_limit_exceeded THEN
    RETURN 'none';
END
$$;
CREATE FUNCTION same_as_nextval(definition text, VARIADIC counts int[]) RETURNS TABLE (gave text)
LANGUAGE plpgsql AS $$
DECLARE
    n int;
    expected text;
    given text;
BEGIN
    EXECUTE 'CREATE SEQUENCE ours ' || definition;
    EXECUTE 'CREATE SEQUENCE cores ' || definition;
    FOREACH n IN ARRAY counts LOOP
        -- Resets what nextval has taken before its error.
        PERFORM setval('cores', last_value, is_called) FROM ours;
        expected := by_nextval('cores', n);
        given := by_range('ours', n);
        IF given <> expected THEN
            RAISE '% of %: % by nextval, % by nextval_range', n, definition, expected, given;
        END IF;
        gave := concat_ws(' ', gave, given);
    END LOOP;
    DROP SEQUENCE ours, cores;
    RETURN NEXT;
END
$$;
SELECT d AS definition, gave
FROM (VALUES ('MAXVALUE 10'), ('INCREMENT -7 MINVALUE -20 MAXVALUE 20 START 20 CYCLE'), ('MINVALUE 9223372036854775800 START 9223372036854775800'),
             ('INCREMENT -1 MINVALUE -9223372036854775808 MAXVALUE -9223372036854775800 START -9223372036854775800'),
             ('INCREMENT 9223372036854775807 MINVALUE -9223372036854775808 START -9223372036854775808'),
             ('INCREMENT -9223372036854775808 MAXVALUE 9223372036854775807 MINVALUE -9223372036854775808 START 9223372036854775807'),
             ('AS smallint START 32760'), ('CACHE 5 MAXVALUE 20')) v (d),
     LATERAL same_as_nextval(d, 1, 3, 2, 6, 1, 4, 1, 1, 1);
DO $$
DECLARE
    bottom int;
    top int;
BEGIN
    PERFORM setseed(0.5);
    FOR i IN 1 .. 100 LOOP
        bottom := (random() * 200)::int - 150;
        top := bottom + (random() * 100)::int + 1;
        PERFORM same_as_nextval(
            format('INCREMENT %s MINVALUE %s MAXVALUE %s START %s %s', (ARRAY[-9, -2, -1, 1, 2, 13])[1 + floor(random() * 6)],
                   bottom, top, bottom + floor(random() * (top - bottom + 1)), CASE WHEN random() < 0.3 THEN 'CYCLE' END),
            1 + (random() * 4)::int, 1 + (random() * 40)::int, 1, 1 + (random() * 90)::int, 1 + (random() * 9)::int);
    END LOOP;
END
$$;
\echo -- Alternating with next_id and nextval on one sequence: their ticks never collide.
CREATE SEQUENCE g INCREMENT 10 CACHE 20;
CREATE TABLE ticks (tick bigint PRIMARY KEY);
DO $$
BEGIN
    FOR i IN 1 .. 200 LOOP
        INSERT INTO ticks SELECT ((id >> 23) << 10) | (id & 1023) FROM next_id(1, 'g') id;
        INSERT INTO ticks SELECT generate_series(first, last, 10) FROM nextval_range('g', i % 7 + 1);
        INSERT INTO ticks SELECT ((id >> 23) << 10) | (id & 1023) FROM next_ids(1, 3, 'g') id;
        IF i % 3 = 0 THEN INSERT INTO ticks SELECT nextval('g'); END IF;
    END LOOP;
END
$$;
SELECT count(*) FROM ticks;
\echo -- After RESTART and a range, next_id must not assume that the page remembers the ids of this
\echo -- millisecond.
ALTER SEQUENCE g INCREMENT 1 CACHE 1;
DO $$
BEGIN
    FOR i IN 1 .. 100 LOOP
        ALTER SEQUENCE g RESTART;
        PERFORM nextval_range('g', 1);
        INSERT INTO ticks SELECT ((id >> 23) << 10) | (id & 1023) FROM next_id(1, 'g') id;
    END LOOP;
END
$$;
DROP TABLE ticks;
DROP SEQUENCE g;

\echo -- Like nextval, it is not rolled back, except for a sequence created, altered or restarted in the transaction.
BEGIN;
SELECT first FROM nextval_range('s', 5) \gset
ROLLBACK;
SELECT first - :first AS taken FROM nextval_range('s', 5);
BEGIN;
ALTER SEQUENCE s RESTART 7;
SELECT * FROM nextval_range('s', 5);
ROLLBACK;
SELECT first - :first AS taken FROM nextval_range('s', 5);

\echo -- Unlogged and temporary ones; a temporary one in a read-only transaction.
CREATE UNLOGGED SEQUENCE unlogged;
SELECT * FROM nextval_range('unlogged', 5);
SELECT nextval('unlogged');
ALTER SEQUENCE unlogged SET LOGGED;
SELECT * FROM nextval_range('unlogged', 5);
DROP SEQUENCE unlogged;
CREATE TEMPORARY SEQUENCE temporary;
BEGIN READ ONLY;
SELECT * FROM nextval_range('temporary', 5);
COMMIT;
SELECT nextval('temporary');

\echo -- Privileges: USAGE or UPDATE.
CREATE ROLE regress_shardid_user;
CREATE SEQUENCE used;
CREATE SEQUENCE updated;
GRANT USAGE ON SEQUENCE used TO regress_shardid_user;
GRANT UPDATE ON SEQUENCE updated TO regress_shardid_user;
GRANT SELECT ON SEQUENCE s TO regress_shardid_user;
SET ROLE regress_shardid_user;
SELECT * FROM nextval_range('used', 5) u, nextval_range('updated', 5) d;
SELECT * FROM nextval_range('s', 5);
RESET ROLE;

\echo -- Errors.
SELECT nextval_range('s', 0);
ALTER SEQUENCE s RESTART MAXVALUE 100 CYCLE;
SELECT nextval_range('s', 101);
SELECT * FROM nextval_range('s', 100);
CREATE SEQUENCE down INCREMENT -1 MINVALUE -3;
SELECT nextval_range('down', 4);
SELECT nextval_range(0, 1);
BEGIN READ ONLY;
SELECT nextval_range('s', 1);
ROLLBACK;
SELECT nextval_range(NULL, 1) IS NULL AND nextval_range('s', NULL) IS NULL AS is_null;

DROP SEQUENCE s, used, updated, down, temporary;
DROP FUNCTION same_as_nextval, by_nextval, by_range;
DROP ROLE regress_shardid_user;
