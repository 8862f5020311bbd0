-- next_id and the functions that decode ids in functions and plans. t/generator/outside_queries.pl has defaults,
-- contrib/admin/sql/partitioning partitions, t/pages/newer.pl a generated column.
\set ECHO none
\a \t on
SET timezone = 'UTC';
CREATE SEQUENCE g;

\echo -- Functions: SQL as a string and as a standard body, PL/pgSQL with blocks that fail.
CREATE FUNCTION next_photo() RETURNS bigint LANGUAGE sql AS $$ SELECT next_id(5, 'g') $$;
CREATE FUNCTION next_standard() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT next_id(5, 'g'); END;
CREATE FUNCTION ids_in_spite_of_errors(count int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
BEGIN
    FOR i IN 1 .. count LOOP
        BEGIN
            id := next_id(5, 'g');
            RETURN NEXT id;
            IF i % 3 = 0 THEN PERFORM 1 / 0; END IF;
            RETURN NEXT next_photo();
        EXCEPTION WHEN division_by_zero THEN
            RETURN NEXT next_standard();
        END;
    END LOOP;
END
$$;
SELECT count(*), count(DISTINCT id), bool_and(id > previous) AS increasing
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM ids_in_spite_of_errors(1000) WITH ORDINALITY f (id, n)) s;

\echo -- Plans: a query that draws an id has no parallel part, one that decodes ids may have one.
CREATE FUNCTION is_parallel(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan::text LIKE '%"Gather%';
END
$$;
CREATE TABLE many AS SELECT id_lower_bound('2026-01-01') + i * 1000003 AS id FROM generate_series(1, 20000::bigint) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT is_parallel('SELECT sum(id_shard(id)) FROM many') AS takes_apart,
       is_parallel('SELECT id, next_id(5, ''g'') FROM many') AS draws,
       is_parallel('SELECT id FROM many WHERE id < next_id(5, ''g'')') AS draws_in_where,
       is_parallel('CREATE TABLE new AS SELECT id FROM many WHERE id_shard(id) = 3') AS makes_table,
       is_parallel('CREATE TABLE new AS SELECT next_id(5, ''g'') FROM many WHERE id_shard(id) = 3') AS makes_table_of_new_ids;
CREATE VIEW answers AS
    SELECT count(*), min(id_timestamp(id)), max(id_timestamp(id)), sum(id_shard(id)) AS shards, sum((id_parts(id)).sequence) AS sequences
    FROM many;
SELECT is_parallel('SELECT * FROM answers');
CREATE TABLE in_parallel AS SELECT * FROM answers;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) AS same FROM answers JOIN in_parallel USING (count, min, max, shards, sequences);
RESET max_parallel_workers_per_gather;

SET client_min_messages = warning;
DROP TABLE many, in_parallel CASCADE;
DROP FUNCTION next_photo, next_standard, ids_in_spite_of_errors, is_parallel;
DROP SEQUENCE g;
