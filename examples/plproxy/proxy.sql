-- The proxy: a database without rows of its own, which routes calls. psql's variables one and two are the addresses of
-- the databases.
CREATE EXTENSION plproxy;
CREATE EXTENSION shardid; -- to decode ids; no id is generated here

-- modular_mapping allows any number of databases, not only powers of two.
CREATE SERVER photos FOREIGN DATA WRAPPER plproxy OPTIONS (modular_mapping '1', p0 :'one', p1 :'two');
CREATE USER MAPPING FOR PUBLIC SERVER photos;

-- The database of each logical shard. To move a shard, move its schema, then change its row here.
CREATE TABLE shard_map (shard int PRIMARY KEY, database int NOT NULL CHECK (database IN (0, 1)));
INSERT INTO shard_map SELECT shard, shard / 1000 FROM generate_series(0, 1999) shard;

-- PL/Proxy accepts any number: 7 is database 1 of two, and so is -1. An unknown shard must be an error here.
CREATE FUNCTION database_of(shard int) RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_in int;
BEGIN
    SELECT m.database INTO found_in FROM shard_map m WHERE m.shard = database_of.shard;
    IF found_in IS NULL THEN
        RAISE 'no database has shard %', shard USING ERRCODE = 'undefined_object',
            HINT = 'See shard_map; or the id is none that we have made.';
    END IF;
    RETURN found_in;
END
$$;

CREATE FUNCTION shard_of_user(user_id bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (user_id % 2000)::int;

CREATE TYPE photo AS (id bigint, user_id bigint, caption varchar(200));

-- By user.
CREATE FUNCTION add_photo(user_id bigint, caption text) RETURNS bigint LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON database_of(shard_of_user(user_id));
$$;
CREATE FUNCTION photos_of(user_id bigint) RETURNS SETOF photo LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON database_of(shard_of_user(user_id));
$$;

-- By id, which contains its shard: one id, or many, for which each database is asked for its own.
CREATE FUNCTION photo(photo_id bigint) RETURNS SETOF photo LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON database_of(id_shard(photo_id));
    SELECT * FROM photos(ARRAY[photo_id]);
$$;
CREATE FUNCTION photos(ids bigint[]) RETURNS SETOF photo LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    SPLIT ids;
    RUN ON database_of(id_shard(ids));
$$;

-- Of all databases: the shards that are not where the map says, are missing, or are in two places.
CREATE FUNCTION shards_in(database int) RETURNS SETOF int LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON database;
    SELECT * FROM shards_here();
$$;
CREATE VIEW misplaced_shards AS
SELECT shard, m.database AS mapped_to, here.database AS found_in
FROM shard_map m
FULL JOIN (SELECT database, shards_in(database) AS shard FROM generate_series(0, 1) database) here USING (shard)
WHERE m.database IS DISTINCT FROM here.database;
