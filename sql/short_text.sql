-- Ids as short text: Crockford's base 32.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo '-- The ULID project''s examples, whose time is written in the same alphabet.'
SELECT id_to_text(1469918176385) = '000' || '01ARYZ6S41' AS readme, id_to_text(281474976710655) = '000' || '7ZZZZZZZZZ' AS last_time,
       id_from_text('00001ARYZ6S41') = 1469918176385 AS read;

\echo -- t/oracles/python.pl has random ids, and texts in both cases, with O for 0, I and L for 1.

\echo -- Errors.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$id_from_text('')$$, $$id_from_text('00001ARYZ6S4')$$,
    $$id_from_text('00001ARYZ6S4U')$$, $$id_from_text('0000-1ARY-Z6S41')$$, $$id_from_text(E'00001ARYZ6S41\n')$$,
    $$id_from_text('G000000000000')$$, $$id_from_text(repeat('A', 100) || '*')$$]) call;
SELECT id_from_text(NULL) IS NULL AND id_to_text(NULL) IS NULL AS strict;
\echo -- No other ASCII character is read as a digit.
CREATE FUNCTION is_read(text text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    RETURN id_from_text(text) IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT string_agg(chr(n), '' ORDER BY n) AS read FROM generate_series(1, 127) n WHERE is_read('000000' || chr(n) || '000000');
SELECT string_agg(chr(n), '' ORDER BY n) AS read_first FROM generate_series(1, 127) n WHERE is_read(chr(n) || '000000000000');

DROP FUNCTION is_read;
