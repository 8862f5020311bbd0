-- USAGE is not UPDATE: a call that would turn a used plain sequence into a generator needs UPDATE, as setval does.
\a \t on
CREATE ROLE regress_shardid_app;
CREATE ROLE regress_shardid_owner;
SET timezone = 'UTC';
\getenv source PG_ABS_SRCDIR
\set try :source '/sql/try.psql'
\i :try

-- A plain sequence that is in use.
CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
INSERT INTO orders (item) SELECT 'one' FROM generate_series(1, 100);
GRANT USAGE ON SEQUENCE orders_id_seq TO regress_shardid_app;
GRANT SELECT, INSERT ON orders TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT regexp_replace(try('SELECT next_id(1, ''orders_id_seq'')'), 'to \d+', 'to MANY');
SELECT left(try('SELECT count(*) FROM next_ids(1, 1000, ''orders_id_seq'')'), 5);
SELECT left(try('SELECT next_ids(1, 1000, ''orders_id_seq'')'), 5);
-- Also refused in small steps, each with an epoch of its own.
CREATE TEMPORARY TABLE tries AS
SELECT n, left(try(format('SELECT count(*) FROM next_ids(0, 100, ''orders_id_seq'', %L, 1, %s)',
                          date_trunc('milliseconds', clock_timestamp()), 31 - n % 32)), 5) AS sqlstate
FROM generate_series(1, 160) n;
SELECT sqlstate, count(*) FROM tries GROUP BY sqlstate;
RESET ROLE;
SELECT last_value <= 200 AS not_far FROM orders_id_seq;
DROP TABLE tries;
-- Also refused with a large last value, compared with which a young epoch would be no jump.
SELECT setval('orders_id_seq', 1000000000);
SET ROLE regress_shardid_app;
SELECT left(try(format('SELECT next_id(0, ''orders_id_seq'', %L, 1, 29)',
                       date_trunc('milliseconds', clock_timestamp()) - interval '1 ms')), 5);
RESET ROLE;
SELECT setval('orders_id_seq', 200);
SET ROLE regress_shardid_app;
INSERT INTO orders (item) VALUES ('two') RETURNING id <= 201;
RESET ROLE;

-- Also refused after setval, whatever is_called is.
CREATE SEQUENCE put;
GRANT USAGE ON SEQUENCE put TO regress_shardid_app;
SELECT setval('put', 1000, false);
SET ROLE regress_shardid_app;
SELECT left(try('SELECT next_id(1, ''put'')'), 5);
RESET ROLE;

-- Allowed: a fresh sequence, also with another START, and one that was restarted.
CREATE SEQUENCE fresh;
CREATE SEQUENCE elsewhere START 1000;
GRANT USAGE ON SEQUENCE fresh, elsewhere TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'fresh') IS NOT NULL, next_id(1, 'elsewhere') IS NOT NULL;
RESET ROLE;
ALTER SEQUENCE fresh RESTART;
ALTER SEQUENCE orders_id_seq RESTART;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'fresh') IS NOT NULL, next_id(1, 'orders_id_seq') IS NOT NULL;

-- Allowed: a generator, also after setval and nextval. An older value does not allow a jump.
SELECT next_id(1, 'fresh') IS NOT NULL, nextval('fresh') IS NOT NULL, next_id(1, 'fresh') IS NOT NULL;
RESET ROLE;
SELECT setval('fresh', 1);
SET ROLE regress_shardid_app;
SELECT next_id(1, 'fresh') IS NOT NULL;
RESET ROLE;

-- As after a dump: a new sequence with the last value.
SELECT last_value FROM fresh \gset
DROP SEQUENCE fresh;
CREATE SEQUENCE fresh;
SELECT setval('fresh', :last_value, true) IS NOT NULL;
GRANT USAGE ON SEQUENCE fresh TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'fresh') IS NOT NULL;
RESET ROLE;
-- New storage with the old last value, by ALTER SEQUENCE, TRUNCATE, ALTER TABLE.
ALTER SEQUENCE fresh MAXVALUE 9223372036854775806;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'fresh') IS NOT NULL;
RESET ROLE;

-- Allowed once with UPDATE, to the owner and to a superuser; then USAGE is enough.
CREATE SEQUENCE used;
SELECT nextval('used');
ALTER SEQUENCE used OWNER TO regress_shardid_owner;
GRANT USAGE ON SEQUENCE used TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT left(try('SELECT next_id(1, ''used'')'), 5);
SET ROLE regress_shardid_owner;
SELECT next_id(1, 'used') IS NOT NULL;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'used') IS NOT NULL;
RESET ROLE;
CREATE SEQUENCE granted;
SELECT nextval('granted');
GRANT USAGE ON SEQUENCE granted TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT left(try('SELECT next_id(1, ''granted'')'), 5);
RESET ROLE;
GRANT UPDATE ON SEQUENCE granted TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'granted') IS NOT NULL;
RESET ROLE;
REVOKE UPDATE ON SEQUENCE granted FROM regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT next_id(1, 'granted') IS NOT NULL;

-- A fresh sequence, but with an epoch by which its time field would end at once.
RESET ROLE;
CREATE SEQUENCE short_lived;
GRANT USAGE ON SEQUENCE short_lived TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT left(try(format('SELECT next_id(0, ''short_lived'', %L, 1, 31)', date_trunc('milliseconds', clock_timestamp())
                       - (4294967295 - 3600000) * interval '1 ms')), 5);
SELECT nextval('short_lived');
RESET ROLE;
-- Where nothing can be drawn anyway, that is the error: a clock before the epoch, the end of the time field.
CREATE SEQUENCE no_time;
SELECT nextval('no_time');
GRANT USAGE ON SEQUENCE no_time TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT left(try('SELECT next_id(1, ''no_time'', ''2090-01-01 00:00:00+00'')'), 5);
SELECT left(try('SELECT next_id(1, ''no_time'', ''1970-01-01 00:00:00+00'', 22, 10)'), 5);
RESET ROLE;
DROP SEQUENCE no_time;
-- CYCLE is refused: with it nextval would set a generator back.
CREATE SEQUENCE round CYCLE;
SELECT try('SELECT next_id(1, ''round'')');
ALTER SEQUENCE round NO CYCLE;
SELECT try('SELECT next_id(1, ''round'')');
SET ROLE regress_shardid_app;

-- nextval_range needs UPDATE for more than 10,000 values in a call.
SELECT last - first FROM nextval_range('short_lived', 10000);
SELECT try('SELECT nextval_range(''short_lived'', 10001)');
-- For a generator it always needs UPDATE: values are time, and a call could use up seconds.
SELECT try('SELECT nextval_range(''fresh'', 1)');
SELECT nextval('fresh') IS NOT NULL;
RESET ROLE;
SELECT last - first FROM nextval_range('short_lived', 10001);
SELECT last - first FROM nextval_range('fresh', 100);

DROP TABLE orders;
DROP SEQUENCE short_lived, round, put, fresh, elsewhere, used, granted;
DROP FUNCTION try;
DROP ROLE regress_shardid_app, regress_shardid_owner;
