-- What is easily written, in each database: a table that says what the shards' tables look like, and a function that
-- finds the shard's schema by search_path. A schema that is not there is no error, and the next one is read.
CREATE TABLE photos OF photo;
CREATE FUNCTION naive_photo(photo_id bigint) RETURNS SETOF photo LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', format('shard%s, public', id_shard(photo_id)), true);
    RETURN QUERY SELECT * FROM photos WHERE id = photo_id;
END
$$;
