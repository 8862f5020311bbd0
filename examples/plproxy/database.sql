-- Each database with rows runs this. A logical shard is a schema with a generator and tables of its own, so that it
-- can be dumped, moved and dropped separately.
CREATE EXTENSION shardid;

-- This never changes: users stay in their shard, and shards move between databases.
CREATE FUNCTION shard_of_user(user_id bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (user_id % 2000)::int;

-- The columns of all shards' tables. A type, not a table: nothing can be read from it by mistake.
CREATE TYPE photo AS (id bigint, user_id bigint, caption varchar(200));

CREATE PROCEDURE make_shard(shard int) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($ddl$
        CREATE SCHEMA shard%1$s;
        CREATE SEQUENCE shard%1$s.photos_id_seq;
        CREATE TABLE shard%1$s.photos OF photo (
            id PRIMARY KEY DEFAULT next_id(%1$s, 'shard%1$s.photos_id_seq') CHECK (id_shard(id) = %1$s),
            user_id NOT NULL CHECK (shard_of_user(user_id) = %1$s))
        $ddl$, shard);
END
$$;

CREATE PROCEDURE make_shards(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
    FOR shard IN first .. last LOOP
        CALL make_shard(shard);
        IF shard % 100 = 99 THEN
            COMMIT; -- a transaction can hold only a limited number of locks
        END IF;
    END LOOP;
END
$$;

-- A shard that is not here is an error, not an empty result.
CREATE FUNCTION schema_of(shard int) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    schema text := 'shard' || shard;
BEGIN
    IF to_regnamespace(schema) IS NULL THEN
        RAISE 'shard % is not in this database', shard USING ERRCODE = 'invalid_schema_name';
    END IF;
    RETURN schema;
END
$$;

-- The functions that the proxy calls.
CREATE FUNCTION add_photo(user_id bigint, caption text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
BEGIN
    EXECUTE format('INSERT INTO %I.photos (user_id, caption) VALUES ($1, $2) RETURNING id',
                   schema_of(shard_of_user(user_id)))
    INTO id USING user_id, caption;
    RETURN id;
END
$$;

CREATE FUNCTION photos_of(user_id bigint) RETURNS SETOF photo LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT * FROM %I.photos WHERE user_id = $1 ORDER BY id',
                                schema_of(shard_of_user(user_id))) USING user_id;
END
$$;

CREATE FUNCTION photos(ids bigint[]) RETURNS SETOF photo LANGUAGE plpgsql STABLE AS $$
DECLARE
    shard int;
BEGIN
    FOR shard IN SELECT DISTINCT id_shard(id) FROM unnest(ids) id LOOP
        RETURN QUERY EXECUTE format('SELECT * FROM %I.photos WHERE id = ANY ($1)', schema_of(shard)) USING ids;
    END LOOP;
END
$$;

-- The proxy compares this with its map.
CREATE FUNCTION shards_here() RETURNS SETOF int LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT substring(nspname FROM '^shard(\d+)$')::int FROM pg_namespace WHERE nspname ~ '^shard\d+$';
END;
