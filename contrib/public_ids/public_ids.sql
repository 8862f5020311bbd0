-- Public ids: an id as text that cannot be guessed, and back, by AES of pgcrypto. See contrib/public_ids/README.md.
--
--     CREATE EXTENSION pgcrypto;
--     psql -f contrib/public_ids/public_ids.sql        into the schema that is first in search_path, as the role that owns it
--
-- Run again, it brings the functions of an older file up to date. The keys stay as they are.
--
-- All that these functions call is looked up now. They hold it by its OID: no later name, schema or extension takes its
-- place.
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;

\ir ../portable/own_schema.sql
-- The table of the keys loses rights that it has been given, too.
DO $$
BEGIN
    PERFORM pg_catalog.set_config('shardid_portable.before', pg_catalog.array_remove(
        pg_catalog.current_setting('shardid_portable.before')::pg_catalog.oid[], pg_catalog.to_regclass('public_id_keys')::pg_catalog.oid)::text, true);
END
$$;

-- The number of a key is in each text that was made with it. New texts are made with the key of the highest generation.
CREATE TABLE IF NOT EXISTS public_id_keys (
    generation bigint PRIMARY KEY,
    number int NOT NULL UNIQUE GENERATED ALWAYS AS ((generation & 3)::int) STORED,
    master bytea NOT NULL CHECK (octet_length(master) = 32),
    made_at timestamptz NOT NULL DEFAULT now());

COMMENT ON TABLE public_id_keys IS
'the keys of public_id and private_id, for their owner alone';

-- Or pg_statistic, and a dump of it, would have copies of the keys.
ALTER TABLE public_id_keys ALTER master SET STATISTICS 0;

-- What uses pgcrypto, whose schema may be open to all: a function with just these types of arguments cannot be
-- mistaken.
DO $$
DECLARE
    pgcrypto name;
    other record;
BEGIN
    SELECT n.nspname INTO pgcrypto FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'pgcrypto';
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = 'the extension pgcrypto is not in this database',
            HINT = 'Run CREATE EXTENSION pgcrypto.';
    END IF;
    -- Members of the extension are a superuser's, unless somebody has changed that. Their owner can replace them.
    FOR other IN
        SELECT f.name, pg_get_userbyid(p.proowner) AS owner
        FROM unnest(ARRAY['hmac(bytea,bytea,text)', 'encrypt(bytea,bytea,text)', 'decrypt(bytea,bytea,text)',
                          'gen_random_bytes(integer)']) f (name)
             LEFT JOIN pg_proc p ON p.oid = to_regprocedure(format('%I.%s', pgcrypto, f.name))
             LEFT JOIN pg_roles r ON r.oid = p.proowner
             LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
             LEFT JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
                 AND e.extname = 'pgcrypto'
        WHERE e.oid IS NULL OR NOT r.rolsuper AND p.proowner <> quote_ident(current_user)::regrole
    LOOP
        RAISE insufficient_privilege USING
            MESSAGE = format('function "%s" in schema "%s" is not the one of pgcrypto', other.name, pgcrypto),
            DETAIL = format('Its owner is "%s".', other.owner),
            HINT = 'Have a superuser create the extension pgcrypto again.';
    END LOOP;

    EXECUTE format('ALTER TABLE public_id_keys ALTER master SET DEFAULT %I.gen_random_bytes(32)', pgcrypto);
END
$$;

-- Base 32. PL/pgSQL keeps its plans; SQL functions would be planned again for each statement.

-- A block and the number of its key, written as 26 characters.
CREATE OR REPLACE FUNCTION public_id_digits(number int, block bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bits bit(130) := number::bit(2) || ('x' || encode(block, 'hex'))::bit(128);
    digits text := '';
BEGIN
    FOR place IN 0 .. 25 LOOP
        digits := digits || substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits, 1 + 5 * place, 5)::int + 1, 1);
    END LOOP;
    RETURN digits;
END
$$;

-- The block in these 26 characters.
CREATE OR REPLACE FUNCTION public_id_block(digits text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bits varbit := '';
BEGIN
    FOR place IN 1 .. 26 LOOP
        bits := bits || (strpos('0123456789abcdefghjkmnpqrstvwxyz' COLLATE "C", substr(digits, place, 1)) - 1)::bit(5);
    END LOOP;
    RETURN int8send(substring(bits, 3, 64)::bit(64)::bigint) || int8send(substring(bits, 67, 64)::bit(64)::bigint);
END
$$;

-- Keys.

CREATE OR REPLACE FUNCTION public_id_refuse_fifth(keys regclass, oldest bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE configuration_limit_exceeded USING MESSAGE = 'there are four keys of public ids, and no number is left',
        DETAIL = format('The oldest key has generation %s and number %s.', oldest, oldest & 3),
        HINT = format('If its texts may become invalid, run DELETE FROM %s WHERE generation = %s.', keys, oldest);
END
$$;

CREATE OR REPLACE FUNCTION new_public_id_key() RETURNS int
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    INSERT INTO public_id_keys (generation)
    SELECT COALESCE((SELECT min(g) FROM generate_series(n.newest + 1, n.newest + 4) g
                     WHERE NOT EXISTS (SELECT FROM public_id_keys k WHERE k.number = (g & 3)::int)),
                    public_id_refuse_fifth('public_id_keys'::regclass, n.oldest))
    FROM (SELECT COALESCE(max(k.generation), -1) AS newest, min(k.generation) AS oldest FROM public_id_keys k) n
    RETURNING number;
END;

COMMENT ON FUNCTION new_public_id_key() IS
'creates a key, which public_id uses from now on, and returns its number';

-- Public ids.

CREATE OR REPLACE FUNCTION public_id_refuse_kind(kind text) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE invalid_parameter_value USING MESSAGE = 'invalid kind of a public id',
        DETAIL = format('The kind is "%s".', kind),
        HINT = 'Pass 1 to 63 characters: letters from a to z, digits and underscores, a letter first.';
END
$$;

CREATE OR REPLACE FUNCTION public_id_refuse_without_key(maker regprocedure) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE object_not_in_prerequisite_state USING MESSAGE = 'there is no key of public ids',
        HINT = format('As the owner of these functions, run SELECT %s.', maker);
END
$$;

-- Keys are arguments of C functions alone. Those of an SQL function can be constants of its plan, which
-- debug_print_plan shows to every caller.
-- A regular expression that counts to 62 costs more than the encryption does, so lengths are compared apart.
DO $$
DECLARE
    pgcrypto name := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
                      WHERE e.extname = 'pgcrypto');
BEGIN
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION public_id(kind text, id bigint) RETURNS text
        LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        RETURN CASE WHEN octet_length(kind) <= 63 AND kind COLLATE "C" ~ '^[a-z][a-z0-9_]*$' THEN COALESCE(
            (SELECT kind || '_' || public_id_digits(k.number, %1$I.encrypt(
                        int8send(id) || int8send(0),
                        substr(%1$I.hmac(convert_to('shardid public id 1:' || kind, 'UTF8'), k.master,
                                         'sha256'::text), 1, 16),
                        'aes-ecb/pad:none'::text))
             FROM public_id_keys k ORDER BY k.generation DESC LIMIT 1),
            public_id_refuse_without_key('new_public_id_key()'::regprocedure))
        ELSE public_id_refuse_kind(kind) END$sql$, pgcrypto);

    -- A kind that public_id refuses has no texts, so none is read either. With 27 characters more than a kind, a text
    -- has 90.
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION private_id(kind text, public text) RETURNS bigint
        LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        RETURN CASE WHEN octet_length(public) <= 90 AND public COLLATE "C" ~ '^[a-z][a-z0-9_]*_[0-9a-hjkmnp-tv-z]{26}$'
                         AND left(public, -27) COLLATE "C" = kind THEN
            CASE WHEN EXISTS (SELECT FROM public_id_keys) THEN
                (SELECT CASE WHEN substr(d.plain, 9) = int8send(0)
                             THEN ('x' || encode(substr(d.plain, 1, 8), 'hex'))::bit(64)::bigint END
                 FROM (SELECT %1$I.decrypt(
                                  public_id_block(right(public, 26)),
                                  substr(%1$I.hmac(convert_to('shardid public id 1:' || kind, 'UTF8'), k.master,
                                                   'sha256'::text), 1, 16),
                                  'aes-ecb/pad:none'::text) AS plain
                       FROM public_id_keys k
                       -- Two bits: the first eight characters have number 0, the next eight 1.
                       WHERE k.number = (strpos('0123456789abcdefghjkmnpqrstvwxyz' COLLATE "C",
                                                left(right(public, 26), 1)) - 1) >> 3
                       OFFSET 0) d)
            ELSE public_id_refuse_without_key('new_public_id_key()'::regprocedure)::bigint END
        END$sql$, pgcrypto);
END
$$;

COMMENT ON FUNCTION public_id(text, bigint) IS
'the id as text that cannot be guessed: the kind, an underscore and 26 characters';
COMMENT ON FUNCTION private_id(text, text) IS
'the id of a text that public_id has written for this kind; NULL for any other text';

\ir ../portable/rights.sql
REVOKE ALL ON FUNCTION public_id, private_id, new_public_id_key, public_id_digits, public_id_block,
    public_id_refuse_kind, public_id_refuse_without_key, public_id_refuse_fifth FROM PUBLIC;

\ir ../portable/owners.sql
COMMIT;
