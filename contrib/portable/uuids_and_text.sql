-- UUIDs, scattered ids, short text and ObjectIds: see contrib/portable/README.md. Load it after contrib/portable/shardid.sql, as the
-- same role:
--
--     psql -f contrib/portable/shardid.sql -f contrib/portable/uuids_and_text.sql
--
-- It creates 43 functions in the schema that is first in search_path, and nothing else. They call none of shardid.sql.
-- All of it runs with the rights of its caller: nothing is SECURITY DEFINER. PUBLIC has EXECUTE, and nothing else.
-- To undo it, run DROP FUNCTION for each. An error leaves nothing.
--
-- Run again, it brings the functions of an older file up to date, also of a shardid.sql that had them.
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;

\ir own_schema.sql
\ir beside_shardid.sql

-- UUIDs of version 1 and 6.

-- Whether it is a UUID of this version and of the RFC's variant.
CREATE OR REPLACE FUNCTION shardid_is_uuid(u uuid, version text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(u::text, 15, 1) = version AND substr(u::text, 20, 1) IN ('8', '9', 'a', 'b');

-- The number of these hexadecimal digits.
CREATE OR REPLACE FUNCTION shardid_hex(hex text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || lpad(hex, 16, '0'))::bit(64)::bigint;

-- The time so many 100 ns after 1582-10-15, in whole microseconds.
CREATE OR REPLACE FUNCTION shardid_uuid_timestamp(hundred_ns bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('1582-10-15 00:00:00'::timestamp
        + make_interval(days => (hundred_ns / 864000000000)::int,
                        secs => (hundred_ns % 864000000000 / 10)::float8 / 1000000)) AT TIME ZONE 'UTC';

CREATE OR REPLACE FUNCTION shardid_refuse_uuid(ts timestamptz, clkseq int, hundred_ns int, version int) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
BEGIN
    IF clkseq NOT BETWEEN 0 AND 16383 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'clkseq is out of range',
            DETAIL = format('clkseq is %s.', clkseq), HINT = 'Pass a clock sequence from 0 to 16383.';
    ELSIF hundred_ns NOT BETWEEN 0 AND 9 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'hundred_ns is out of range',
            DETAIL = format('hundred_ns is %s.', hundred_ns),
            HINT = 'Pass a number of 100 ns within the microsecond from 0 to 9.';
    END IF;
    RAISE datetime_field_overflow USING MESSAGE = format('timestamp is outside the range of UUID version %s', version),
        DETAIL = format('The timestamp is %s, with %s times 100 ns more.', ts, hundred_ns),
        HINT = 'Pass a timestamp from 1582-10-15 00:00:00 to 5236-03-31 21:21:00.684697 UTC.';
END
$$;

-- The timestamp of a UUID; raises for what it cannot hold.
CREATE OR REPLACE FUNCTION shardid_uuid_time(ts timestamptz, clkseq int, hundred_ns int, version int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN clkseq BETWEEN 0 AND 16383 AND hundred_ns BETWEEN 0 AND 9
                 AND ts >= '1582-10-15 00:00:00+00'::timestamptz
                 AND (ts < '5236-03-31 21:21:00.684697+00'::timestamptz
                      OR ts = '5236-03-31 21:21:00.684697+00'::timestamptz AND hundred_ns <= 5)
            THEN (extract(epoch FROM ts - '1582-10-15 00:00:00+00'::timestamptz) * 10000000)::bigint + hundred_ns
            WHEN shardid_refuse_uuid(ts, clkseq, hundred_ns, version) THEN 0 END;

-- The UUID of version 1 with this timestamp and, in hexadecimal, all behind it.
CREATE OR REPLACE FUNCTION shardid_uuid_v1(hundred_ns bigint, rest text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (lpad(to_hex(((hundred_ns & 4294967295) << 32) | (((hundred_ns >> 32) & 65535) << 16) | 4096
                    | (hundred_ns >> 48)),
             16, '0') || rest)::uuid;

-- The UUID of version 6 with this timestamp and, in hexadecimal, all behind it.
CREATE OR REPLACE FUNCTION shardid_uuid_v6(hundred_ns bigint, rest text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (lpad(to_hex(((hundred_ns >> 12) << 16) | 24576 | (hundred_ns & 4095)), 16, '0') || rest)::uuid;

-- The second half of a UUID, in hexadecimal.
CREATE OR REPLACE FUNCTION shardid_uuid_rest(clkseq int, mac macaddr) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_hex(32768 | clkseq) || replace(mac::text, ':', '');

-- The timestamp of a UUID of version 1.
CREATE OR REPLACE FUNCTION shardid_uuid_v1_time(u uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN shardid_hex(substr(u::text, 16, 3) || substr(u::text, 10, 4) || substr(u::text, 1, 8));

-- The timestamp of a UUID of version 6.
CREATE OR REPLACE FUNCTION shardid_uuid_v6_time(u uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN shardid_hex(substr(u::text, 1, 8) || substr(u::text, 10, 4) || substr(u::text, 16, 3));

CREATE OR REPLACE FUNCTION uuid_v1_from(ts timestamptz, clkseq int, mac macaddr, hundred_ns int DEFAULT 0) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid_uuid_v1(shardid_uuid_time(ts, clkseq, hundred_ns, 1), shardid_uuid_rest(clkseq, mac));

COMMENT ON FUNCTION uuid_v1_from(timestamptz, int, macaddr, int) IS
'builds the UUID of version 1 with this time, clock sequence and node';

CREATE OR REPLACE FUNCTION uuid_v1_timestamp(uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '1') THEN shardid_uuid_timestamp(shardid_uuid_v1_time($1)) END;

COMMENT ON FUNCTION uuid_v1_timestamp(uuid) IS
'the time in a UUID of version 1, in whole microseconds; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v1_hundred_ns(uuid) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '1') THEN (shardid_uuid_v1_time($1) % 10)::int END;

COMMENT ON FUNCTION uuid_v1_hundred_ns(uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 1; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v1_clock_seq(uuid) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '1') THEN (shardid_hex(substr($1::text, 20, 4)) & 16383)::int END;

COMMENT ON FUNCTION uuid_v1_clock_seq(uuid) IS
'the clock sequence in a UUID of version 1; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v1_node(uuid) RETURNS macaddr
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '1') THEN substr($1::text, 25)::macaddr END;

COMMENT ON FUNCTION uuid_v1_node(uuid) IS
'the node, usually a MAC address, in a UUID of version 1; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v6_from(ts timestamptz, clkseq int, mac macaddr, hundred_ns int DEFAULT 0) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN shardid_uuid_v6(shardid_uuid_time(ts, clkseq, hundred_ns, 6), shardid_uuid_rest(clkseq, mac));

COMMENT ON FUNCTION uuid_v6_from(timestamptz, int, macaddr, int) IS
'builds the UUID of version 6, which sorts by time, with this time, clock sequence and node';

CREATE OR REPLACE FUNCTION uuid_v6_timestamp(uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '6') THEN shardid_uuid_timestamp(shardid_uuid_v6_time($1)) END;

COMMENT ON FUNCTION uuid_v6_timestamp(uuid) IS
'the time in a UUID of version 6, in whole microseconds; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v6_hundred_ns(uuid) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '6') THEN (shardid_uuid_v6_time($1) % 10)::int END;

COMMENT ON FUNCTION uuid_v6_hundred_ns(uuid) IS
'the units of 100 ns after the whole microsecond in a UUID of version 6; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v6_clock_seq(uuid) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '6') THEN (shardid_hex(substr($1::text, 20, 4)) & 16383)::int END;

COMMENT ON FUNCTION uuid_v6_clock_seq(uuid) IS
'the clock sequence in a UUID of version 6; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v6_node(uuid) RETURNS macaddr
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '6') THEN substr($1::text, 25)::macaddr END;

COMMENT ON FUNCTION uuid_v6_node(uuid) IS
'the node in a UUID of version 6; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v1_to_v6(uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '1')
            THEN shardid_uuid_v6(shardid_uuid_v1_time($1), replace(substr($1::text, 20), '-', '')) END;

COMMENT ON FUNCTION uuid_v1_to_v6(uuid) IS
'a UUID of version 1 as version 6, which sorts by time; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v6_to_v1(uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '6')
            THEN shardid_uuid_v1(shardid_uuid_v6_time($1), replace(substr($1::text, 20), '-', '')) END;

COMMENT ON FUNCTION uuid_v6_to_v1(uuid) IS
'a UUID of version 6 as version 1; NULL for any other UUID';

-- UUID version 7.

CREATE OR REPLACE FUNCTION shardid_refuse_uuid_v7(ts timestamptz) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
BEGIN
    RAISE datetime_field_overflow USING MESSAGE = 'timestamp is outside the range of UUID version 7',
        DETAIL = format('The timestamp is %s.', ts),
        HINT = 'Pass a timestamp from 1970-01-01 00:00:00 to 10889-08-02 05:31:50.655999 UTC.';
END
$$;

CREATE OR REPLACE FUNCTION uuid_v7_lower_bound(ts timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ts >= '1970-01-01 00:00:00+00'::timestamptz AND ts < '10889-08-02 05:31:50.656+00'::timestamptz
            THEN lpad(to_hex(floor(extract(epoch FROM ts - '1970-01-01 00:00:00+00'::timestamptz) * 1000)::bigint),
                      12, '0') || '70008000000000000000'
            ELSE shardid_refuse_uuid_v7(ts) END::uuid;

COMMENT ON FUNCTION uuid_v7_lower_bound(timestamptz) IS
'the smallest UUID of version 7 of this time''s millisecond, for range conditions and partition bounds';

-- 1970 is 12219292800 seconds after 1582-10-15.
CREATE OR REPLACE FUNCTION uuid_v7_timestamp(uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN shardid_is_uuid($1, '7')
            THEN shardid_uuid_timestamp(
                122192928000000000 + shardid_hex(substr($1::text, 1, 8) || substr($1::text, 10, 4)) * 10000) END;

COMMENT ON FUNCTION uuid_v7_timestamp(uuid) IS
'the time in a UUID of version 7, in whole milliseconds; NULL for any other UUID';

-- Scattering ids.

-- What scatter_digits or gather_digits make of the number; raises 22003 for what they refuse.
CREATE OR REPLACE FUNCTION shardid_refuse_digits(number bigint, digits int, is_scattered boolean) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    behind_first int := length(number::text) - 1;
    shown numeric;
BEGIN
    IF digits NOT BETWEEN 1 AND 18 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'digits is out of range',
            DETAIL = format('digits is %s.', digits),
            HINT = 'Pass a number of digits from 1 to 18.';
    ELSIF number < 0 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'number is negative',
            DETAIL = format('The number is %s.', number),
            HINT = 'Pass a number from 0 to 9223372036854775807.';
    ELSIF behind_first < digits THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'number has too few digits',
            DETAIL = format('The number is %s and digits is %s.', number, digits),
            HINT = 'Pass a number with more digits than are moved, or move fewer.';
    ELSIF is_scattered THEN
        shown := (left(number::text, 1) || substr(number::text, 2 + digits)
                  || substr(number::text, 2, digits))::numeric;
        IF shown > 9223372036854775807 THEN
            RAISE numeric_value_out_of_range USING MESSAGE = 'number is not a scattered id',
                DETAIL = format('The number %s would come from %s, which no bigint holds.', number, shown),
                HINT = 'Pass a result of scatter_digits, and the same number of digits.';
        END IF;
    ELSE
        shown := (left(number::text, 1) || right(number::text, digits)
                  || substr(number::text, 2, behind_first - digits))::numeric;
        IF shown > 9223372036854775807 THEN
            RAISE numeric_value_out_of_range USING MESSAGE = 'scattered id is out of range',
                DETAIL = format('Id %s becomes %s, which no bigint holds.', number, shown),
                HINT = 'Use scatter_bits, which has a result for every id.';
        END IF;
    END IF;
    RETURN shown;
END
$$;

CREATE OR REPLACE FUNCTION scatter_digits(id bigint, digits int DEFAULT 1) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN digits BETWEEN 1 AND 18 AND id BETWEEN 0 AND 8999999999999999999 AND length(id::text) > digits
            THEN id - id % (10::float8 ^ (length(id::text) - 1))::bigint
                 + id % (10::float8 ^ (digits))::bigint * (10::float8 ^ (length(id::text) - 1 - digits))::bigint
                 + id % (10::float8 ^ (length(id::text) - 1))::bigint / (10::float8 ^ (digits))::bigint
            ELSE shardid_refuse_digits(id, digits, false) END;

COMMENT ON FUNCTION scatter_digits(bigint, int) IS
'the id with its last decimal digits moved behind the first, so that consecutive ids lie far apart';

CREATE OR REPLACE FUNCTION gather_digits(scattered bigint, digits int DEFAULT 1) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN digits BETWEEN 1 AND 18 AND scattered BETWEEN 0 AND 8999999999999999999
                 AND length(scattered::text) > digits
            THEN scattered - scattered % (10::float8 ^ (length(scattered::text) - 1))::bigint
                 + scattered % (10::float8 ^ (length(scattered::text) - 1 - digits))::bigint
                   * (10::float8 ^ (digits))::bigint
                 + scattered % (10::float8 ^ (length(scattered::text) - 1))::bigint
                   / (10::float8 ^ (length(scattered::text) - 1 - digits))::bigint
            ELSE shardid_refuse_digits(scattered, digits, true) END;

COMMENT ON FUNCTION gather_digits(bigint, int) IS
'the id that scatter_digits has scattered';

CREATE OR REPLACE FUNCTION shardid_refuse_bits(number bigint, bits int) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF bits NOT BETWEEN 1 AND 15 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'bits is out of range', DETAIL = format('bits is %s.', bits),
            HINT = 'Pass a number of bits, not of partitions, from 1 to 15.';
    END IF;
    RAISE numeric_value_out_of_range USING MESSAGE = 'number is negative', DETAIL = format('The number is %s.', number),
        HINT = 'Pass a number from 0 to 9223372036854775807.';
END
$$;

CREATE OR REPLACE FUNCTION scatter_bits(id bigint, bits int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN bits BETWEEN 1 AND 15 AND id >= 0
            THEN ((id << (63 - bits)) & 9223372036854775807) | (id >> bits)
            ELSE shardid_refuse_bits(id, bits) END;

COMMENT ON FUNCTION scatter_bits(bigint, int) IS
'the id with its low bits moved to below the sign, so that consecutive ids lie far apart';

CREATE OR REPLACE FUNCTION gather_bits(scattered bigint, bits int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN bits BETWEEN 1 AND 15 AND scattered >= 0
            THEN ((scattered << bits) & 9223372036854775807) | (scattered >> (63 - bits))
            ELSE shardid_refuse_bits(scattered, bits) END;

COMMENT ON FUNCTION gather_bits(bigint, int) IS
'the id that scatter_bits has scattered';

-- Ids as short text.

-- The lowest digit of a number in Crockford's base 32.
CREATE OR REPLACE FUNCTION shardid_digit(number bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (number & 31)::int + 1, 1);

CREATE OR REPLACE FUNCTION id_to_text(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN shardid_digit((id >> 60) & 15) || shardid_digit(id >> 55) || shardid_digit(id >> 50) || shardid_digit(id >> 45)
       || shardid_digit(id >> 40) || shardid_digit(id >> 35) || shardid_digit(id >> 30) || shardid_digit(id >> 25)
       || shardid_digit(id >> 20) || shardid_digit(id >> 15) || shardid_digit(id >> 10) || shardid_digit(id >> 5)
       || shardid_digit(id);

COMMENT ON FUNCTION id_to_text(bigint) IS
'the id as 13 characters of Crockford''s base 32, which sort as the ids do under COLLATE "C"';

-- Each character's place modulo 32. No text that is read has a *.
-- The value of the digit in this place.
CREATE OR REPLACE FUNCTION shardid_value(digits text, place int, shift int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZOI********abcdefghjkmnpqrstvwxyz'
                'oL*******************************l*******************************i',
                substr(digits, place, 1)) - 1) & 31)::bigint << shift;

CREATE OR REPLACE FUNCTION shardid_refuse_text(text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    good int := length(substring($1 COLLATE "C" FROM '^[0-9A-TV-Za-tv-z]*'));
BEGIN
    IF good < length($1) THEN
        RAISE invalid_text_representation USING MESSAGE = 'invalid text for an id',
            DETAIL = format('The text is "%s", whose character %s is no digit of base 32.', $1, good + 1),
            HINT = 'Pass a result of id_to_text: digits and Latin letters but U, without spaces or hyphens.';
    ELSIF good <> 13 THEN
        RAISE invalid_text_representation USING MESSAGE = 'invalid text for an id',
            DETAIL = format('The text is "%s", whose length is %s.', $1, good),
            HINT = 'Pass a result of id_to_text, which has 13 characters.';
    END IF;
    RAISE invalid_text_representation USING MESSAGE = 'invalid text for an id',
        DETAIL = format('The text is "%s", which is more than 64 bits hold.', $1),
        HINT = 'Pass a result of id_to_text, which begins with 0 to F.';
END
$$;

CREATE OR REPLACE FUNCTION id_from_text(text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN $1 COLLATE "C" ~ '^[0-9A-FOILa-foil][0-9A-TV-Za-tv-z]{12}$' AND length($1) = 13
            THEN shardid_value($1, 1, 60) | shardid_value($1, 2, 55) | shardid_value($1, 3, 50)
                 | shardid_value($1, 4, 45) | shardid_value($1, 5, 40) | shardid_value($1, 6, 35)
                 | shardid_value($1, 7, 30) | shardid_value($1, 8, 25) | shardid_value($1, 9, 20)
                 | shardid_value($1, 10, 15) | shardid_value($1, 11, 10) | shardid_value($1, 12, 5)
                 | shardid_value($1, 13, 0)
            ELSE shardid_refuse_text($1) END;

COMMENT ON FUNCTION id_from_text(text) IS
'the id that id_to_text has written so; reads upper and lower case, O for 0 and I or L for 1';

-- ObjectIds.

CREATE OR REPLACE FUNCTION shardid_refuse_objectid(ts timestamptz, machine int, pid int, counter int) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
BEGIN
    IF machine NOT BETWEEN 0 AND 16777215 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'machine is out of range',
            DETAIL = format('machine is %s.', machine),
            HINT = 'Pass a number from 0 to 16777215.';
    ELSIF pid NOT BETWEEN 0 AND 65535 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'pid is out of range', DETAIL = format('pid is %s.', pid),
            HINT = 'Pass a number from 0 to 65535.';
    ELSIF counter NOT BETWEEN 0 AND 16777215 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'counter is out of range',
            DETAIL = format('counter is %s.', counter),
            HINT = 'Pass a number from 0 to 16777215.';
    END IF;
    RAISE datetime_field_overflow USING MESSAGE = 'timestamp is outside the range of ObjectIds',
        DETAIL = format('The timestamp is %s.', ts),
        HINT = 'Pass a timestamp from 1970-01-01 00:00:00 to 2106-02-07 06:28:15 UTC.';
END
$$;

CREATE OR REPLACE FUNCTION objectid_from(ts timestamptz, machine int, pid int, counter int) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN decode(
    CASE WHEN machine BETWEEN 0 AND 16777215 AND pid BETWEEN 0 AND 65535 AND counter BETWEEN 0 AND 16777215
              AND ts >= '1970-01-01 00:00:00+00'::timestamptz AND ts < '2106-02-07 06:28:16+00'::timestamptz
         THEN lpad(to_hex(floor(extract(epoch FROM ts - '1970-01-01 00:00:00+00'::timestamptz))::bigint), 8, '0')
              || lpad(to_hex(machine), 6, '0') || lpad(to_hex(pid), 4, '0') || lpad(to_hex(counter), 6, '0')
         ELSE shardid_refuse_objectid(ts, machine, pid, counter) END, 'hex');

COMMENT ON FUNCTION objectid_from(timestamptz, int, int, int) IS
'builds MongoDB''s ObjectId of this second, machine, process and counter';

CREATE OR REPLACE FUNCTION shardid_refuse_bytes(bytea) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE invalid_parameter_value USING MESSAGE = 'not an ObjectId',
        DETAIL = format('An ObjectId has 12 bytes, and this value %s.', length($1)),
        HINT = 'Pass its bytes, not its hexadecimal digits as text.';
END
$$;

CREATE OR REPLACE FUNCTION objectid_timestamp(bytea) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length($1) = 12 THEN to_timestamp(shardid_hex(encode(substr($1, 1, 4), 'hex'))::float8)
            ELSE shardid_refuse_bytes($1) END;

COMMENT ON FUNCTION objectid_timestamp(bytea) IS
'the time in an ObjectId, in whole seconds';

-- UUIDs of version 6 as bounds, and of versions 6 and 7 for tools that pass them as text.

CREATE OR REPLACE FUNCTION uuid_v6_lower_bound(ts pg_catalog.timestamptz)
RETURNS pg_catalog.uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v6_from(ts, 0, '00:00:00:00:00:00'::pg_catalog.macaddr, 0);

COMMENT ON FUNCTION uuid_v6_lower_bound(pg_catalog.timestamptz) IS
'the smallest UUID of version 6 generated at this time or later, for range conditions and partition bounds';

CREATE OR REPLACE FUNCTION uuid_v6_timestamp(pg_catalog.text)
RETURNS pg_catalog.timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v6_timestamp($1::pg_catalog.uuid);

COMMENT ON FUNCTION uuid_v6_timestamp(pg_catalog.text) IS
'the time in a UUID of version 6 that is passed as text; NULL for any other UUID';

CREATE OR REPLACE FUNCTION uuid_v7_timestamp(pg_catalog.text)
RETURNS pg_catalog.timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uuid_v7_timestamp($1::pg_catalog.uuid);

COMMENT ON FUNCTION uuid_v7_timestamp(pg_catalog.text) IS
'the time in a UUID of version 7 that is passed as text; NULL for any other UUID';

\ir rights.sql
\ir owners.sql
COMMIT;
