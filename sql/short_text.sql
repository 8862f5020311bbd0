-- Ids as short text: Crockford's base 32.
\a \t on
\getenv source PG_ABS_SRCDIR
\set try :source '/sql/try.psql'
\i :try

-- The first and last ids, and the alphabet in its order.
SELECT id, id_to_text(id)
FROM (VALUES (0), (1), (31), (32), (9223372036854775807), (-9223372036854775808), (-1)) v (id);
SELECT string_agg(substr(id_to_text(n), 13), '' ORDER BY n) AS alphabet FROM generate_series(0, 31) n;
SELECT string_agg(substr(id_to_text(n::bigint << 60), 1, 1), '' ORDER BY n) AS first_characters
FROM generate_series(0, 15) n;

-- The ULID project's examples, whose time is written in the same alphabet.
SELECT id_to_text(1469918176385) = '000' || '01ARYZ6S41' AS readme, id_to_text(281474976710655) = '000' || '7ZZZZZZZZZ' AS last_time,
       id_from_text('00001ARYZ6S41') = 1469918176385 AS read;

-- Reading accepts both cases, O for 0, I and L for 1.
SELECT text, id_from_text(text), id_to_text(id_from_text(text)) AS written
FROM (VALUES ('oOOOI' || 'ARYZ6S4l'), ('iiiiiiiiiiiii'), ('fzzzzzzzzzzzz')) v (text);

-- Random ids: read back in upper and lower case, and in order.
SELECT setseed(0.125);
CREATE TABLE random_ids AS
SELECT id, id_to_text(id) AS text
FROM (SELECT ('x' || substr(md5(random()::text), 1, 16))::bit(64)::bigint >> (random() * 40)::int AS id
      FROM generate_series(1, 20000)) s;
INSERT INTO random_ids SELECT id + 1, id_to_text(id + 1) FROM random_ids WHERE id < 9223372036854775807;
SELECT count(*) FILTER (WHERE id < 0) > 0 AS some_negative,
       count(*) FILTER (WHERE octet_length(text) <> 13 OR text !~ '^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$') AS other_form,
       count(*) FILTER (WHERE id_from_text(text) <> id) AS lost,
       count(*) FILTER (WHERE id_from_text(lower(text)) <> id) AS lost_in_lower_case,
       count(*) FILTER (WHERE id_from_text(translate(text, '01', 'oL')) <> id) AS lost_with_look_alikes
FROM random_ids;
-- Compared with arithmetic on numeric, character by character.
CREATE FUNCTION text_of(number numeric) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + mod(div(number, power(32::numeric, n)), 32)::int, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 12) n
$$;
SELECT count(*) AS different FROM (SELECT * FROM random_ids LIMIT 5000) s
WHERE text <> text_of(CASE WHEN id < 0 THEN id + 18446744073709551616 ELSE id END);
-- They sort as the unsigned ids.
SELECT count(*) AS out_of_order
FROM (SELECT text, lag(text) OVER (ORDER BY id < 0, id) AS before FROM random_ids) s
WHERE before COLLATE "C" > text COLLATE "C";

-- Errors.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$id_from_text('')$$, $$id_from_text('00001ARYZ6S4')$$,
    $$id_from_text('00001ARYZ6S4U')$$, $$id_from_text('0000-1ARY-Z6S41')$$, $$id_from_text(E'00001ARYZ6S41\n')$$,
    $$id_from_text('G000000000000')$$, $$id_from_text(repeat('A', 100) || '*')$$]) call;
SELECT id_from_text(NULL) IS NULL AND id_to_text(NULL) IS NULL AS strict;
-- No other ASCII character is read as a digit.
\set ECHO none
CREATE FUNCTION is_read(text text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    RETURN id_from_text(text) IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
\set ECHO all
SELECT string_agg(chr(n), '' ORDER BY n) AS read FROM generate_series(1, 127) n WHERE is_read('000000' || chr(n) || '000000');
SELECT string_agg(chr(n), '' ORDER BY n) AS read_first FROM generate_series(1, 127) n WHERE is_read(chr(n) || '000000000000');

DROP TABLE random_ids;
DROP FUNCTION text_of, is_read;
DROP FUNCTION try;
