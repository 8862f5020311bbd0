-- Each server with rows runs this; psql's variable shard is its number. A row's id contains this number if the server
-- generated it, and 100 more if the front did: two generators never share a number.
CREATE EXTENSION shardid;
-- Not in the default: a front that imports next_id(1) would generate ids with this server's number.
ALTER DATABASE :DBNAME SET shardid.shard_id = :shard;
\c

CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT next_id() CHECK (id_shard(id) IN (:shard, 100 + :shard)),
    user_id bigint NOT NULL,
    caption text,
    added timestamptz DEFAULT now());
