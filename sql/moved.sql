-- After setval, nextval or nextval_range a generator does not know which ids of the present millisecond exist, so next_id
-- continues after that millisecond: while the clock is right, no id is repeated.
\a \t on
CREATE SEQUENCE g;
CREATE TABLE ids (id bigint);

-- Back to the value of a few ids ago, in the same millisecond.
CREATE FUNCTION draw_and_move(move text) RETURNS TABLE (drawn bigint, twice bigint, decreases bigint)
LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
BEGIN
    PERFORM next_id(1, 'g');
    FOR n IN 1 .. 100 LOOP
        SELECT last_value INTO before FROM g;
        INSERT INTO ids SELECT next_ids(1, 20, 'g');
        EXECUTE move USING before;
    END LOOP;
    RETURN QUERY SELECT count(*), count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= previous)
                 FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS previous FROM ids) s;
    TRUNCATE ids;
END
$$;
SELECT * FROM draw_and_move('SELECT setval(''g'', $1)');
SELECT * FROM draw_and_move('SELECT setval(''g'', $1, false)');
-- setval and then nextval or nextval_range, which leave another log_cnt behind.
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval(''g'')');
-- Only in the extension:
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval_range(''g'', 3)');
-- In both versions:
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), raise_generator(''g'', 5)');
-- Only in the extension:
SELECT * FROM draw_and_move('SELECT nextval_range(''g'', 1), setval(''g'', $1)');
-- In both versions:
-- setval, and a raise in a part of the transaction that is rolled back.
CREATE FUNCTION raise_and_roll_back() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    ALTER SEQUENCE g RESTART;
    PERFORM raise_generator('g', id_lower_bound('2020-01-01 00:00:00+00'));
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
END
$$;
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), raise_and_roll_back()');
-- To the first value, and to the present one.
SELECT * FROM draw_and_move('SELECT setval(''g'', 1)');
SELECT * FROM draw_and_move('SELECT setval(''g'', (SELECT last_value FROM g))');
-- New storage, restarted or with the same value.
SELECT * FROM draw_and_move('ALTER SEQUENCE g RESTART');
SELECT * FROM draw_and_move('ALTER SEQUENCE g CACHE 1');
-- Also if nothing is logged: a temporary sequence.
ALTER SEQUENCE g RENAME TO logged;
CREATE TEMPORARY SEQUENCE g;
SELECT * FROM draw_and_move('SELECT setval(''g'', $1)');
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval(''g'')');
DROP SEQUENCE g;
ALTER SEQUENCE logged RENAME TO g;

-- A draw of next_id is never mistaken for such a move: log_cnt is then negative, also at the end of
-- what was logged ahead and with another INCREMENT.
CREATE TABLE log_cnts (state text, negative boolean);
DO $$
BEGIN
    FOR n IN 1 .. 3000 LOOP
        PERFORM next_id(1, 'g');
        INSERT INTO log_cnts SELECT 'drawn', log_cnt < 0 FROM g;
    END LOOP;
END
$$;
ALTER SEQUENCE g INCREMENT BY 1000000000;
SELECT next_id(1, 'g') IS NOT NULL;
INSERT INTO log_cnts SELECT 'increment', log_cnt < 0 FROM g;
ALTER SEQUENCE g INCREMENT BY 1;
SELECT next_id(1, 'g') IS NOT NULL;
SELECT nextval('g') IS NOT NULL;
INSERT INTO log_cnts SELECT 'nextval', log_cnt < 0 FROM g;
-- Only in the extension:
SELECT nextval_range('g', 5) IS NOT NULL;
-- In both versions:
INSERT INTO log_cnts SELECT 'nextval_range', log_cnt < 0 FROM g;
SELECT setval('g', last_value) IS NOT NULL FROM g;
INSERT INTO log_cnts SELECT 'setval', log_cnt < 0 FROM g;
-- Only in the extension:
SELECT state, negative, count(*) FROM log_cnts GROUP BY state, negative ORDER BY state;
-- In both versions:

-- Core's nextval treats a negative log_cnt as nothing logged, and returns the value after the last id.
SELECT next_id(1, 'g') IS NOT NULL;
SELECT last_value FROM g \gset
SELECT nextval('g') - :last_value AS step;
SELECT log_cnt FROM g;

DROP SEQUENCE g;
DROP TABLE ids, log_cnts;
DROP FUNCTION draw_and_move, raise_and_roll_back;
