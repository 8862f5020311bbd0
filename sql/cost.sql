-- The cost of a draw in a transaction that has altered its generator: pages read and WAL written.
\set ECHO none
\a \t on
CREATE FUNCTION cost(statement text, VARIADIC counters text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT json) ' || statement INTO plan;
    RETURN (SELECT sum((plan -> 0 -> 'Plan' ->> counter)::bigint) FROM unnest(counters) counter);
END
$$;
CREATE FUNCTION pages(statement text) RETURNS bigint RETURN cost(statement, 'Shared Hit Blocks', 'Shared Read Blocks');
CREATE FUNCTION alter_in_parts(generator text, draw text, depth int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER SEQUENCE %I CACHE %s', generator, depth + 1);
    EXECUTE draw;
    IF depth > 1 THEN PERFORM alter_in_parts(generator, draw, depth - 1); END IF;
EXCEPTION WHEN division_by_zero THEN
    NULL;
END
$$;

\echo -- Nested subtransactions: each costs the same, compared with ALTER SEQUENCE and nextval.
CREATE SEQUENCE one;
CREATE SEQUENCE another;
SELECT next_id(1, 'one') > 0 AND next_id(1, 'another') > 0 AS drawn;
SELECT pages($$SELECT alter_in_parts('one', 'SELECT next_id(1, ''one'')', 60)$$)
       - pages($$SELECT alter_in_parts('another', 'SELECT nextval(''another'')', 60)$$) < 60 * 10 AS linear;
\echo -- Draws from two generators in turn, after that.
BEGIN;
SELECT alter_in_parts('one', 'SELECT next_id(1, ''one'')', 60);
ALTER SEQUENCE another CACHE 5;
SELECT pages($$SELECT next_id(1, 'one') + next_id(1, 'another') FROM generate_series(1, 1000)$$) < 2000 * 4 AS few_pages,
       cost($$SELECT next_id(1, 'one') + next_id(1, 'another') FROM generate_series(1, 1000)$$, 'WAL Records') < 100 AS little_wal;
COMMIT;
DROP SEQUENCE one, another;
DROP FUNCTION cost, pages, alter_in_parts;
