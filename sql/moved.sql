-- After setval, nextval or nextval_range a generator does not know which ids of the present millisecond exist, so next_id
-- continues after that millisecond: while the clock is right, no id is repeated.
\set ECHO none
\a \t on
CREATE SEQUENCE g;
CREATE TABLE ids (id bigint);

\echo -- Back to the value of a few ids ago, in the same millisecond.
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
\echo -- setval and then nextval or nextval_range, which leave another log_cnt behind.
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval(''g'')');
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), raise_generator(''g'', 5)');
-- Only in the extension:
\echo -- Only in the extension:
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval_range(''g'', 3)');
SELECT * FROM draw_and_move('SELECT nextval_range(''g'', 1), setval(''g'', $1)');
\echo -- In both versions:
-- In both versions:
\echo -- setval, and a raise in a part of the transaction that is rolled back.
CREATE FUNCTION raise_and_roll_back() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    ALTER SEQUENCE g RESTART;
    PERFORM raise_generator('g', id_lower_bound('2020-01-01 00:00:00+00'));
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
END
$$;
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), raise_and_roll_back()');
\echo -- To the first value.
SELECT * FROM draw_and_move('SELECT setval(''g'', 1)');
\echo -- New storage, restarted or with the same value.
SELECT * FROM draw_and_move('ALTER SEQUENCE g RESTART');
SELECT * FROM draw_and_move('ALTER SEQUENCE g CACHE 1');
\echo -- Also if nothing is logged: a temporary sequence.
ALTER SEQUENCE g RENAME TO logged;
CREATE TEMPORARY SEQUENCE g;
SELECT * FROM draw_and_move('SELECT setval(''g'', $1), nextval(''g'')');
DROP SEQUENCE g;
ALTER SEQUENCE logged RENAME TO g;

\echo -- A draw of next_id is never mistaken for such a move, also at the end of what was logged ahead and with another INCREMENT:
\echo '-- log_cnt is then negative. Core''s nextval treats that as nothing logged, and returns the value after the last id.'
-- Only in the extension:
\echo -- Only in the extension:
DO $$
BEGIN
    FOR n IN 1 .. 3000 LOOP
        PERFORM next_id(1, 'g');
        IF (SELECT log_cnt >= 0 FROM g) THEN RAISE 'taken for moved after % ids', n; END IF;
    END LOOP;
END
$$;
ALTER SEQUENCE g INCREMENT BY 1000000000;
SELECT next_id(1, 'g') IS NOT NULL;
SELECT log_cnt < 0 AS drawn FROM g;
ALTER SEQUENCE g INCREMENT BY 1;
SELECT next_id(1, 'g') IS NOT NULL;
SELECT nextval_range('g', 5) IS NOT NULL;
SELECT log_cnt < 0 AS drawn FROM g;
\echo -- In both versions:
-- In both versions:
SELECT next_id(1, 'g') IS NOT NULL;
SELECT last_value FROM g \gset
SELECT nextval('g') - :last_value AS step;
SELECT log_cnt FROM g;

DROP SEQUENCE g;
DROP TABLE ids;
DROP FUNCTION draw_and_move, raise_and_roll_back;
