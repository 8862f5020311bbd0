CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), name text);
INSERT INTO photos (name) VALUES ('lighthouse'), ('harbour'), ('ferry');
SELECT name, id, ts, shard, sequence FROM photos, id_parts(id);
SELECT count(*) FROM photos WHERE id >= id_lower_bound(now() - interval '1 minute');
