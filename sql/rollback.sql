-- Storage that a rollback restores knows what was drawn from the storage that is rolled back: generators that are ahead of
-- the clock show it. t/crash/floors.pl has random transactions, with the real clock, too; here are sequences that are new,
-- plain or made unlogged, and how exact the restored position is.
\set ECHO none
\a \t on

\echo -- Sets a generator an hour ahead of the clock: then it can only continue from what its storage remembers.
CREATE FUNCTION set_ahead(generator text) RETURNS void LANGUAGE sql AS $$
    SELECT setval(generator, id_lower_bound(clock_timestamp() + interval '1 hour') >> 23 << 10)
$$;

\echo -- A sequence created in the same transaction, altered in a subtransaction; and so another one, drawn from after it.
BEGIN;
CREATE SEQUENCE made;
CREATE SEQUENCE beside;
SELECT set_ahead('made'), next_id(1, 'made') AS first \gset
SAVEPOINT a;
ALTER SEQUENCE made CACHE 5;
SELECT max(next_id(1, 'made')) AS second FROM generate_series(1, 3) \gset
ALTER SEQUENCE beside CACHE 5;
SELECT next_id(1, 'beside') > 0 AS drawn;
ROLLBACK TO a;
COMMIT;
DROP SEQUENCE beside;
SELECT :first < :second AND last_value = ((:second >> 23) << 10 | (:second & 1023)) AS exact FROM made;
\echo -- Dropped; or made unlogged by the transaction that gives it up.
BEGIN;
ALTER SEQUENCE made CACHE 6;
SAVEPOINT a;
ALTER SEQUENCE made CACHE 7;
SELECT next_id(1, 'made') > :second AS increasing;
ROLLBACK TO a;
DROP SEQUENCE made;
COMMIT;
CREATE SEQUENCE made;
BEGIN;
SAVEPOINT a;
ALTER SEQUENCE made CACHE 5;
SELECT set_ahead('made'), next_id(1, 'made') AS last \gset
ROLLBACK TO a;
ALTER SEQUENCE made SET UNLOGGED;
COMMIT;
ALTER SEQUENCE made SET LOGGED;
SELECT next_id(1, 'made') > :last AS increasing;

\echo '-- A plain sequence that becomes a generator and is altered again: the plain storage stays unchanged, the generator''s'
\echo -- remembers. The storage can be in a row of pg_class that this transaction made.
CREATE SEQUENCE plain AS integer;
SELECT nextval('plain');
CREATE ROLE regress_shardid_reader;
BEGIN;
GRANT SELECT ON SEQUENCE plain TO regress_shardid_reader;
ALTER SEQUENCE plain AS bigint NO MAXVALUE;
SELECT set_ahead('plain');
SAVEPOINT a;
ALTER SEQUENCE plain CACHE 5;
SELECT max(next_id(1, 'plain')) AS first FROM generate_series(1, 3) \gset
ROLLBACK TO a;
SELECT next_id(1, 'plain') > :first AS increasing;
ROLLBACK;
SELECT last_value, is_called FROM plain;
\echo -- Or be new while the definition is old.
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
\echo -- A definition that is new in the transaction and is restored with storage of its own.
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
SELECT :first < :second AND :second < :third AND :third < next_id(1, 'items_id_seq') AS increasing;
ROLLBACK;
SELECT last_value, is_called FROM items_id_seq;

\echo -- Restored storage knows exactly what was drawn, neither less nor more: a generator that a rollback put ahead of the clock
\echo -- would forget ids in the next RESTART.
CREATE SEQUENCE exact;
BEGIN;
SELECT next_id(1, 'exact') > 0 AS drawn;
ALTER SEQUENCE exact CACHE 5;
SELECT max(next_id(1, 'exact')) AS last FROM generate_series(1, 5000) \gset
SAVEPOINT a;
ALTER SEQUENCE exact CACHE 6;
ALTER SEQUENCE exact CACHE 7;
SELECT max(next_id(1, 'exact')) AS last FROM generate_series(1, 5000) \gset
ROLLBACK TO a;
ROLLBACK;
SELECT last_value = ((:last >> 23) << 10 | (:last & 1023)) AS exact FROM exact;
\echo -- Storage that was made in the same transaction and is restored knows it at the latest at the commit.
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
\echo -- Of what was drawn in several layouts, also what is not of the last one.
CREATE SEQUENCE two;
BEGIN;
ALTER SEQUENCE two CACHE 2;
SELECT set_ahead('two'), next_id(1, 'two') AS first \gset
SAVEPOINT a;
ALTER SEQUENCE two CACHE 3;
SELECT max(next_id(1, 'two')) AS second FROM generate_series(1, 3) \gset
ALTER SEQUENCE two RESTART;
SELECT next_id(1, 'two', shard_bits => 9, sequence_bits => 14) > 0 AS drawn;
ROLLBACK TO a;
SELECT :first < :second AND :second < next_id(1, 'two') AS increasing;
COMMIT;

DROP TABLE items;
DROP SEQUENCE plain, made, exact, two;
DROP ROLE regress_shardid_reader;
DROP FUNCTION set_ahead;
