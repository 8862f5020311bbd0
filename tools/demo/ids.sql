CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
ALTER DATABASE shop SET shardid.shard_id = 5;
\c
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ids.next_id(), name text);
INSERT INTO photos (name) VALUES ('lighthouse'), ('harbour'), ('ferry');
SELECT name, id, ts, shard, sequence FROM photos, ids.id_parts(id);
SELECT count(*) FROM photos WHERE id >= ids.id_lower_bound(now() - interval '1 minute');
