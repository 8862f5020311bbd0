-- A likely mistake, in the proxy: PL/Proxy's own mapping of numbers, which selects database (shard AND 1).
CREATE SERVER naive FOREIGN DATA WRAPPER plproxy OPTIONS (p0 :'one', p1 :'two');
CREATE USER MAPPING FOR PUBLIC SERVER naive;
CREATE FUNCTION naive_photo(photo_id bigint) RETURNS SETOF photo LANGUAGE plproxy AS $$
    CLUSTER 'naive';
    RUN ON id_shard(photo_id);
$$;
