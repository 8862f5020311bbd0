-- Each server with rows runs this; psql's variable shard is its number. A row's id contains this number if the server
-- generated it, and 100 more if the front did: two generators never share a number.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
-- Not in the default: a front that imports ids.next_id(1) would generate ids with this server's number.
ALTER DATABASE :DBNAME SET shardid.shard_id = :shard;
\c

CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT ids.next_id() CHECK (ids.id_shard(id) IN (:shard, 100 + :shard)),
    user_id bigint NOT NULL,
    caption text,
    added timestamptz DEFAULT now());
