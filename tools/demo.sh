#!/usr/bin/env bash
# The main job, on a throwaway cluster: the extension, a table with DEFAULT next_id(5), rows, and
# their ids taken apart. To be run by sandbox.sh.
set -euo pipefail
# shellcheck source=tools/cluster.sh
source tools/cluster.sh

start_cluster </dev/null
psql -X -q -v ON_ERROR_STOP=1 --echo-queries <<'SQL'
\pset footer off
SET timezone = 'UTC';

CREATE EXTENSION shardid;

CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT next_id(5),
    name text);

INSERT INTO photos (name) VALUES ('lighthouse'), ('harbour'), ('ferry');

INSERT INTO photos (name) SELECT 'frame ' || n FROM generate_series(1, 100000) n;

SELECT name, id, ts, shard, sequence
FROM photos, id_parts(id)
ORDER BY id
LIMIT 5;

SELECT count(*) AS rows, count(DISTINCT id) AS ids, bool_and(id_shard(id) = 5) AS all_of_shard_5,
       max(id_timestamp(id)) - min(id_timestamp(id)) AS time_between
FROM photos;

SELECT count(*) AS rows_of_the_last_minute
FROM photos
WHERE id >= id_lower_bound(now() - interval '1 minute');

SELECT u AS uuid_v1, uuid_v1_timestamp(u), uuid_v1_clock_seq(u), uuid_v1_node(u)
FROM uuid_v1_from('2026-11-21 12:00:00.123456+00', 666, '44:88:99:36:57:32') u;
SQL
stop_cluster
