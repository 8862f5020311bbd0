-- id_partition_commands and maintain_id_partitions: the commands and their results. The clock is the machine's: results
-- that depend on it are not shown. contrib/admin/t/clock.pl sets a clock.
\set ECHO none
\a \t on
\setenv PGTZ UTC
\setenv PGDATESTYLE ISO
\set superuser :USER
\set SHOW_CONTEXT never

\getenv source PG_ABS_SRCDIR
\set try :source '/../../sql/try.psql'
\i :try
\set ECHO none
CREATE ROLE months_owner LOGIN;
CREATE ROLE months_reader LOGIN;
CREATE SCHEMA months AUTHORIZATION months_owner;
GRANT USAGE ON SCHEMA months TO months_reader;
GRANT USAGE, UPDATE ON SEQUENCE shardid_seq TO months_owner;
CREATE SCHEMA "; DROP TABLE x; --" AUTHORIZATION months_owner;
\c - months_owner
CREATE TABLE months.events (id bigint PRIMARY KEY DEFAULT next_id(5), what text) PARTITION BY RANGE (id);
GRANT SELECT, INSERT ON months.events TO months_reader;

-- The partitions with their bounds as times, up to a fixed time in the past.
CREATE FUNCTION months.parts(parent regclass) RETURNS TABLE (partition name, since timestamptz, until timestamptz) LANGUAGE sql AS $$
    SELECT relname, id_timestamp(NULLIF(bound[1], 'MINVALUE')::bigint), id_timestamp(NULLIF(bound[2], 'MAXVALUE')::bigint)
    FROM pg_inherits JOIN pg_class ON oid = inhrelid,
         regexp_match(pg_get_expr(relpartbound, oid), $r$FROM \('?(.*?)'?\) TO \('?(.*?)'?\)$r$) bound
    WHERE inhparent = parent AND (id_timestamp(NULLIF(bound[1], 'MINVALUE')::bigint) < '2025-06-01') IS NOT FALSE
    ORDER BY 2, 3, 1
$$;

\echo -- Only for missing partitions, ready to be run.
SELECT * FROM shardid_admin.id_partition_commands('months.events', '1 month', since => '2025-04-10') LIMIT 2;
SELECT count(*) - count(DISTINCT id_partition_commands) AS twice,
       count(*) - 12 * (extract(year FROM now()) - 2025) - extract(month FROM now()) + 4 AS ahead
FROM shardid_admin.id_partition_commands('months.events', '1 month', 2, since => '2025-04-10');
SELECT * FROM shardid_admin.id_partition_commands('months.events', '1 month', since => '2025-04-10') \gexec
SELECT id_partition_commands AS one_more FROM shardid_admin.id_partition_commands('months.events', '1 month', since => '2025-03-01');
INSERT INTO months.events (what) VALUES ('now') RETURNING tableoid::regclass::text = to_char(id_timestamp(id), '"months.events_"YYYYMM') AS right;
SELECT relowner::regrole, grantee::regrole, privilege_type FROM pg_class, aclexplode(relacl)
WHERE oid = 'months.events_202504'::regclass AND grantee <> relowner ORDER BY 2, 3;

\echo -- Other periods of the same table fill a gap: the rest of the year.
SELECT split_part(c, E'\n', 3) AS attached
FROM (VALUES ('1 year'::interval, '2025-01-01'::timestamptz), ('3 months', '2025-01-01'), ('1 week', '2025-03-25')) p (every, since),
     shardid_admin.id_partition_commands('months.events', p.every, 0, since => p.since) c;
\echo -- A name that a part of the same period has.
ALTER TABLE months.events DETACH PARTITION months.events_202505;
DROP TABLE months.events_202505;
CREATE TABLE months.events_202505 PARTITION OF months.events
FOR VALUES FROM (id_lower_bound('2025-05-10')) TO (id_lower_bound('2025-05-20'));
SELECT * FROM shardid_admin.id_partition_commands('months.events', '1 month', since => '2025-04-10');
\gexec
SELECT * FROM months.parts('months.events');

\echo -- Names of all periods are in the order of time.
CREATE TABLE months.other (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT every, count(*) > 5 AS several, bool_and(c COLLATE "C" > previous) AS sorted
FROM unnest('{12 hours, 24 hours, 1 day, 7 days, 1 month, 2 months, 3 months, 4 months, 6 months, 1 year}'::interval[]) every,
     LATERAL (SELECT c, lag(c) OVER (ORDER BY n) AS previous
              FROM shardid_admin.id_partition_commands('months.other', every, 6, since => now() - 10 * every) WITH ORDINALITY s (c, n)) c
GROUP BY every ORDER BY every;
SELECT (regexp_match(c, 'other_\w+'))[1] AS name, id_timestamp((regexp_match(c, 'FROM \(''(\d+)'))[1]::bigint) AS since
FROM unnest('{7 days, 1 month, 2 months, 3 months, 6 months, 1 year}'::interval[]) WITH ORDINALITY e (every, n),
     LATERAL (SELECT c FROM shardid_admin.id_partition_commands('months.other', every, since => '2024-12-31 23:30+00', timezone => 'Europe/Berlin') c LIMIT 1) c ORDER BY n;
\echo -- A day of 23 hours and one of 25.
SELECT (regexp_match(c, 'other_\w+'))[1] AS name, id_timestamp(b[2]::bigint) - id_timestamp(b[1]::bigint) AS length
FROM shardid_admin.id_partition_commands('months.other', '1 day', since => '2025-03-30', timezone => 'Europe/Berlin') c,
     regexp_match(c, 'FROM \(''(\d+)''\) TO \(''(\d+)') b
WHERE id_timestamp(b[2]::bigint) - id_timestamp(b[1]::bigint) <> '1 day' LIMIT 2;

\echo -- Another layout; there are no partitions before its epoch.
SELECT split_part(c, E'\n', 2) AS attached
FROM shardid_admin.id_partition_commands('months.other', '1 month', since => '2000-01-01', epoch => '2025-03-15', shard_bits => 10, sequence_bits => 12) c LIMIT 1;

\echo -- The layout of the ids: that of the default, in each way to write it, or that of the partitions.
CREATE SEQUENCE months.g;
CREATE TABLE months.of_twitter (id bigint DEFAULT next_id(5, 'months.g', '2010-11-04 01:42:54.657+00', 10, 12)) PARTITION BY RANGE (id);
CREATE TABLE months.of_sony (id bigint DEFAULT next_id(generator => 'months.g', sequence_bits => 8, epoch => '2014-09-01', shard_bits => 16))
PARTITION BY RANGE (id);
CREATE TABLE months.of_width (id bigint DEFAULT next_id(5, sequence_bits => 12)) PARTITION BY RANGE (id);
CREATE TABLE months.of_epoch (id bigint DEFAULT next_id(5, 'months.g', '2023-01-01')) PARTITION BY RANGE (id);
CREATE TABLE months.of_expression (id bigint DEFAULT next_id(5, 'months.g', to_timestamp(0), 8)) PARTITION BY RANGE (id);
CREATE TABLE months.of_computed_width (id bigint DEFAULT next_id(5, 'months.g', '2023-01-01', 4 + 4, 12)) PARTITION BY RANGE (id);
-- Functions that call it: the second one has another one between, the last two have no SQL body.
CREATE FUNCTION months.next_other_id() RETURNS bigint LANGUAGE sql RETURN next_id('months.g'::regclass, '2023-01-01', sequence_bits => 12);
CREATE FUNCTION months.by_way(text) RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT months.next_other_id(); END;
CREATE FUNCTION months.new_id() RETURNS bigint LANGUAGE plpgsql AS 'DECLARE number int := 5; BEGIN RETURN public.next_id(number); END';
CREATE FUNCTION months.opaque() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN public.next_id(5, sequence_bits => 12); END';
-- Calls of another function of this name, and of one that a comment names.
CREATE FUNCTION months.next_id() RETURNS bigint LANGUAGE sql RETURN months.next_other_id();
CREATE FUNCTION months.indirect() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN months.next_id(); END';
CREATE FUNCTION months.commented() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN /* not public.next_id() */ RETURN months.opaque(); END';
-- Those that compute with the id, at each place, and by a domain.
CREATE FUNCTION months.computed() RETURNS bigint LANGUAGE sql RETURN next_id(5) / 1024;
CREATE FUNCTION months.computes() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN public.next_id(5) + 7; END';
CREATE FUNCTION months.assigned() RETURNS bigint LANGUAGE plpgsql AS 'DECLARE n bigint; BEGIN SELECT public.next_id(5) INTO n; RETURN n / 2; END';
CREATE DOMAIN months.event_id AS bigint;
CREATE DOMAIN months.twitter_id AS months.event_id DEFAULT next_id(5, 'months.g', '2010-11-04 01:42:54.657+00', 10, 12);
CREATE TABLE months.of_scattered (id bigint DEFAULT scatter_bits(next_id(5), 4)) PARTITION BY RANGE (id);
CREATE TABLE months.of_sum (id bigint DEFAULT months.next_other_id() + 7) PARTITION BY RANGE (id);
CREATE TABLE months.of_computed (id bigint DEFAULT months.computed()) PARTITION BY RANGE (id);
CREATE TABLE months.of_computes (id bigint DEFAULT months.computes()) PARTITION BY RANGE (id);
CREATE TABLE months.of_assigned (id bigint DEFAULT months.assigned()) PARTITION BY RANGE (id);
CREATE TABLE months.of_event (id months.event_id DEFAULT next_id(length('of (shard'), sequence_bits => 12)::months.event_id) PARTITION BY RANGE (id);
CREATE TABLE months.of_domain (id months.twitter_id) PARTITION BY RANGE (id);
CREATE TABLE months.of_indirect (id bigint DEFAULT months.indirect()) PARTITION BY RANGE (id);
CREATE TABLE months.of_commented (id bigint DEFAULT months.commented()) PARTITION BY RANGE (id);
CREATE TABLE months.of_function (id bigint DEFAULT months.next_other_id()) PARTITION BY RANGE (id);
CREATE TABLE months.of_functions (id bigint DEFAULT months.by_way('x')) PARTITION BY RANGE (id);
CREATE TABLE months.of_new_id (id bigint DEFAULT months.new_id()) PARTITION BY RANGE (id);
CREATE TABLE months.of_opaque (id bigint DEFAULT months.opaque()) PARTITION BY RANGE (id);
CREATE VIEW months.bounds AS
SELECT parent, (SELECT substr(c, strpos(c, 'FOR VALUES')) FROM shardid_admin.id_partition_commands(parent::regclass, '1 month', since => '2025-03-01 00:00+00') c LIMIT 1)
FROM unnest('{months.of_twitter, months.of_sony, months.of_width, months.of_epoch, months.of_function, months.of_functions, months.of_new_id, months.of_event,
    months.of_domain}'::text[]) parent;
CREATE TEMPORARY TABLE bounds AS TABLE months.bounds;
TABLE bounds;
\echo -- Settings that change text change nothing.
SET quote_all_identifiers = on;
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SELECT current_setting('server_version_num')::int < 190000 AS can_be_off \gset
\if :can_be_off
SET standard_conforming_strings = off;
\endif
TABLE months.bounds EXCEPT TABLE bounds;
SELECT try('SELECT shardid_admin.id_partition_commands(' || call || ')') FROM unnest(ARRAY[
    $$'months.of_sony', '1 month', shard_bits => 13$$, $$'months.of_sony', '1 month', epoch => '01/09/2014 02:00:01'$$,
    $$'months.events', '1 month', shard_bits => 12$$, $$'months.of_opaque', '1 month', shard_bits => 13, sequence_bits => 12$$,
    $$'months.of_indirect', '1 month'$$, $$'months.of_commented', '1 month'$$, $$'months.of_scattered', '1 month'$$, $$'months.of_sum', '1 month'$$,
    $$'months.of_computed', '1 month'$$, $$'months.of_computes', '1 month'$$, $$'months.of_assigned', '1 month'$$,
    $$'months.of_expression', '1 month', epoch => to_timestamp(0), shard_bits => 8$$]) call;
RESET quote_all_identifiers;
RESET standard_conforming_strings;
SET datestyle = 'ISO';
SET timezone = 'UTC';
SELECT count(*) FROM shardid_admin.id_partition_commands('months.of_expression', '1 month', epoch => to_timestamp(0), shard_bits => 8, sequence_bits => 10);
SELECT count(*) FROM shardid_admin.id_partition_commands('months.of_computed_width', '1 month', epoch => '2023-01-01', shard_bits => 8, sequence_bits => 12);
CALL shardid_admin.maintain_id_partitions('months.of_twitter', '1 month');
CALL shardid_admin.maintain_id_partitions('months.of_domain', '1 month');
INSERT INTO months.of_domain DEFAULT VALUES;
ALTER TABLE months.of_twitter ALTER id DROP DEFAULT;
SELECT count(*) FROM shardid_admin.id_partition_commands('months.of_twitter', '1 month', epoch => '2010-11-04 01:42:54.657+00', shard_bits => 10, sequence_bits => 12);
CREATE TABLE months.by_bounds (id bigint) PARTITION BY RANGE (id);
CREATE TABLE months.by_bounds_a PARTITION OF months.by_bounds
FOR VALUES FROM (id_lower_bound('2025-03-01', '2023-01-01')) TO (id_lower_bound('2025-04-01', '2023-01-01'));
\echo -- The name tells where the bounds do not.
SELECT count(*) > 0 AS unseen FROM shardid_admin.id_partition_commands('months.by_bounds', '1 month', epoch => '2023-01-01', shard_bits => 12);
ALTER TABLE months.by_bounds_a RENAME TO by_bounds_202503;
SELECT count(*) > 0 AS right FROM shardid_admin.id_partition_commands('months.by_bounds', '1 month', epoch => '2023-01-01');
SELECT try('SELECT shardid_admin.id_partition_commands(''months.' || call || ')') FROM unnest(ARRAY[
    $$of_twitter', '1 month'$$, $$of_twitter', '1 month', epoch => '2010-11-04 01:42:54.657+00'$$,
    $$by_bounds', '1 month'$$, $$by_bounds', '1 month', epoch => '2020-01-01'$$,
    $$by_bounds', '1 month', epoch => '2023-01-01', shard_bits => 12$$]) call;
\echo -- Bounds and names of other kinds are left as they are.
CREATE TABLE months.by_hand (id bigint) PARTITION BY RANGE (id);
CREATE TABLE months.by_hand_2000 PARTITION OF months.by_hand FOR VALUES FROM (1000) TO (2000);
CREATE TABLE months.by_hand_before PARTITION OF months.by_hand FOR VALUES FROM (2000) TO (id_lower_bound('2025-01-07 12:34:56.789'));
CREATE TABLE months.by_hand_after PARTITION OF months.by_hand
FOR VALUES FROM (id_lower_bound('2025-01-07 12:34:56.789')) TO (id_lower_bound('2025-02-20'));
CREATE TABLE months.by_hand_202503 PARTITION OF months.by_hand
FOR VALUES FROM (id_lower_bound('2025-03-01 00:00+02')) TO (id_lower_bound('2025-04-01 00:00+02'));
CREATE TABLE months.by_hand_2025q2_2 PARTITION OF months.by_hand FOR VALUES FROM (id_lower_bound('2025-06-01')) TO (id_lower_bound('2025-07-01'));
CREATE TABLE months.by_hand_2025w30 PARTITION OF months.by_hand FOR VALUES FROM (id_lower_bound('2025-07-21')) TO (id_lower_bound('2025-07-28'));
CREATE TABLE months.by_hand_20250731 PARTITION OF months.by_hand FOR VALUES FROM (id_lower_bound('2025-07-31')) TO (id_lower_bound('2025-08-01'));
CREATE TABLE months.by_hand_2025080112 PARTITION OF months.by_hand
FOR VALUES FROM (id_lower_bound('2025-08-01 12:00')) TO (id_lower_bound('2025-08-01 13:00'));
SELECT count(*) > 0 AS right FROM shardid_admin.id_partition_commands('months.by_hand', '1 month');

\echo -- Refused.
CREATE TABLE months.by_list (id bigint PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE months.by_int (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE months.by_two (id bigint, n int) PARTITION BY RANGE (id, n);
CREATE TABLE months.by_expression (id bigint) PARTITION BY RANGE ((id + 1));
SELECT try('SELECT shardid_admin.id_partition_commands(' || call || ')') FROM unnest(ARRAY[$$'months.events', '45 minutes'$$,
    $$'months.events', '1 month 3 days'$$, $$'months.events', '-1 months'$$, $$'months.events', '5 months'$$,
    $$'months.events', '5 hours'$$, $$'months.events', '2 days'$$, $$'months.events', '30 days'$$,
    $$'months.events', '0'$$, $$'months.events', '1 month', -1$$, $$'months.events', '1 month', 10001$$,
    $$'months.events', '1 month', keep => '-1 months'$$, $$'months.events', '1 month', keep => '1 month -29 days'$$,
    $$'months.events', '1 month', since => '-infinity'$$, $$'months.events', '1 month', timezone => 'Nowhere'$$,
    $$'months.other', '1 hour', since => '2020-01-01'$$, $$'months.events', '1 month', shard_bits => 40$$,
    $$NULL, '1 month'$$, $$'months.events', NULL$$,
    $$0, '1 month'$$, $$'months.events_202504', '1 month'$$, $$'months.by_list', '1 month'$$,
    $$'months.by_int', '1 month'$$, $$'months.by_two', '1 month'$$, $$'months.by_expression', '1 month'$$]) call;
\c - months_reader
SELECT shardid_admin.id_partition_commands('months.events', '1 month');
\c - :superuser
\echo -- Nor as a superuser that has become the owner, and would be a superuser again if a function of the table says so.
SET ROLE months_owner;
CALL shardid_admin.maintain_id_partitions('months.events', '1 month');
\set VERBOSITY terse
SET SESSION AUTHORIZATION months_owner;
CALL shardid_admin.maintain_id_partitions('months.events', '1 month');
\c - months_owner
CALL shardid_admin.maintain_id_partitions('months.events', '45 minutes');
CALL shardid_admin.maintain_id_partitions(NULL, '1 month');
BEGIN;
CALL shardid_admin.maintain_id_partitions('months.events', '1 month');
ROLLBACK;
\set VERBOSITY default

\echo -- Names: long ones, those that need quotes, those that are in use.
CREATE TABLE months.a_table_with_a_name_of_fifty_seven_bytes_that_is_too_long (id bigint) PARTITION BY RANGE (id);
SELECT shardid_admin.id_partition_commands('months.a_table_with_a_name_of_fifty_seven_bytes_that_is_too_long', '1 month', since => '2025-05-01');
\set odd '"; DROP TABLE x; --"."it''s %I %1$s\n""$$;"'
CREATE TABLE :odd ("i""d" bigint PRIMARY KEY, "a;b" text) PARTITION BY RANGE ("i""d");
\c - :superuser
CREATE ROLE "months %1$s ""x";
\c - months_owner
GRANT SELECT ON :odd TO "months %1$s ""x" WITH GRANT OPTION;
GRANT SELECT ON :odd TO PUBLIC;
SELECT * FROM shardid_admin.id_partition_commands(:'odd', '1 month', since => '2025-05-01') LIMIT 1;
\gexec
SELECT partition FROM months.parts(:'odd');
CREATE VIEW months.other_202504 AS SELECT 1 AS n;
SELECT count(*) > 0 FROM shardid_admin.id_partition_commands('months.other', '1 month', since => '2025-04-01');
DROP VIEW months.other_202504;

\echo -- A role whose name has to be quoted owns its tables, and not those of the role that is called like it.
\c - :superuser
CREATE ROLE "Months_Owner" LOGIN SUPERUSER;
\c - "Months_Owner"
SELECT try('SELECT shardid_admin.id_partition_commands(''months.events'', ''1 month'')');
CREATE TABLE months.quoted_owner (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT count(*) FROM shardid_admin.id_partition_commands('months.quoted_owner', '1 month', 0);
\echo -- Later than now is not since.
SELECT count(*) FROM shardid_admin.id_partition_commands('months.quoted_owner', '1 month', 1, since => now() + '1 year'::interval);
CALL shardid_admin.maintain_id_partitions('months.quoted_owner', '1 month', 0);
\c - months_owner

\echo -- Rights of other roles are copied, but not for a table with row security, nor what default privileges give.
ALTER TABLE months.other ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON months.other TO months_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA months GRANT SELECT ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT DELETE ON TABLES TO months_reader, "months %1$s ""x";
SELECT * FROM shardid_admin.id_partition_commands('months.other', '1 month', since => '2025-05-01') LIMIT 1;
CREATE TABLE months.all_to_one (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
REVOKE ALL ON months.all_to_one FROM PUBLIC, months_reader, "months %1$s ""x";
GRANT INSERT ON months.all_to_one TO months_reader;
SELECT * FROM shardid_admin.id_partition_commands('months.all_to_one', '1 month', since => '2025-05-01') LIMIT 1;
\gexec
SELECT COALESCE(NULLIF(grantee, 0)::regrole::text, 'PUBLIC') AS grantee, privilege_type FROM pg_class, aclexplode(relacl)
WHERE oid = 'months.all_to_one_202505'::regclass AND grantee <> relowner;
ALTER DEFAULT PRIVILEGES IN SCHEMA months REVOKE SELECT ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE DELETE ON TABLES FROM months_reader, "months %1$s ""x";

\echo -- A default partition: its rows prevent a new partition. The HINT has the commands that move them, after which triggers are as
\echo -- before; contrib/admin/t/maintain.pl runs them.
CREATE TABLE months.other_rest PARTITION OF months.other DEFAULT;
INSERT INTO months.other SELECT id_lower_bound('2025-05-10') + n FROM generate_series(1, 3) n;
CREATE FUNCTION months.never() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''a trigger fires''; END';
CREATE TRIGGER fires BEFORE DELETE ON months.other_rest FOR EACH ROW EXECUTE FUNCTION months.never();
CREATE TRIGGER "always fires" BEFORE DELETE ON months.other_rest EXECUTE FUNCTION months.never();
CREATE TRIGGER fires_not BEFORE DELETE ON months.other_rest EXECUTE FUNCTION months.never();
CREATE TRIGGER fires_on_replica BEFORE DELETE ON months.other_rest EXECUTE FUNCTION months.never();
ALTER TABLE months.other_rest ENABLE ALWAYS TRIGGER "always fires", DISABLE TRIGGER fires_not, ENABLE REPLICA TRIGGER fires_on_replica;
\set VERBOSITY terse
SELECT split_part(c, E'\n', 1) AS command FROM shardid_admin.id_partition_commands('months.other', '1 month', since => '2025-05-01') c LIMIT 1;
\set VERBOSITY default
CALL shardid_admin.maintain_id_partitions('months.other', '1 month', since => '2025-05-01');
SELECT count(*) > 10 AS rest_is_done FROM pg_inherits WHERE inhparent = 'months.other'::regclass;
\echo -- One that belongs to another role is not read: functions in its indexes would run.
\c - :superuser
ALTER TABLE months.other_rest OWNER TO months_reader;
\c - months_owner
CALL shardid_admin.maintain_id_partitions('months.other', '1 month', since => '2024-03-01');

\echo -- Old partitions: only those with the bounds of a period. CONCURRENTLY only without a default partition.
DROP TABLE months.other;
CREATE TABLE months.other (id bigint PRIMARY KEY, g int GENERATED ALWAYS AS (5) STORED) PARTITION BY RANGE (id);
SELECT * FROM shardid_admin.id_partition_commands('months.other', '1 month', since => '2025-01-01') \gexec
CREATE TABLE months.other_archive PARTITION OF months.other FOR VALUES FROM (MINVALUE) TO (id_lower_bound('2024-06-01'));
CREATE TABLE months.other_202406 PARTITION OF months.other FOR VALUES FROM (id_lower_bound('2024-06-01')) TO (id_lower_bound('2024-06-30'));
CREATE TABLE months.other_july PARTITION OF months.other FOR VALUES FROM (id_lower_bound('2024-07-01')) TO (id_lower_bound('2024-08-01'));
SELECT now() - '2025-03-10 00:00+00' AS age \gset
SELECT * FROM shardid_admin.id_partition_commands('months.other', '1 month', keep => :'age');
\set VERBOSITY terse
SELECT count(*) FROM unnest('{1000, 10000, 178000000}'::int[]) n, shardid_admin.id_partition_commands('months.other', '1 month', keep => n * '1 year'::interval);
CREATE TABLE months.other_rest PARTITION OF months.other DEFAULT;
SELECT * FROM shardid_admin.id_partition_commands('months.other', '1 month', keep => :'age') LIMIT 1;
\echo -- A partition with referenced rows stays, and the other commands run.
INSERT INTO months.other SELECT id_lower_bound('2025-01-05');
CREATE TABLE months.comments (event bigint REFERENCES months.other);
INSERT INTO months.comments SELECT id FROM months.other;
-- The name that PostgreSQL chooses differs between versions.
DO $$
BEGIN
    EXECUTE (SELECT format('ALTER TABLE months.comments RENAME CONSTRAINT %I TO of_january', conname) FROM pg_constraint
        WHERE conrelid = 'months.comments'::regclass AND confrelid = 'months.other_202501'::regclass);
END
$$;
CALL shardid_admin.maintain_id_partitions('months.other', '1 month', keep => :'age');
DROP TABLE months.comments;
CALL shardid_admin.maintain_id_partitions('months.other', '1 month', keep => :'age');
SELECT * FROM months.parts('months.other');
\set VERBOSITY default

\echo -- A foreign table is dropped as one.
\c - :superuser
CREATE FOREIGN DATA WRAPPER months_wrapper;
CREATE SERVER months_server FOREIGN DATA WRAPPER months_wrapper;
GRANT USAGE ON FOREIGN SERVER months_server TO months_owner;
\c - months_owner
CREATE TABLE months.far (id bigint) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE months.far_202404 PARTITION OF months.far FOR VALUES FROM (id_lower_bound('2024-04-01')) TO (id_lower_bound('2024-05-01'))
SERVER months_server;
SELECT * FROM shardid_admin.id_partition_commands('months.far', '1 month', keep => :'age') WHERE id_partition_commands ~ '202404';
CALL shardid_admin.maintain_id_partitions('months.far', '1 month', 0, keep => :'age');

\echo -- Partitions that are partitioned themselves count, and are dropped as a whole.
CREATE TABLE months.regions (region text, id bigint, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE months.eu PARTITION OF months.regions FOR VALUES IN ('eu') PARTITION BY RANGE (id);
CREATE TABLE months.eu_202503 PARTITION OF months.eu FOR VALUES FROM (id_lower_bound('2025-03-01')) TO (id_lower_bound('2025-04-01'))
PARTITION BY HASH (id);
CREATE TABLE months.eu_202503_0 PARTITION OF months.eu_202503 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT * FROM shardid_admin.id_partition_commands('months.eu', '1 month', since => '2025-03-01') LIMIT 1;
\gexec
INSERT INTO months.regions VALUES ('eu', id_lower_bound('2025-03-05')), ('eu', id_lower_bound('2025-04-05'));
SELECT tableoid::regclass FROM months.regions ORDER BY 1;
SELECT now() - '2025-04-10 00:00+00' AS age \gset
CALL shardid_admin.maintain_id_partitions('months.eu', '1 month', 0, keep => :'age');
SELECT * FROM months.parts('months.eu');

\echo -- Columns of every kind, a foreign key, triggers: new partitions have them as well.
CREATE TABLE months.users (id bigint PRIMARY KEY);
CREATE FUNCTION months.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE months.full (
    dropped int,
    n bigint GENERATED ALWAYS AS IDENTITY,
    id bigint PRIMARY KEY DEFAULT next_id(5),
    owner bigint NOT NULL REFERENCES months.users,
    text text COLLATE "C" DEFAULT 'x' CHECK (text <> ''),
    doubled int GENERATED ALWAYS AS (length(text) * 2) STORED) PARTITION BY RANGE (id);
ALTER TABLE months.full DROP COLUMN dropped;
CREATE INDEX ON months.full (lower(text)) WHERE doubled > 1;
CREATE STATISTICS months.of_full ON owner, text FROM months.full;
CREATE TRIGGER note BEFORE INSERT ON months.full FOR EACH ROW EXECUTE FUNCTION months.note();
INSERT INTO months.users VALUES (1);
SELECT * FROM shardid_admin.id_partition_commands('months.full', '1 month', since => '2025-05-01') LIMIT 1;
\gexec
INSERT INTO months.full (id, owner) VALUES (id_lower_bound('2025-05-05'), 1) RETURNING tableoid::regclass, n, text, doubled;
INSERT INTO months.full (id, owner) VALUES (id_lower_bound('2025-05-06'), 2);
\echo -- A table that is published without a key needs it.
ALTER TABLE months.full REPLICA IDENTITY FULL;
\if :can_be_off
SET standard_conforming_strings = off;
\endif
SELECT * FROM shardid_admin.id_partition_commands('months.full', '1 month', since => '2025-05-01') LIMIT 1;
\gexec
RESET standard_conforming_strings;
SELECT relname, relreplident FROM pg_partition_tree('months.full') JOIN pg_class ON oid = relid WHERE relname < 'full_202507' ORDER BY 1;
CREATE TABLE months.full_by_core PARTITION OF months.full FOR VALUES FROM (0) TO (1);
SELECT string_agg(a.attname, ' ' ORDER BY a.attname) AS alike FROM pg_attribute a JOIN pg_attribute c USING (attname)
WHERE a.attrelid = 'months.full_202505'::regclass AND c.attrelid = 'months.full_by_core'::regclass AND a.attnum > 0
  AND (a.attnotnull, a.atthasdef, a.attgenerated, a.attcollation) IS NOT DISTINCT FROM (c.attnotnull, c.atthasdef, c.attgenerated, c.attcollation);
SELECT (SELECT string_agg(concat(contype, conparentid <> 0 OR coninhcount > 0), ' ' ORDER BY contype) FROM pg_constraint
        WHERE conrelid = relid AND contype <> 'n') AS constraints,
       (SELECT count(*) FROM pg_index WHERE indrelid = relid) AS indexes,
       (SELECT count(*) FROM pg_trigger WHERE tgrelid = relid AND NOT tgisinternal) AS triggers
FROM to_regclass('months.full_202505') relid;
\c - :superuser

\echo -- UUIDs of version 6 as bounds.
SELECT uuid_v6_lower_bound('2025-01-01'), uuid_v6_timestamp(uuid_v6_lower_bound('2025-01-01')), uuid_v6_timestamp(uuid_v6_lower_bound('2025-01-01')::text);
SELECT bool_and(uuid_v6_from(ts, seq, mac, ns) >= uuid_v6_lower_bound(ts) AND uuid_v6_from(ts - '1 us'::interval, seq, mac, 9) < uuid_v6_lower_bound(ts)) AS right
FROM generate_series('1900-01-01'::timestamptz, '2100-01-01', '333 days 01:01:01.010101') ts, unnest('{0, 16383}'::int[]) seq,
     unnest('{00:00:00:00:00:00, ff:ff:ff:ff:ff:ff}'::macaddr[]) mac, unnest('{0, 9}'::int[]) ns;
SELECT uuid_v6_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846'), uuid_v6_timestamp(NULL::text), uuid_v6_lower_bound(NULL);
SELECT try('SELECT uuid_v6_timestamp(''x'')'), try('SELECT uuid_v6_lower_bound(''1500-01-01'')');
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA months, "; DROP TABLE x; --" CASCADE;
REVOKE USAGE, UPDATE ON SEQUENCE shardid_seq FROM months_owner;
DROP FOREIGN DATA WRAPPER months_wrapper CASCADE;
DROP ROLE months_owner, "Months_Owner", months_reader, "months %1$s ""x";
DROP FUNCTION try;
