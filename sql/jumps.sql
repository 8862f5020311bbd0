-- USAGE is not UPDATE: a call that would turn a used plain sequence into a generator needs UPDATE, as setval does.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none
CREATE ROLE regress_shardid_app;
CREATE ROLE regress_shardid_owner;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO regress_shardid_app;
\echo -- What comes of these calls by a role with USAGE: SQLSTATEs.
CREATE FUNCTION with_usage(VARIADIC calls text[]) RETURNS SETOF text LANGUAGE sql SET role = 'regress_shardid_app'
AS $$ SELECT split_part(try('SELECT ' || call), ' | ', 1) FROM unnest(calls) call $$;

\echo -- A plain sequence that is in use.
CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
INSERT INTO orders (item) SELECT 'one' FROM generate_series(1, 100);
GRANT SELECT, INSERT ON orders TO regress_shardid_app;
SET ROLE regress_shardid_app;
SELECT regexp_replace(try('SELECT next_id(1, ''orders_id_seq'')'), 'to \d+', 'to MANY');
RESET ROLE;
SELECT with_usage($$count(*) FROM next_ids(1, 1000, 'orders_id_seq')$$, $$next_ids(1, 1000, 'orders_id_seq')$$);
\echo -- Also refused in small steps, each with an epoch of its own.
SELECT sqlstate, count(*)
FROM generate_series(1, 160) n,
     with_usage(format('count(*) FROM next_ids(0, 100, ''orders_id_seq'', %L, 1, %s)',
                       date_trunc('milliseconds', clock_timestamp()), 31 - n % 32)) sqlstate
GROUP BY sqlstate;
SELECT last_value <= 200 AS not_far FROM orders_id_seq;
\echo -- Also refused with a large last value, compared with which a young epoch would be no jump; and after setval, whatever
\echo -- is_called is.
SELECT setval('orders_id_seq', 1000000000);
SELECT with_usage(format('next_id(0, ''orders_id_seq'', %L, 1, 29)',
                         date_trunc('milliseconds', clock_timestamp()) - interval '1 ms'));
SELECT setval('orders_id_seq', 200, false);
SELECT with_usage($$next_id(1, 'orders_id_seq')$$);
SET ROLE regress_shardid_app;
INSERT INTO orders (item) VALUES ('two') RETURNING id;
RESET ROLE;

\echo -- Allowed: a fresh sequence, also with another START, and one that was restarted; and a generator, also after setval and
\echo -- nextval.
CREATE SEQUENCE fresh;
CREATE SEQUENCE elsewhere START 1000;
ALTER SEQUENCE orders_id_seq RESTART;
SELECT with_usage($$next_id(1, 'fresh')$$, $$next_id(1, 'elsewhere')$$, $$next_id(1, 'orders_id_seq')$$, $$nextval('fresh')$$,
                  $$next_id(1, 'fresh')$$);
SELECT setval('fresh', 1);
SELECT with_usage($$next_id(1, 'fresh')$$);
\echo -- As after a dump: a new sequence with the last value.
SELECT last_value FROM fresh \gset
DROP SEQUENCE fresh;
CREATE SEQUENCE fresh;
SELECT setval('fresh', :last_value, true) IS NOT NULL;
SELECT with_usage($$next_id(1, 'fresh')$$);
\echo -- New storage with the old last value, by ALTER SEQUENCE, TRUNCATE, ALTER TABLE.
ALTER SEQUENCE fresh MAXVALUE 9223372036854775806;
SELECT with_usage($$next_id(1, 'fresh')$$);

\echo -- Allowed once with UPDATE, to the owner and to a superuser; then USAGE is enough.
CREATE SEQUENCE used;
SELECT nextval('used');
ALTER SEQUENCE used OWNER TO regress_shardid_owner;
SELECT with_usage($$next_id(1, 'used')$$);
SET ROLE regress_shardid_owner;
SELECT next_id(1, 'used') IS NOT NULL;
RESET ROLE;
SELECT with_usage($$next_id(1, 'used')$$);
CREATE SEQUENCE granted;
SELECT nextval('granted');
SELECT with_usage($$next_id(1, 'granted')$$);
GRANT UPDATE ON SEQUENCE granted TO regress_shardid_app;
SELECT with_usage($$next_id(1, 'granted')$$);
REVOKE UPDATE ON SEQUENCE granted FROM regress_shardid_app;
SELECT with_usage($$next_id(1, 'granted')$$);

\echo -- A fresh sequence, but with an epoch by which its time field would end at once.
CREATE SEQUENCE short_lived;
SELECT with_usage(format('next_id(0, ''short_lived'', %L, 1, 31)', date_trunc('milliseconds', clock_timestamp())
                         - (4294967295 - 3600000) * interval '1 ms'), $$nextval('short_lived')$$);
\echo -- Where nothing can be drawn anyway, that is the error: a clock before the epoch, the end of the time field.
CREATE SEQUENCE no_time;
SELECT nextval('no_time');
SELECT with_usage($$next_id(1, 'no_time', '2090-01-01 00:00:00+00')$$, $$next_id(1, 'no_time', '1970-01-01 00:00:00+00', 22, 10)$$);
\echo -- CYCLE is refused: with it nextval would set a generator back.
CREATE SEQUENCE round CYCLE;
SELECT try('SELECT next_id(1, ''round'')');
ALTER SEQUENCE round NO CYCLE;
SELECT try('SELECT next_id(1, ''round'')') AS first;

\echo -- nextval_range needs UPDATE for more than 10,000 values in a call. For a generator it always needs UPDATE: values are time,
\echo -- and a call could use up seconds.
SET ROLE regress_shardid_app;
SELECT last - first FROM nextval_range('short_lived', 10000);
SELECT try('SELECT nextval_range(''short_lived'', 10001)');
SELECT try('SELECT nextval_range(''fresh'', 1)');
SELECT nextval('fresh') IS NOT NULL;
RESET ROLE;
SELECT last - first FROM nextval_range('short_lived', 10001);
SELECT last - first FROM nextval_range('fresh', 100);

DROP TABLE orders;
DROP SEQUENCE short_lived, round, fresh, elsewhere, used, granted, no_time;
DROP FUNCTION with_usage;
DROP OWNED BY regress_shardid_app;
DROP ROLE regress_shardid_app, regress_shardid_owner;
