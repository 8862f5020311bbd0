-- Each server that holds rows runs this; psql's variable shard is its number. A row's id says that number if it was
-- drawn here, and 100 more if the front drew it: two generators never share a number.
CREATE EXTENSION shardid;
-- Not in the default: a front that imports next_id(1) would draw beside this server, with its number.
ALTER DATABASE :DBNAME SET shardid.shard_id = :shard;
\c

CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT next_id() CHECK (id_shard(id) IN (:shard, 100 + :shard)),
    user_id bigint NOT NULL,
    caption text,
    added timestamptz DEFAULT now());
