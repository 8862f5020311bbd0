-- A likely mistake, in each database: a table with the columns of the shards' tables, and a function that finds the
-- shard's schema by search_path. A missing schema is no error: the next schema is read.
CREATE TABLE photos OF photo;
CREATE FUNCTION naive_photo(photo_id bigint) RETURNS SETOF photo LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', format('shard%s, public', id_shard(photo_id)), true);
    RETURN QUERY SELECT * FROM photos WHERE id = photo_id;
END
$$;
