-- For bench/scatter.py: an id to start from, SQL that does the same work, and partitioned tables for each way
-- of scattering.
CREATE EXTENSION shardid;
CREATE SCHEMA baseline;

CREATE TABLE one_id AS SELECT next_id(5) AS id;
VACUUM ANALYZE one_id;

-- SQL functions that the planner inlines: no call remains.
CREATE FUNCTION baseline.scatter_digits(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (left(id::text, 1) || right(id::text, 1) || substr(id::text, 2, length(id::text) - 2))::bigint
$$;
CREATE FUNCTION baseline.gather_digits(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (left(id::text, 1) || substr(id::text, 3) || substr(id::text, 2, 1))::bigint
$$;
CREATE FUNCTION baseline.scatter_bits(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (id & 15) << 59 | id >> 4
$$;

-- Digit by digit.
CREATE FUNCTION baseline.id_to_text(id bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    text text := '';
BEGIN
    FOR i IN 0 .. 12 LOOP
        text := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (id >> 5 * i & 31)::int + 1, 1) || text;
    END LOOP;
    RETURN text;
END
$$;
CREATE FUNCTION baseline.id_from_text(text text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    id bigint := 0;
BEGIN
    FOR i IN 1 .. 13 LOOP
        id := id << 5 | strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(text, i, 1)) - 1;
    END LOOP;
    RETURN id;
END
$$;

-- Ten ranges of ids with one first digit, as ids have for years; or of all bigint values from 0 on.
CREATE FUNCTION baseline.create_ranges(name text, lowest numeric, width numeric) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id bigint, n int) PARTITION BY RANGE (id)', name);
    FOR i IN 0 .. 9 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', name || '_' || i, name,
                       lowest + trunc(i * width), lowest + trunc((i + 1) * width));
    END LOOP;
END
$$;
CREATE FUNCTION baseline.create_hashes(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id bigint, n int) PARTITION BY HASH (id)', name);
    FOR i IN 0 .. 9 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 10, REMAINDER %s)', name || '_' || i,
                       name, i);
    END LOOP;
END
$$;
