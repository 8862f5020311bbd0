-- The front: one table over those of both servers. psql's variables one and two say where they are.
CREATE EXTENSION shardid;
CREATE EXTENSION postgres_fdw;

-- extensions: the functions of shardid are there, too, and may run there. batch_size: rows a round trip.
CREATE SERVER one FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'one', extensions 'shardid', batch_size '100');
CREATE SERVER two FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'two', extensions 'shardid', batch_size '100');
CREATE USER MAPPING FOR PUBLIC SERVER one OPTIONS (user 'postgres');
CREATE USER MAPPING FOR PUBLIC SERVER two OPTIONS (user 'postgres');

-- A column without a default here is sent as NULL, whatever its default there is. So it has one here.
CREATE TABLE photos (id bigint NOT NULL, user_id bigint NOT NULL, caption text, added timestamptz NOT NULL DEFAULT now())
PARTITION BY LIST (id_shard(id));
CREATE FOREIGN TABLE photos_one PARTITION OF photos FOR VALUES IN (1, 101) SERVER one OPTIONS (table_name 'photos');
CREATE FOREIGN TABLE photos_two PARTITION OF photos FOR VALUES IN (2, 102) SERVER two OPTIONS (table_name 'photos');

-- Drawn here, as the id has to say where the row goes, and the client wants to be told it.
CREATE FUNCTION server_of_user(user_id bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1 + (user_id % 2)::int;
CREATE FUNCTION add_photo(user_id bigint, caption text) RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO photos (id, user_id, caption)
    VALUES (next_id(100 + server_of_user(add_photo.user_id)), add_photo.user_id, add_photo.caption) RETURNING id;
END;

-- Drawn there: the columns that the server fills are left out. Nobody is told the id.
CREATE FOREIGN TABLE new_photos_one (user_id bigint NOT NULL, caption text) SERVER one OPTIONS (table_name 'photos');

-- PostgreSQL does not conclude from the id which partition it is in. The second condition says it.
CREATE FUNCTION photo(photo_id bigint) RETURNS SETOF photos LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT * FROM photos WHERE id = photo_id AND id_shard(id) = id_shard(photo_id);
END;
