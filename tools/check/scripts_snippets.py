"""What tools/check/scripts.py must refuse, each with a part of its message, and what it must accept."""

MADE = ["CREATE SEQUENCE own_sequence;", "CREATE TABLE own_table ();", "CREATE FUNCTION own_trigger() ...",
        "CREATE FUNCTION own_support(pg_catalog.internal) ..."]

REFUSED = [
    # Calls.
    ("SELECT pg_extension_config_dump('shardid_seq'::pg_catalog.regclass, ''::pg_catalog.text);", "call of pg_extension_config_dump"),
    ("SELECT \"now\"();", 'call of "now"'),
    ("SELECT public.now();", "call of now in schema public"),
    ("SELECT evil.pg_catalog.now();", "call of now in schema evil"),
    ("SELECT @extschema@.f();", "not replaced"),
    ("SELECT own_function();", "call of own_function"),
    ("SELECT renew_identity(1);", "call of renew_identity"),
    ("SELECT substring('a'::pg_catalog.text, 1);", "call of substring"),
    ("SELECT pg_catalog.abs(f(1));", "call of f "),
    ("SELECT pg_catalog.count(*) FROM generate_series(1, 2);", "call of generate_series"),
    ("SELECT a FROM t JOIN s ON f(a);", "call of f "),
    ("SELECT * FROM t ORDER BY f(a);", "call of f "),
    ("SELECT/**/f/* -- */(1);", "call of f "),
    ("SELECT f -- comment\n (1);", "call of f "),
    ("CREATE FUNCTION a(b int DEFAULT f(1)) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "call of f "),
    ("CREATE FUNCTION a() RETURNS int LANGUAGE sql RETURN f(1);", "call of f "),
    ("CREATE FUNCTION a() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT f(1); END;", "call of f "),
    ("CREATE TABLE a (b int DEFAULT f(1));", "call of f "),
    ("CREATE TABLE a (b int CHECK (f(b)));", "call of f "),
    ("CREATE TABLE a (b int, CHECK (f(b)));", "call of f "),
    ("CREATE INDEX i ON a (f(b));", "call of f "),
    ("CREATE VIEW v AS SELECT f(1);", "call of f "),
    ("INSERT INTO a (b) VALUES (f(1));", "call of f "),
    ("UPDATE a SET b = f(1);", "call of f "),
    ("WITH c AS (SELECT f(1)) SELECT 1;", "call of f "),
    # Operators.
    ("SELECT 1 + 1;", "operator +"),
    ("SELECT a FROM t WHERE a = 1;", "operator ="),
    ("SELECT a FROM t WHERE a IN (1);", "IN finds"),
    ("SELECT a FROM t WHERE a LIKE 'x'::pg_catalog.text;", "LIKE finds"),
    ("SELECT a FROM t WHERE a BETWEEN 1 AND 2;", "BETWEEN finds"),
    ("SELECT a IS DISTINCT FROM 1 FROM t;", "IS DISTINCT FROM finds"),
    ("SELECT NULLIF(1, 2);", "NULLIF finds"),
    ("SELECT CASE 1 WHEN 2 THEN 3 END;", "CASE with a value"),
    ("SELECT a FROM t JOIN s USING (a);", "JOIN USING"),
    ("SELECT a FROM t NATURAL JOIN s;", "NATURAL finds"),
    ("SELECT 1 OPERATOR(=) 1;", "OPERATOR without"),
    ("SELECT 1 OPERATOR(public.=) 1;", "OPERATOR without"),
    ("SELECT a OPERATOR(pg_catalog.=) 1 AND a > 2 FROM t;", "operator >"),
    ("SELECT 1-1;", "operator -"),
    ("SELECT (1)-1;", "operator -"),
    ("SELECT a -1 FROM t;", "operator -"),
    ("SELECT - a FROM t;", "operator -"),
    ("UPDATE a SET b = 1 WHERE c = 2;", "operator ="),
    ("UPDATE a SET b = c = 2;", "operator ="),
    ("CREATE FUNCTION a() RETURNS int LANGUAGE sql RETURN 1 * 1;", "operator *"),
    # Types and casts.
    ("CREATE FUNCTION a(regclass) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "type regclass"),
    ("CREATE FUNCTION a(b regclass) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "type regclass"),
    ("CREATE FUNCTION a(b public.t) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "type public"),
    ("CREATE FUNCTION a(OUT b int, OUT c uuid) AS 'MODULE_PATHNAME' LANGUAGE C;", "type uuid"),
    ("CREATE FUNCTION a(VARIADIC b text[]) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "type text"),
    ("CREATE FUNCTION a() RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C;", "type void"),
    ("CREATE FUNCTION a() RETURNS SETOF uuid AS 'MODULE_PATHNAME' LANGUAGE C;", "type uuid"),
    ("CREATE FUNCTION a() RETURNS TABLE (b int, c uuid) AS 'MODULE_PATHNAME' LANGUAGE C;", "type uuid"),
    ("COMMENT ON FUNCTION a(uuid) IS 'b';", "type uuid"),
    ("GRANT EXECUTE ON FUNCTION a(uuid) TO PUBLIC;", "type uuid"),
    ("DROP FUNCTION a(uuid);", "type uuid"),
    ("CREATE SEQUENCE a AS int8;", "type int8"),
    ("CREATE TABLE a (b text);", "type text"),
    ("CREATE TYPE a AS (b text);", "type text"),
    ("CREATE TYPE a (INPUT = f, OUTPUT = own_trigger);", "cannot read INPUT"),
    ("CREATE TYPE a (INPUT = own_trigger, OUTPUT = public.own_trigger);", "cannot read OUTPUT"),
    ("CREATE TYPE a (INPUT = own_trigger, LIKE = text);", "type text"),
    ("CREATE TYPE a (INPUT = own_trigger, SUBSCRIPT = own_trigger);", "cannot read SUBSCRIPT"),
    ("ALTER TABLE a ADD COLUMN b text;", "type text"),
    ("ALTER TABLE a ADD b text;", "ADD without"),
    ("ALTER TABLE a ALTER COLUMN b TYPE text;", "type text"),
    ("SELECT 'a'::text;", "type text"),
    ("SELECT 1::pg_catalog.int8::oid;", "type oid"),
    ("SELECT CAST('a' AS text);", "type text"),
    ("SELECT CAST(CAST(1 AS oid) AS bigint);", "type oid"),
    ("SELECT date '2011-08-24';", "without a type"),
    ("SELECT public.date '2011-08-24';", "type public"),
    ("SELECT a COLLATE \"C\" FROM t;", 'collation "C"'),
    # Literals.
    ("SELECT pg_catalog.pg_extension_config_dump('shardid_seq', ''::pg_catalog.text);", "literal 'shardid_seq'"),
    ("SELECT pg_catalog.concat(NULL);", "NULL without"),
    ("SELECT pg_catalog.concat(1, NULL, 2);", "NULL without"),
    ("SELECT pg_catalog.f($$a$$);", "literal $$a$$"),
    ("CREATE FUNCTION a(b pg_catalog.regclass DEFAULT 'c') RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "literal 'c'"),
    ("CREATE FUNCTION a() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C SET search_path = pg_catalog; SELECT 'a';", "literal 'a'"),
    ("SELECT '@extowner@'::pg_catalog.text;", "between quotes"),
    # Bodies.
    ("CREATE FUNCTION a() RETURNS int LANGUAGE sql AS 'SELECT f(1)';", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS $$ SELECT f(1); $$ LANGUAGE sql;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS $b$ BEGIN PERFORM f(1); END $b$ LANGUAGE plpgsql;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS 'x' LANGUAGE sql SET search_path = pg_catalog, public;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS 'x' LANGUAGE sql SET search_path = pg_catalog, pg_temp, public;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS 'x' LANGUAGE plperl SET search_path = pg_temp, pg_catalog;", "body between quotes"),
    ("DO $$ BEGIN PERFORM f(1); END $$;", "does not know"),
    ("CREATE FUNCTION a() RETURNS int AS 'LANGUAGE C' LANGUAGE plpgsql;", "body between quotes"),
    ("CREATE TRIGGER t BEFORE INSERT ON own_table FOR EACH ROW EXECUTE FUNCTION f();", "function f has no schema"),
    ("CREATE FUNCTION a() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C SUPPORT f;", "function f has no schema"),
    # Statements.
    ("CREATE OR REPLACE FUNCTION a() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;", "OR REPLACE"),
    ("CREATE SEQUENCE IF NOT EXISTS a;", "IF NOT EXISTS"),
    ("CREATE FUNCTION a() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C SECURITY DEFINER;", "SECURITY DEFINER"),
    ("CREATE OPERATOR = (FUNCTION = f, LEFTARG = int);", "does not know"),
    ("CREATE DOMAIN a AS int CHECK (f(VALUE));", "does not know"),
    ("SET search_path = public;", "does not know"),
    ("SELECT E'\\';", "with escapes"),
    ("/* /* */", "comment without an end"),
]

PASSED = [
    "\\echo Use \"CREATE EXTENSION a\" to load this file. \\quit\nSELECT pg_catalog.now();",
    "-- f(1) = 'a'::text\nSELECT pg_catalog.now(); /* f(1) /* = */ */",
    "CREATE SEQUENCE own_sequence AS bigint MINVALUE -5 CACHE 1;",
    "COMMENT ON FUNCTION a(int, pg_catalog.uuid, OUT b double precision) IS 'f(1) = ''2'' /* -- */';",
    "CREATE FUNCTION a(b int DEFAULT -1, c pg_catalog.text DEFAULT 'd'::pg_catalog.text) RETURNS bigint\n"
    "AS 'MODULE_PATHNAME', 'symbol' LANGUAGE C VOLATILE STRICT;",
    "CREATE FUNCTION a(interval, lead interval, timestamp with time zone, numeric(10, 2), b pg_catalog.int4[]) RETURNS SETOF own_table\n"
    "AS 'MODULE_PATHNAME' LANGUAGE C RETURNS NULL ON NULL INPUT;",
    "CREATE FUNCTION a() RETURNS TABLE (b int, c pg_catalog.uuid) AS 'MODULE_PATHNAME' LANGUAGE C;",
    "CREATE FUNCTION a(b int) RETURNS bigint LANGUAGE sql BEGIN ATOMIC\n"
    "  SELECT CASE WHEN b OPERATOR(pg_catalog.>) 1 THEN 2 END; SELECT pg_catalog.count(*) FROM own_table; END;",
    "CREATE FUNCTION a(b int) RETURNS bigint LANGUAGE sql RETURN b OPERATOR(pg_catalog.+) (-1);",
    "CREATE FUNCTION a() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT f(1) + 2';",
    "GRANT SELECT, USAGE ON SEQUENCE own_sequence TO @extowner@, pg_database_owner WITH GRANT OPTION;",
    "SELECT pg_catalog.pg_extension_config_dump('own_table'::pg_catalog.regclass, 'a = 1'::pg_catalog.text);",
    "SELECT CAST('1' AS bigint), interval '1 day', pg_catalog.timestamptz '2011-08-24', coalesce(NULL::pg_catalog.text);",
    "CREATE TABLE own_table (b int NOT NULL DEFAULT 1, c pg_catalog.text COLLATE pg_catalog.\"C\", PRIMARY KEY (b), CHECK (b OPERATOR(pg_catalog.>) 0));",
    "CREATE UNIQUE INDEX i ON own_table (b);",
    "CREATE INDEX i ON own_table USING btree (b, pg_catalog.abs(b));",
    "CREATE VIEW v AS SELECT a.b FROM pg_catalog.generate_series(1, 2) AS a (b);",
    "CREATE TYPE own_type AS ENUM ('a', 'b');",
    "CREATE TYPE own_type; CREATE TYPE own_type (INPUT = own_trigger, OUTPUT = own_support, LIKE = pg_catalog.text);",
    "ALTER TABLE own_table ENABLE ALWAYS TRIGGER t;",
    "INSERT INTO own_table (b, c) VALUES (1, NULL), (2, 'c'::pg_catalog.text);",
    "UPDATE own_table SET b = 1, c = NULL WHERE b OPERATOR(pg_catalog.=) 2;",
    "ALTER TABLE own_table ADD COLUMN d pg_catalog.text, ALTER COLUMN b TYPE bigint;",
    "CREATE TRIGGER t BEFORE INSERT ON own_table FOR EACH ROW EXECUTE FUNCTION own_trigger();",
    "CREATE FUNCTION a() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C SUPPORT own_support;",
]

# A procedure that commits and so has no SET.
PROCEDURE = """CREATE PROCEDURE a() LANGUAGE plpgsql AS $$
DECLARE
    b int;
    c pg_catalog.text[];
BEGIN
    COMMIT;
    LOOP
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        b := f(1) + 1;
        EXIT WHEN b = 1;
        COMMIT;
    END LOOP;
END
$$;"""
REFUSED += [(PROCEDURE.replace(*change), "body between quotes") for change in (
    ("        PERFORM pg_catalog.", "        b := f;\n        c := f(1);\n        PERFORM pg_catalog."), ("'pg_catalog, pg_temp'", "'evil'"), (", true);", ", false);"),
    ("c pg_catalog.text[]", "c text[]"), ("b int;", "b int := f(1);"), ("    END LOOP;", "        b := 1 + 1;\n    END LOOP;"), ("CREATE PROCEDURE", "CREATE FUNCTION"))]
REFUSED.append(("SELECT shardid_partition_steps(1);", "call of shardid_partition_steps"))
PASSED.append(PROCEDURE)
PASSED.append("CREATE PROCEDURE a(b pg_catalog.text[] DEFAULT ARRAY['c'::pg_catalog.text, 'd'::pg_catalog.text]) LANGUAGE sql BEGIN ATOMIC END;")

# In an extension that is not relocatable.
REFUSED_WITH_SCHEMA = [
    ("SELECT '@extschema@.a'::pg_catalog.regclass;", "between quotes"),
    ("CREATE FUNCTION a() RETURNS int LANGUAGE sql AS 'SELECT @extschema@.b()';", "between quotes"),
    ("SELECT @extschema@.f('a');", "literal 'a'"),
]
PASSED_WITH_SCHEMA = [
    "SELECT @extschema@.f(1, 'a'::@extschema@.t);",
    "CREATE FUNCTION @extschema@.a(b @extschema@.t) RETURNS SETOF @extschema@.t LANGUAGE sql RETURN @extschema@.f(b);",
]


# In an extension whose control file names the schema lease.
REFUSED_IN_LEASE = [
    ("SELECT own_trigger();", "call of own_trigger"),
    ("SELECT lease.f();", "call of f in schema lease"),
    ("SELECT lease.own_table();", "call of own_table in schema lease"),
    ("SELECT lease.own_trigger.f();", "call of f in schema lease"),
    ("SELECT leases.own_trigger();", "call of own_trigger in schema leases"),
    ("SELECT a OPERATOR(lease.=) 1 FROM own_table;", "OPERATOR without"),
    ("SELECT 'a'::lease.t;", "type lease"),
    ("SELECT 'a'::lease.own_table.t;", "type lease"),
    ("CREATE VIEW v AS SELECT own_trigger();", "call of own_trigger"),
    ("REVOKE ALL ON FUNCTION a(int), b(own_table), c(jsonb) FROM PUBLIC;", "type jsonb"),
    ("REVOKE ALL ON FUNCTION a(jsonb), b(int) FROM PUBLIC;", "type jsonb"),
    ("GRANT EXECUTE ON FUNCTION a(int), lease.b(uuid) TO PUBLIC;", "type uuid"),
    ("CREATE FUNCTION a(b jsonb) RETURNS int AS $$ BEGIN END $$ LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp;", "type jsonb"),
    ("CREATE FUNCTION a() RETURNS int AS $b$ SELECT lease.own_trigger() $b$ LANGUAGE sql;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS $b$ SELECT lease.own_trigger() $b$ LANGUAGE sql SET search_path = lease, pg_catalog;", "body between quotes"),
    ("CREATE FUNCTION a() RETURNS int AS $b$ SELECT 1 $b$ LANGUAGE sql SECURITY DEFINER;", "SECURITY DEFINER"),
]
PASSED_IN_LEASE = [
    "SELECT lease.own_trigger(), NULL::lease.own_table;",
    "CREATE VIEW v AS SELECT a.b, lease.own_trigger() AS c FROM own_table a;",
    "CREATE TRIGGER t BEFORE INSERT ON own_table FOR EACH ROW EXECUTE FUNCTION lease.own_trigger();",
    "CREATE FUNCTION a(b own_table, c lease.own_table) RETURNS lease.own_table LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp\n"
    "AS $body$ DECLARE d lease.own_table := lease.own_trigger(); BEGIN RETURN d = 1 AND 'e' LIKE f(1); END $body$;",
    "REVOKE ALL ON FUNCTION a(int), b(own_table, pg_catalog.jsonb), lease.c() FROM PUBLIC;",
    "GRANT USAGE ON SCHEMA lease TO PUBLIC;",
]

# How such a script must begin, and how not.
GUARD = """CREATE FUNCTION look() RETURNS pg_catalog.void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$BEGIN END$$;"""
REFUSED_BEGINNINGS = [
    "CREATE TABLE own_table (a int);",
    GUARD,
    GUARD + "CREATE TABLE own_table (a int); SELECT lease.look();",
    GUARD + "SELECT lease.other();",
    GUARD + "SELECT look();",
    GUARD + "SELECT other.look();",
    GUARD + "SELECT lease.look() WHERE false;",
    GUARD.replace(" SET search_path = pg_catalog, pg_temp", "") + "SELECT lease.look();",
]


def wrongly_judged(script_class):
    for relocatable, schema, refused, passed in (
            (True, None, REFUSED, PASSED), (False, None, REFUSED_WITH_SCHEMA, PASSED_WITH_SCHEMA),
            (False, "lease", REFUSED + REFUSED_IN_LEASE, PASSED + PASSED_IN_LEASE)):
        for sql, part in refused:
            if schema and "@extschema" in sql:
                continue
            said = [text for _, text in script_class("shardid", relocatable, schema, MADE).complaints(sql)]
            if not any(part in text for text in said):
                yield f"not refused for {part!r} but {said}: {sql}"
        for sql in passed:
            said = [text for _, text in script_class("shardid", relocatable, schema, MADE).complaints(sql)]
            if said:
                yield f"refused for {said}: {sql}"
    lease = script_class("shardid", False, "lease", MADE)
    yield from (f"not refused as a beginning: {sql}" for sql in REFUSED_BEGINNINGS if not list(lease.complaints_of_beginning(sql)))
    if list(lease.complaints_of_beginning(GUARD + "SELECT lease.look(); CREATE TABLE own_table (a int);")):
        yield "a beginning is refused that looks at the schema"
