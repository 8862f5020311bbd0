-- Scattering: moving the low digits or bits of an id to the top, and back.
\set ECHO none
\getenv source PG_ABS_SRCDIR
\i :source/sql/try.psql
\set ECHO none

\echo '-- The TiDB article''s table, in its order.'
SELECT count(*), bool_and(scatter_digits(id) = published) AS as_published, bool_and(gather_digits(published) = id) AS gathered
FROM (VALUES (561632371724517376, 566163237172451737), (561632371728711680, 506163237172871168),
             (561632371728711681, 516163237172871168), (561632371728711682, 526163237172871168),
             (561632371732905984, 546163237173290598), (561632371732905988, 586163237173290598),
             (561632371737100288, 586163237173710028)) v (id, published);
\echo -- The article tries two and three digits as well. The most digits leave the largest id unchanged.
SELECT scatter_digits(561632371724517376, 2), scatter_digits(561632371724517376, 3), scatter_digits(9223372036854775807, 18);

\echo -- Random ids of every length, compared with the same by text. The first digit is never moved, so zeros do not change an
\echo '-- id''s length; 19 digits that begin with 9 may not fit.'
CREATE FUNCTION scatter_text(id bigint, digits int) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT (left(t, 1) || right(t, digits) || substr(t, 2, length(t) - 1 - digits))::numeric FROM (VALUES (id::text)) v (t)
$$;
CREATE FUNCTION gather_text(id bigint, digits int) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT (left(t, 1) || substr(t, 2 + digits) || substr(t, 2, digits))::numeric FROM (VALUES (id::text)) v (t)
$$;
SELECT setseed(0.5);
CREATE TABLE random_ids AS
SELECT id, 1 + (random() * 16.99)::int AS digits, 1 + (random() * 14)::int AS bits
FROM (SELECT (9223372036854775807 * random()::numeric)::bigint >> (random() * 62)::int AS id
      FROM generate_series(1, 40000)) s
UNION ALL
SELECT 9000000000000000000 + (223372036854775807 * random()::numeric)::bigint, 1 + (random() * 16.99)::int, 1
FROM generate_series(1, 4000);
CREATE TABLE long_enough AS
SELECT *, scatter_text(id, digits) AS s, gather_text(id, digits) AS g FROM random_ids WHERE length(id::text) > digits;
SELECT count(*) > 20000 AS many, count(DISTINCT length(id::text)) AS lengths, count(DISTINCT digits) AS digits,
       count(*) FILTER (WHERE s > 9223372036854775807) > 200 AS some_too_large
FROM long_enough;
SELECT count(*) AS wrong FROM long_enough
WHERE s <= 9223372036854775807
  AND (scatter_digits(id, digits) <> s OR gather_digits(scatter_digits(id, digits), digits) <> id);
SELECT count(*) AS wrong FROM long_enough
WHERE g <= 9223372036854775807
  AND (gather_digits(id, digits) <> g OR scatter_digits(gather_digits(id, digits), digits) <> id);

\echo -- Each of the others is refused, and no other id.
SELECT split_part(try(format('SELECT scatter_digits(%s, %s)', id, digits)), ' | ', 1) AS state,
       split_part(try(format('SELECT gather_digits(%s, %s)', id, digits)), ' | ', 1) AS state_of_gather,
       length(id::text) > digits AS long_enough, coalesce(s > 9223372036854775807, false) AS too_large,
       coalesce(g > 9223372036854775807, false) AS too_large_to_gather, count(*) > 0 AS some
FROM (SELECT * FROM random_ids LEFT JOIN long_enough USING (id, digits) ORDER BY id DESC LIMIT 4000) r
GROUP BY 1, 2, 3, 4, 5 ORDER BY 3, 4, 5;

\echo -- Bits, compared with bit strings.
SELECT bits, to_hex(scatter_bits(x'123456789abcdef'::bigint, bits)) AS scattered FROM unnest('{1,8,15}'::int[]) bits;
SELECT count(*) AS ids, count(*) FILTER (WHERE scatter_bits(id, bits) < 0) AS negative,
       count(*) FILTER (WHERE scatter_bits(id, bits)::bit(64)
                              <> b'0' || substring(id::bit(64) FROM 65 - bits) || substring(id::bit(64) FROM 2 FOR 63 - bits)) AS wrong,
       count(*) FILTER (WHERE gather_bits(scatter_bits(id, bits), bits) <> id
                           OR scatter_bits(gather_bits(id, bits), bits) <> id) AS lost
FROM random_ids;

\echo '-- How long digits of the default layout''s ids can be scattered: from here on some last digits do not fit.'
SELECT id_timestamp(9000000000000000000) AT TIME ZONE 'UTC' AS until;

\echo -- Errors.
SELECT try('SELECT ' || call) FROM unnest(ARRAY[$$scatter_digits(-1)$$, $$gather_digits(-9223372036854775808)$$,
    $$scatter_digits(0)$$, $$gather_digits(123, 3)$$, $$scatter_digits(123456, 19)$$,
    $$scatter_digits(9223372036854775807)$$, $$gather_digits(9198765432109876543)$$, $$scatter_bits(-1, 5)$$,
    $$gather_bits(-9223372036854775808, 5)$$, $$scatter_bits(1, 16)$$, $$gather_bits(1, -1)$$]) call;
SELECT scatter_digits(NULL) IS NULL AND gather_digits(12, NULL) IS NULL AND scatter_bits(NULL, 99) IS NULL
       AND gather_bits(1, NULL) IS NULL AS strict;

DROP TABLE random_ids, long_enough;
DROP FUNCTION scatter_text, gather_text;
