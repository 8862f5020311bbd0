-- shard_fingerprint: which server and database this is, and which roles see its place.
\set ECHO none
\a \t on
CREATE ROLE regress_shardid_visitor;
CREATE ROLE regress_shardid_reader IN ROLE pg_read_all_settings;

\echo '-- It shows PostgreSQL''s own values, to every role.'
CREATE VIEW known AS
    SELECT f.system_identifier = s.system_identifier AS system_identifier, f.timeline = c.timeline_id AS timeline,
           f.database = d.oid AS database, f.extension = e.oid AS extension, f.started = pg_postmaster_start_time() AS started,
           f.place ~ '^[0-9a-f]{32}$' AS place, f.data_directory IS NULL AND f.machine IS NULL AS hidden
    FROM shard_fingerprint() f, pg_control_system() s, pg_control_checkpoint() c, pg_database d, pg_extension e
    WHERE d.datname = current_database() AND e.extname = 'shardid';
GRANT SELECT ON known TO PUBLIC;
SELECT * FROM known;
SET ROLE regress_shardid_visitor;
SELECT * FROM known;
RESET ROLE;

\echo '-- The place, for roles that may see PostgreSQL''s setting; in a view, too, it depends on the calling role.'
CREATE VIEW fingerprint AS SELECT * FROM shard_fingerprint();
GRANT SELECT ON fingerprint TO PUBLIC;
SELECT data_directory = current_setting('data_directory') AS data_directory, machine <> '' AS machine FROM fingerprint;
SET ROLE regress_shardid_visitor;
SELECT data_directory, machine FROM fingerprint;
\set VERBOSITY sqlstate
SELECT current_setting('data_directory');
\set VERBOSITY default
SET ROLE regress_shardid_reader;
SELECT data_directory = current_setting('data_directory') AS data_directory, machine <> '' AS machine FROM fingerprint;
RESET ROLE;

\echo -- The place cannot be guessed as a digest of known values, and is not the place that leases use.
SELECT count(*) AS of_what_is_known
FROM shard_fingerprint() f, unnest(ARRAY[data_directory, machine, system_identifier::text, data_directory || machine]) known
WHERE place IN (left(encode(sha256(known::bytea), 'hex'), 32), md5(known));
SET client_min_messages = warning;
CREATE EXTENSION shardid_lease CASCADE;
RESET client_min_messages;
SELECT (shardid_lease.this_server()).place LIKE place || '%' AS of_leases FROM shard_fingerprint();
\set VERBOSITY terse
DROP EXTENSION shardid_lease, dblink CASCADE;
\set VERBOSITY default

\echo -- In a read-only transaction, and in a parallel worker.
BEGIN READ ONLY;
SELECT place = (SELECT place FROM fingerprint) AS same FROM shard_fingerprint();
ROLLBACK;
CREATE TABLE many AS SELECT generate_series(1, 2000) AS n;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT shard_fingerprint()::text AS ours \gset
EXPLAIN (COSTS OFF) SELECT FROM many WHERE shard_fingerprint()::text IS NOT NULL;
SELECT count(*) FROM many WHERE shard_fingerprint()::text = :'ours';

DROP TABLE many;
DROP VIEW known, fingerprint;
DROP ROLE regress_shardid_visitor, regress_shardid_reader;
