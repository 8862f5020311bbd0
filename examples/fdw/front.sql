-- The front: one table over those of both servers. psql's variables one and two are their addresses.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION postgres_fdw;

-- extensions: the servers have the functions of shardid, too, and may run them. batch_size: rows per round trip.
CREATE SERVER one FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'one', extensions 'shardid', batch_size '100');
CREATE SERVER two FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'two', extensions 'shardid', batch_size '100');
CREATE USER MAPPING FOR PUBLIC SERVER one OPTIONS (user 'postgres');
CREATE USER MAPPING FOR PUBLIC SERVER two OPTIONS (user 'postgres');

-- A column without a default here is sent as NULL, whatever its default on the server. So it has a default here.
CREATE TABLE photos (id bigint NOT NULL, user_id bigint NOT NULL, caption text, added timestamptz NOT NULL DEFAULT now())
PARTITION BY LIST (ids.id_shard(id));
CREATE FOREIGN TABLE photos_one PARTITION OF photos FOR VALUES IN (1, 101) SERVER one OPTIONS (table_name 'photos');
CREATE FOREIGN TABLE photos_two PARTITION OF photos FOR VALUES IN (2, 102) SERVER two OPTIONS (table_name 'photos');

-- The front generates the id: it decides to which server the row goes, and the client receives it.
CREATE FUNCTION server_of_user(user_id bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1 + (user_id % 2)::int;
CREATE FUNCTION add_photo(user_id bigint, caption text) RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO photos (id, user_id, caption)
    VALUES (ids.next_id(100 + server_of_user(add_photo.user_id)), add_photo.user_id, add_photo.caption) RETURNING id;
END;

-- The server generates the id: the columns that it fills are left out. The client does not receive the id.
CREATE FOREIGN TABLE new_photos_one (user_id bigint NOT NULL, caption text) SERVER one OPTIONS (table_name 'photos');

-- PostgreSQL does not derive the partition from a condition on id. The second condition names it.
CREATE FUNCTION photo(photo_id bigint) RETURNS SETOF photos LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT * FROM photos WHERE id = photo_id AND ids.id_shard(id) = ids.id_shard(photo_id);
END;
