-- Storage that a rollback restores knows what was drawn from the storage that is rolled back: generators
-- that are ahead of the clock show it at once, and loops show it with the real clock.
\a \t on

-- Sets a generator an hour ahead of the clock: then it can only continue from what its storage remembers.
CREATE FUNCTION set_ahead(generator text) RETURNS void LANGUAGE sql AS $$
    SELECT setval(generator, ((extract(epoch FROM clock_timestamp()) * 1000)::bigint
                              - 1314220021721 + 3600000) << 10)
$$;

-- A sequence created in the same transaction, altered in a subtransaction.
BEGIN;
CREATE SEQUENCE g;
SELECT set_ahead('g');
SELECT next_id(1, 'g') AS first \gset
SAVEPOINT a;
ALTER SEQUENCE g CACHE 5;
SELECT max(next_id(1, 'g')) AS second FROM generate_series(1, 3) \gset
ROLLBACK TO a;
SELECT next_id(1, 'g') AS third \gset
COMMIT;
SELECT next_id(1, 'g') AS fourth \gset
SELECT :first < :second AND :second < :third AND :third < :fourth AS increasing;

-- A plain sequence that becomes a generator and is altered again: the plain storage stays unchanged, the
-- generator's remembers.
CREATE SEQUENCE plain AS integer;
SELECT nextval('plain');
BEGIN;
ALTER SEQUENCE plain AS bigint NO MAXVALUE;
SELECT set_ahead('plain');
SAVEPOINT a;
ALTER SEQUENCE plain CACHE 5;
SELECT max(next_id(1, 'plain')) AS first FROM generate_series(1, 3) \gset
ROLLBACK TO a;
SELECT next_id(1, 'plain') AS second \gset
SELECT :first < :second AS increasing;
ROLLBACK;
SELECT last_value, is_called FROM plain;

-- Its storage can be in a row of pg_class that this transaction made.
CREATE ROLE regress_shardid_reader;
BEGIN;
GRANT SELECT ON SEQUENCE plain TO regress_shardid_reader;
ALTER SEQUENCE plain AS bigint NO MAXVALUE;
SELECT next_id(1, 'plain') > 0 AS drawn;
ROLLBACK;
SELECT last_value, is_called FROM plain;
-- Or be new while the definition is old.
CREATE TABLE items (id serial);
INSERT INTO items SELECT FROM generate_series(1, 3);
BEGIN;
TRUNCATE items RESTART IDENTITY;
SAVEPOINT a;
ALTER SEQUENCE items_id_seq AS bigint NO MAXVALUE;
SELECT next_id(1, 'items_id_seq') > 0 AS drawn;
ROLLBACK TO a;
INSERT INTO items DEFAULT VALUES RETURNING id;
COMMIT;
INSERT INTO items DEFAULT VALUES RETURNING id;
-- A definition that is new in the transaction and is restored with storage of its own.
BEGIN;
ALTER SEQUENCE items_id_seq AS bigint NO MAXVALUE;
SELECT next_id(1, 'items_id_seq') AS first \gset
SAVEPOINT a;
TRUNCATE items RESTART IDENTITY;
SELECT next_id(1, 'items_id_seq') AS second \gset
SAVEPOINT b;
ALTER SEQUENCE items_id_seq MAXVALUE 4503599627370495;
SELECT next_id(1, 'items_id_seq') > 0 AS drawn;
ROLLBACK TO b;
SELECT next_id(1, 'items_id_seq') AS third \gset
ROLLBACK TO a;
SELECT next_id(1, 'items_id_seq') AS fourth \gset
SELECT :first < :second AND :second < :third AND :third < :fourth AS increasing;
ROLLBACK;
SELECT last_value, is_called FROM items_id_seq;

-- An unlogged sequence that would have become a generator.
CREATE UNLOGGED SEQUENCE unlogged;
BEGIN;
ALTER SEQUENCE unlogged SET LOGGED;
SELECT next_id(1, 'unlogged') AS first \gset
ROLLBACK;
ALTER SEQUENCE unlogged SET LOGGED;
SELECT next_id(1, 'unlogged') > :first AS increasing;

-- With the real clock, repeatedly: within a millisecond of the rollback.
CREATE SEQUENCE h;
CREATE SEQUENCE h_2;
CREATE SEQUENCE h_3;
CREATE FUNCTION draw_and_fail(generator text, INOUT ids bigint[], VARIADIC statements text[])
LANGUAGE plpgsql AS $$
DECLARE
    statement text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        EXECUTE statement;
        ids := ids || ARRAY(SELECT next_id(1, generator::regclass) FROM generate_series(1, 20));
    END LOOP;
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
    ids := ids || ARRAY(SELECT next_id(1, generator::regclass) FROM generate_series(1, 20));
END
$$;
CREATE FUNCTION repeated(generator text, VARIADIC statements text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
    ids bigint[];
BEGIN
    FOR i IN 1 .. 50 LOOP
        ids := draw_and_fail(generator, ids, VARIADIC statements);
        EXIT WHEN clock_timestamp() > began + interval '0.5 s';
    END LOOP;
    RETURN (SELECT count(*) - count(DISTINCT id) FROM unnest(ids) id);
END
$$;
SELECT repeated('h', 'ALTER SEQUENCE h CACHE 5');
SELECT repeated('h_2', 'ALTER SEQUENCE h_2 RESTART');
SELECT repeated('h_3', 'SELECT 1', 'ALTER SEQUENCE h_3 RESTART', 'SELECT 1', 'ALTER SEQUENCE h_3 CACHE 3');
ALTER TABLE items ALTER id TYPE bigint;
ALTER SEQUENCE items_id_seq AS bigint;
SELECT repeated('items_id_seq', 'TRUNCATE items RESTART IDENTITY');
-- Restored storage knows exactly what was drawn, neither less nor more: a generator that a rollback put
-- ahead of the clock would forget ids in the next RESTART.
CREATE SEQUENCE exact;
BEGIN;
SELECT next_id(1, 'exact') AS first \gset
TRUNCATE items RESTART IDENTITY;
ALTER SEQUENCE exact CACHE 5;
SELECT max(next_id(1, 'exact')) AS last FROM generate_series(1, 5000) \gset
SAVEPOINT a;
ALTER SEQUENCE exact CACHE 6;
ALTER SEQUENCE exact CACHE 7;
SELECT max(next_id(1, 'exact')) AS last FROM generate_series(1, 5000) \gset
ROLLBACK TO a;
ROLLBACK;
SELECT last_value = ((:last >> 23) << 10 | (:last & 1023)) AS exact FROM exact;
-- Storage that was made in the same transaction and is restored knows it at the latest at the commit.
BEGIN;
ALTER SEQUENCE exact CACHE 5;
SAVEPOINT a;
ALTER SEQUENCE exact CACHE 6;
SAVEPOINT b;
ALTER SEQUENCE exact CACHE 7;
SELECT max(next_id(1, 'exact')) AS last FROM generate_series(1, 5000) \gset
RELEASE b;
ROLLBACK TO a;
COMMIT;
SELECT last_value = ((:last >> 23) << 10 | (:last & 1023)) AS exact FROM exact;
-- A sequence that is created, dropped or made unlogged in the transaction.
BEGIN;
CREATE SEQUENCE made;
SELECT set_ahead('made');
SAVEPOINT a;
ALTER SEQUENCE made CACHE 5;
SELECT next_id(1, 'made') AS last \gset
ROLLBACK TO a;
COMMIT;
SELECT last_value = ((:last >> 23) << 10 | (:last & 1023)) AS exact FROM made;
BEGIN;
ALTER SEQUENCE made CACHE 6;
SAVEPOINT a;
ALTER SEQUENCE made CACHE 7;
SELECT next_id(1, 'made') > :last AS increasing;
ROLLBACK TO a;
DROP SEQUENCE made;
COMMIT;
CREATE UNLOGGED SEQUENCE made;
BEGIN;
ALTER SEQUENCE made CACHE 5;
SAVEPOINT a;
ALTER SEQUENCE made SET LOGGED;
SELECT set_ahead('made');
SELECT next_id(1, 'made') AS last \gset
ROLLBACK TO a;
COMMIT;
ALTER SEQUENCE made SET LOGGED;
SELECT next_id(1, 'made') > :last AS increasing;
-- A committed RESTART stays.
BEGIN;
ALTER SEQUENCE made CACHE 5;
SAVEPOINT a;
SELECT next_id(1, 'made') > :last AS increasing;
ROLLBACK TO a;
SELECT next_id(1, 'made') > :last AS increasing;
ALTER SEQUENCE made RESTART;
COMMIT;
SELECT next_id(1, 'made') < :last AS forgotten;
DROP SEQUENCE made;
DROP SEQUENCE exact;

CREATE TEMPORARY SEQUENCE temporary;
SELECT repeated('temporary', 'ALTER SEQUENCE temporary CACHE 5');
BEGIN;
CREATE SEQUENCE new_one;
SELECT repeated('new_one', 'ALTER SEQUENCE new_one RESTART');
ROLLBACK;

-- A plain sequence that becomes a generator, rolled back and repeated.
CREATE FUNCTION become_a_generator(INOUT ids bigint[]) LANGUAGE plpgsql AS $$
BEGIN
    ALTER SEQUENCE plain AS bigint NO MAXVALUE;
    ids := ids || next_id(1, 'plain');
    RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
    NULL;
END
$$;
DO $$
DECLARE
    ids bigint[];
BEGIN
    FOR i IN 1 .. 100 LOOP
        ids := become_a_generator(ids);
    END LOOP;
    IF (SELECT count(DISTINCT id) FROM unnest(ids) id) <> 100 THEN RAISE 'repeated: %', ids; END IF;
END
$$;
SELECT last_value, is_called FROM plain;

-- A position ahead of what was drawn stays what it is, whether nextval has returned it or not.
CREATE FUNCTION ahead() RETURNS bigint LANGUAGE sql AS $$
    SELECT id_lower_bound(date_trunc('second', clock_timestamp()) + interval '1 hour') >> 23 << 10
$$;
SELECT x, x - 1 AS before_x FROM ahead() x \gset
CREATE SEQUENCE kept;
SELECT setval('kept', :x, false) = :x AS set;
BEGIN;
ALTER SEQUENCE kept RESTART;
SELECT next_id(1, 'kept') > 0 AS drawn;
ROLLBACK;
SELECT last_value = :x AS kept, is_called FROM kept;
BEGIN;
ALTER SEQUENCE kept RESTART WITH :x;
SAVEPOINT a;
ALTER SEQUENCE kept RESTART WITH 1;
SELECT next_id(1, 'kept') > 0 AS drawn;
ROLLBACK TO a;
COMMIT;
SELECT last_value = :x AS kept, is_called FROM kept;
-- The very tick was drawn meanwhile: nextval does not return it.
BEGIN;
ALTER SEQUENCE kept RESTART WITH :x;
SAVEPOINT a;
ALTER SEQUENCE kept RESTART WITH :before_x;
SELECT (next_id(1, 'kept') >> 23 << 10) = :x AS drawn;
ROLLBACK TO a;
COMMIT;
SELECT nextval('kept') > :x AS later;

-- Each relfilenode remembers the ticks of its own layout: in another one they are other times.
CREATE SEQUENCE two;
BEGIN;
ALTER SEQUENCE two RESTART;
SAVEPOINT a;
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
SAVEPOINT b;
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two') > 0 AS drawn;
ROLLBACK TO a;
COMMIT;
SELECT shard_bits, lead < '1 s' AS present FROM id_generator_layout('two'), id_generator_status('two');
BEGIN;
ALTER SEQUENCE two CACHE 2;
SELECT setval('two', ahead()) > 0 AS set, next_id(1, 'two') AS first \gset
SAVEPOINT a;
ALTER SEQUENCE two CACHE 3;
SELECT max(next_id(1, 'two')) AS second FROM generate_series(1, 3) \gset
SAVEPOINT b;
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
ROLLBACK TO a;
SELECT next_id(1, 'two') AS third \gset
COMMIT;
SELECT :first < :second AND :second < :third AS increasing;
BEGIN;
SELECT ahead() AS x \gset
ALTER SEQUENCE two RESTART WITH :x;
SAVEPOINT a;
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two') > 0 AS drawn;
ROLLBACK TO a;
COMMIT;
SELECT last_value = :x AS kept, is_called FROM two;
CREATE TEMPORARY SEQUENCE two_here;
BEGIN;
ALTER SEQUENCE two_here RESTART;
SELECT next_id(1, 'two_here', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
ROLLBACK;
SELECT setval('two_here', ahead()) > 0 AS set, next_id(1, 'two_here') AS first \gset
BEGIN;
ALTER SEQUENCE two_here CACHE 3;
SELECT max(next_id(1, 'two_here')) AS second FROM generate_series(1, 3) \gset
ALTER SEQUENCE two_here RESTART;
SELECT next_id(1, 'two_here', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
ROLLBACK;
SELECT next_id(1, 'two_here') AS third \gset
SELECT :first < :second AND :second < :third AS increasing;
SELECT lead < '2 hours' AS present FROM id_generator_status('two_here');
DROP SEQUENCE kept, two, two_here;
DROP FUNCTION ahead;

-- From its second id on a transaction keeps the page pinned, but no more pages than a small buffer pool can spare.
CREATE EXTENSION pg_buffercache;
CREATE FUNCTION pinned() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
    WHERE c.relkind = 'S' AND b.pinning_backends > 0
      AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;
DO $$
BEGIN
    FOR i IN 1 .. 30 LOOP EXECUTE format('CREATE SEQUENCE many_%s', i); END LOOP;
END
$$;
BEGIN;
SELECT count(DISTINCT next_id(1, format('many_%s', i % 30 + 1)::regclass) + i) FROM generate_series(1, 90) i;
SELECT pinned();
SAVEPOINT a;
ALTER SEQUENCE many_2 CACHE 5;
DROP SEQUENCE many_3;
SELECT next_id(1, 'many_2') > 0 AS drawn;
ROLLBACK TO a;
SELECT next_id(1, 'many_2') > 0 AND next_id(1, 'many_3') > 0 AS drawn;
SELECT pinned();
COMMIT;
SELECT pinned();
BEGIN;
SELECT next_id(1, 'many_4') > 0 AS drawn;
SELECT pinned();
SELECT next_id(1, 'many_4') > 0 AS drawn;
SELECT pinned();
ROLLBACK;
SELECT pinned();
DROP EXTENSION pg_buffercache CASCADE;
DO $$
BEGIN
    FOR i IN 1 .. 30 LOOP EXECUTE format('DROP SEQUENCE many_%s', i); END LOOP;
END
$$;

DROP TABLE items;
DROP SEQUENCE g, h, plain, unlogged;
DROP ROLE regress_shardid_reader;
DROP FUNCTION set_ahead, draw_and_fail, repeated, become_a_generator, pinned;
