-- The functions for comparison, rewritten after the articles that published them: the recipes. Schema baseline.
CREATE SCHEMA baseline;
CREATE SEQUENCE baseline.ids;

-- Instagram, 2011: 41 bits of milliseconds, 13 of shard, 10 of a sequence.
CREATE FUNCTION baseline.next_id(OUT id bigint) LANGUAGE plpgsql AS $$
DECLARE
    epoch_ms bigint := 1314220021721;
    shard int := 5;
    number bigint;
    now_ms bigint;
BEGIN
    SELECT nextval('baseline.ids') % 1024 INTO number;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
    id := (now_ms - epoch_ms) << 23;
    id := id | (shard << 10);
    id := id | number;
END
$$;

-- UUID version 1 of a timestamp, a clock sequence and a MAC address, by bit strings.
CREATE FUNCTION baseline.form_uuid_v1(ts timestamptz, clock_seq int, mac macaddr) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    count bit(60) := (extract(epoch FROM ts) * 10000000 + 122192928000000000)::bigint::bit(60);
    high bit(64) := substring(count FROM 29 FOR 32) || substring(count FROM 13 FOR 16) || b'0001'
                    || substring(count FROM 1 FOR 12);
BEGIN
    RETURN lpad(to_hex(high::bigint)::text, 16, '0')
           || to_hex((b'10' || clock_seq::bit(14))::bit(16)::int)::text
           || replace(mac::text, ':', '');
END
$$;

-- The timestamp of a UUID version 1, by its text and a double.
CREATE FUNCTION baseline.uuid_v1_timestamp(uuid_v1 uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT to_timestamp((('x' || lpad(digits, 16, '0'))::bit(64)::bigint::float8
                         - 122192928000000000) / 10000000)
    FROM (SELECT substring(u FROM 16 FOR 3) || substring(u FROM 10 FOR 4)
                 || substring(u FROM 1 FOR 8) AS digits
          FROM (VALUES (uuid_v1::text)) v (u)) d
$$;
