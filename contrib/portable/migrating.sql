-- A whole schema at once: see docs/migrating.md. The extension has what follows the line "Also in the extension", by the Makefile.
-- For the SQL-only version load it after contrib/portable/shardid.sql, as the same role:
--
--     psql -f contrib/portable/shardid.sql -f contrib/portable/migrating.sql
\set ON_ERROR_STOP on
\set ON_ERROR_ROLLBACK off
BEGIN;
-- Bodies in PL/pgSQL are parsed now.
SET LOCAL standard_conforming_strings = on;

-- Also in the extension.

-- The commands that change the columns of a schema. Everything in them is named with its schema, and every name is quoted. No
-- name gets out of a comment by a line break. Only columns of the caller's own tables are read and changed: functions in an
-- index run with the rights of the role that reads max(id).
--
-- The steps are functions in the same schema. They are called by name, but with arguments of just their types, so that no other function
-- of that name is meant.

CREATE OR REPLACE FUNCTION shardid_new_default(
    ids pg_catalog.text,
    of_function pg_catalog.oid,
    one_generator pg_catalog.oid,
    home pg_catalog.oid,
    layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    r record;
BEGIN
    IF of_function IS NULL THEN
        RETURN format('%s.next_id(%s)', ids, concat_ws(', ',
            CASE WHEN one_generator IS DISTINCT FROM home THEN 'generator => %1$L' END, replace(layout, '%', '%%')));
    END IF;
    SELECT p.pronargs - p.pronargdefaults AS needed, p.prorettype, p.proretset,
           COALESCE(p.proargtypes[0] = 'regclass'::regtype, false) AS takes_generator,
           format('%s.%I', p.pronamespace::regnamespace, p.proname) AS name INTO r
    FROM pg_proc p WHERE p.oid = of_function;
    IF r.prorettype IS DISTINCT FROM 'bigint'::regtype OR r.proretset OR r.needed > r.takes_generator::int
       OR one_generator IS NULL AND NOT r.takes_generator THEN
        RAISE invalid_parameter_value USING MESSAGE = 'function cannot be the default of these columns',
            DETAIL = format('The function is %s.', of_function::regprocedure),
            HINT = CASE WHEN one_generator IS NULL THEN 'Pass a function that returns bigint and takes a generator, of type regclass.'
                        ELSE 'Pass a function that returns bigint and takes no argument, or a generator of type regclass.' END;
    END IF;
    RETURN replace(r.name, '%', '%%') || CASE WHEN r.takes_generator THEN '(%1$L::pg_catalog.regclass)' ELSE '()' END;
END
$$;

COMMENT ON FUNCTION shardid_new_default(pg_catalog.text, pg_catalog.oid, pg_catalog.oid, pg_catalog.oid, pg_catalog.text) IS
'the default that id_migration_commands gives to columns: a format, to which the generator is passed';

-- Every column whose value comes from a sequence, and those of other schemas that share one by their defaults (not is_here). Of
-- a partitioned table with an identity the partitions have one, too, from PostgreSQL 17 on.

CREATE OR REPLACE FUNCTION shardid_sequence_columns(of_schema pg_catalog.oid)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
    WITH RECURSIVE bases (type, base) AS (    -- types and domains over them
        SELECT oid, oid FROM pg_type WHERE typtype <> 'd'
        UNION ALL
        SELECT t.oid, bases.base FROM bases JOIN pg_type t ON t.typtype = 'd' AND t.typbasetype = bases.type),
    uses AS MATERIALIZED (
        SELECT q.objid AS attrdef, q.refobjid AS seq, c.relnamespace = of_schema AS is_here
        FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid JOIN pg_attrdef d ON d.oid = q.objid JOIN pg_class c ON c.oid = d.adrelid
        WHERE q.classid = 'pg_attrdef'::regclass AND q.refclassid = 'pg_class'::regclass)
    SELECT jsonb_agg(to_jsonb(k)) FROM (
        SELECT c.relnamespace = of_schema AS is_here, c.oid AS rel, c.oid::regclass::text AS name, a.attnum AS num, quote_ident(a.attname) AS col, c.relowner AS owner,
               a.attidentity AS identity, a.attidentity <> '' AND c.relispartition AND a.attinhcount > 0 AS of_parent,
               c.relkind = 'p' AS is_parted, c.relkind = 'f' AS is_foreign, CASE WHEN a.attidentity = '' THEN e.expression END AS expression,
               COALESCE(i.seq, e.seq) AS seq, i.seq AS identity_seq, format_type(b.base, NULL) AS type, e.is_plain,
               e.cast_to <> format_type(a.atttypid, NULL) AS is_other_type
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN bases b ON b.type = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum AND a.attgenerated = ''
        LEFT JOIN LATERAL (
            SELECT x.expression, x.is_plain, x.cast_to, COALESCE(
                       (SELECT q.refobjid FROM pg_depend q JOIN pg_sequence s ON s.seqrelid = q.refobjid
                        WHERE q.classid = 'pg_attrdef'::regclass AND q.objid = d.oid AND q.refclassid = 'pg_class'::regclass LIMIT 1),
                       -- A name that is looked up at each INSERT.
                       (SELECT s.oid FROM parse_ident(x.late) part, pg_class s
                        WHERE s.relkind = 'S' AND s.relname = part[cardinality(part)]
                          AND s.relnamespace = CASE cardinality(part) WHEN 1 THEN c.relnamespace
                                               ELSE (SELECT n.oid FROM pg_namespace n WHERE n.nspname = part[1]) END)) AS seq
            FROM (SELECT y.expression,
                         y.expression ~ '^\(?nextval\(\(?E?''(?:[^'']|'''')*''(?:::text)?\)?::regclass\)\)?(?:::[^()]+)?$' AS is_plain,
                         substring(y.expression FROM '\)::([^()]+)$') AS cast_to,
                         substring(y.expression FROM $re$'((?:[a-z_][a-z0-9_]*|"[^"'\\]+")(?:\.(?:[a-z_][a-z0-9_]*|"[^"'\\]+"))?)'::text$re$) AS late
                  FROM pg_get_expr(d.adbin, d.adrelid) y (expression)) x) e ON true
        LEFT JOIN LATERAL (
            SELECT q.objid AS seq FROM pg_depend q JOIN pg_attribute o ON o.attrelid = q.refobjid AND o.attnum = q.refobjsubid
            WHERE a.attidentity <> '' AND q.classid = 'pg_class'::regclass AND q.refclassid = 'pg_class'::regclass AND q.deptype = 'i'
              AND q.refobjid IN (c.oid, pg_partition_root(c.oid)) AND o.attname = a.attname
            ORDER BY q.refobjid = c.oid DESC LIMIT 1) i ON true
        WHERE (c.relnamespace = of_schema
               OR d.oid IN (SELECT o.attrdef FROM uses u JOIN uses o ON o.seq = u.seq WHERE u.is_here AND NOT o.is_here))
          AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't'
          AND (a.attidentity <> '' OR e.expression ~ '\mnextval\(')
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.oid AND q.deptype = 'e')) k);
END
$$;

COMMENT ON FUNCTION shardid_sequence_columns(pg_catalog.oid) IS
'the columns of a schema whose values come from a sequence';

CREATE OR REPLACE FUNCTION shardid_unchanged_columns(columns pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me CONSTANT oid := quote_ident(current_user)::regrole;
BEGIN
    RETURN (
    WITH RECURSIVE bases (type, base) AS (    -- types and domains over them
        SELECT oid, oid FROM pg_type WHERE typtype <> 'd'
        UNION ALL
        SELECT t.oid, bases.base FROM bases JOIN pg_type t ON t.typtype = 'd' AND t.typbasetype = bases.type),
    c AS MATERIALIZED (
        SELECT c.*
        FROM jsonb_to_recordset(columns) c (is_here bool, rel oid, name text, num int, col text, owner oid, identity text, of_parent bool, is_parted bool,
                                            is_foreign bool, expression text, seq oid, identity_seq oid, type text, is_plain bool, is_other_type bool)),
    references_of AS MATERIALIZED (
        SELECT f.confrelid AS rel, f.confkey[n]::int AS num, f.conrelid AS referrer, f.conkey[n]::int AS referrer_num
        FROM pg_constraint f, generate_subscripts(f.confkey, 1) n WHERE f.contype = 'f'),
    referrers (root, root_num, rel, num) AS (
        SELECT rel, num, rel, num FROM c
        UNION
        SELECT r.root, r.root_num, f.referrer, f.referrer_num FROM referrers r JOIN references_of f USING (rel, num)),
    narrow AS MATERIALIZED (
        SELECT root AS rel, root_num AS num, string_agg(format('%s.%I (%s)', r.rel::regclass, a.attname, pg_size_pretty(pg_total_relation_size(r.rel))), ', '
                                                        ORDER BY r.rel::regclass::text, a.attnum) AS columns
        FROM referrers r JOIN pg_attribute a ON a.attrelid = r.rel AND a.attnum = r.num JOIN bases ON type = a.atttypid
        WHERE r.rel <> root AND base IN ('int'::regtype, 'smallint'::regtype) GROUP BY root, root_num),
    -- Parts and heirs of other roles, which are read with their table.
    family (root, rel) AS (
        SELECT rel, rel FROM c
        UNION
        SELECT root, inhrelid FROM family JOIN pg_inherits ON inhparent = rel),
    strange AS MATERIALIZED (
        SELECT root AS rel, min(oid::regclass::text) AS heir FROM family JOIN pg_class ON oid = family.rel WHERE relowner <> me GROUP BY root),
    -- What does not hold each value of its sequence, or computes with it.
    sharing AS MATERIALIZED (
        SELECT seq, string_agg(format('%s.%s', name, col), ', ' ORDER BY name, num) AS columns
        FROM c WHERE identity = '' AND (type <> 'bigint' OR NOT is_plain OR is_other_type) GROUP BY seq)
    SELECT jsonb_agg(to_jsonb(c) || jsonb_build_object('why_not',
               CASE WHEN NOT c.is_here THEN ''
                    WHEN c.is_foreign THEN 'is in a foreign table: not changed.'
                    WHEN c.identity = '' AND (NOT c.is_plain OR c.type = 'bigint' AND c.is_other_type) THEN format('has a default that is more than nextval: not changed. It is %s.', c.expression)
                    WHEN c.seq IS NULL THEN format('has a default whose sequence is not found: not changed. It is %s.', c.expression)
                    WHEN c.identity = '' AND EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_class'::regclass AND q.objid = c.seq AND q.deptype = 'i')
                         THEN 'uses the sequence of an identity: not changed.'
                    WHEN c.owner <> me THEN format('belongs to %s: not changed. Run this as that role.', c.owner::regrole)
                    WHEN heir <> '' THEN format('is inherited by %s, which belongs to another role: not changed.', heir)
                    WHEN c.type IN ('integer', 'smallint') THEN
                        format('is %s, which holds no id: not changed. ALTER TYPE bigint rewrites %s, with its indexes, under ACCESS EXCLUSIVE%s%s.',
                               c.type, s.size, ' and so each integer column that references it: ' || narrow.columns, '. Drop first: ' || v.views)
                    WHEN c.type <> 'bigint' THEN format('is %s: not changed.', c.type)
                    WHEN narrow.columns <> '' THEN
                        format('is referenced by integer columns, which hold no id: not changed. First make them bigint: %s.', narrow.columns)
                    WHEN u.users <> '' THEN format('is an identity whose sequence is used by %s: not changed. DROP IDENTITY would drop it.', u.users)
                    WHEN EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_attribute pa ON pa.attrelid = p.partrelid
                                 WHERE p.partstrat <> 'h' AND pa.attnum = ANY (p.partattrs) AND quote_ident(pa.attname) = c.col
                                   AND (p.partrelid = c.rel OR p.partrelid IN (SELECT pg_partition_ancestors(c.rel))))
                         THEN 'is the key of its partitions: not changed. First make partitions for the new ids.'
                    WHEN (SELECT seqcycle FROM pg_sequence WHERE seqrelid = c.seq) THEN 'has a sequence that cycles, whose values are no ids: not changed.'
                    WHEN sharing.columns <> '' THEN
                        format('shares its sequence with columns that would not hold its values after the way back: not changed. '
                               'First make them bigint with the default nextval, or give them another sequence: %s.', sharing.columns)
               END))
    FROM c LEFT JOIN narrow USING (rel, num) LEFT JOIN strange USING (rel) LEFT JOIN sharing USING (seq)
    LEFT JOIN LATERAL (
        SELECT pg_size_pretty(COALESCE(sum(pg_total_relation_size(p.relid)), pg_total_relation_size(c.rel))) AS size
        FROM pg_partition_tree(c.rel) p) s ON c.type IN ('integer', 'smallint')
    CROSS JOIN LATERAL (
        SELECT string_agg(pg_describe_object(q.classid, q.objid, q.objsubid), ', ' ORDER BY q.classid, q.objid)
        FROM pg_depend q WHERE q.refclassid = 'pg_class'::regclass AND q.refobjid = c.identity_seq AND q.deptype = 'n') u (users)
    CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT w.ev_class::regclass::text, ', ')
        FROM pg_depend q JOIN pg_rewrite w ON w.oid = q.objid
        WHERE q.classid = 'pg_rewrite'::regclass AND q.refclassid = 'pg_class'::regclass AND q.refobjid = c.rel
          AND q.refobjsubid = c.num AND w.ev_class <> c.rel) v (views));
END
$$;

COMMENT ON FUNCTION shardid_unchanged_columns(pg_catalog.jsonb) IS
'these columns, with the reason if id_migration_commands cannot change one';

CREATE OR REPLACE FUNCTION shardid_notes_of_change(ids pg_catalog.text, columns pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
BEGIN
    RETURN QUERY
    WITH changed AS (
        SELECT k.rel, k.name, k.num, k.col, k.seq, k.identity
        FROM jsonb_to_recordset(columns) k (rel oid, name text, num int, col text, seq oid, identity text, why_not text)
        WHERE k.why_not IS NULL),
    words AS (
        -- Names of sequences, of which each character stands for itself.
        SELECT DISTINCT k.seq, '\m' || regexp_replace(lower(c.relname), '(\W)', '[\1]', 'g') || '\M' AS pattern, c.relname AS word, lower(c.relname) AS lower_word
        FROM changed k JOIN pg_class c ON c.oid = k.seq WHERE c.relname !~ '[\^\[\]\\]'
        UNION ALL
        SELECT NULL, '\m' || w || '\M', w, w FROM unnest(ARRAY['currval', 'lastval', 'setval', 'pg_get_serial_sequence']) w),
    functions AS MATERIALIZED (
        SELECT pg_describe_object('pg_proc'::regclass, p.oid, 0) AS name, lower(COALESCE(pg_get_function_sqlbody(p.oid), p.prosrc)) AS body,
               (SELECT string_agg(pg_describe_object('pg_trigger'::regclass, t.oid, 0), ', ' ORDER BY t.oid)
                FROM pg_trigger t WHERE t.tgfoid = p.oid AND t.tgparentid = 0) AS triggers
        FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
        WHERE s.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prokind <> 'a' AND EXISTS (SELECT FROM changed)
          AND (a_mark IS NULL OR quote_ident(s.nspname) <> ids OR p.proname !~ '^(shardid_|next_ids?$|raise_generator$|id_)')
          AND NOT EXISTS (SELECT FROM pg_depend q WHERE q.classid = 'pg_proc'::regclass AND q.objid = p.oid AND q.deptype = 'e')),
    notes AS (
        SELECT 1 AS place, f.name || COALESCE(', called by ' || f.triggers, '') AS object,
               format('mentions %s. next_id is seen by neither the sequence nor currval nor lastval: use RETURNING there.',
                      string_agg(DISTINCT w.word, ', ')) AS note
        FROM functions f
        -- Almost no word is in it, and strpos says so faster than a pattern.
        JOIN words w ON CASE WHEN strpos(f.body, w.lower_word) > 0 THEN f.body ~ w.pattern END
        GROUP BY f.name, f.triggers
        UNION ALL
        SELECT 2, pg_describe_object(q.classid, q.objid, q.objsubid),
               format('uses sequence %s, which continues with its own numbers.', k.seq::regclass)
        FROM (SELECT DISTINCT seq FROM changed) k
        JOIN pg_depend q ON q.refclassid = 'pg_class'::regclass AND q.refobjid = k.seq AND q.deptype = 'n' AND q.classid <> 'pg_proc'::regclass
        LEFT JOIN pg_attrdef d ON q.classid = 'pg_attrdef'::regclass AND d.oid = q.objid
        WHERE NOT EXISTS (SELECT FROM changed WHERE changed.rel = d.adrelid AND changed.num = d.adnum)
        UNION ALL
        SELECT 3, format('constraint %I on %s', x.conname, k.name), format('limits the column: %s.', pg_get_constraintdef(x.oid))
        FROM changed k JOIN pg_constraint x ON x.contype = 'c' AND x.conrelid = k.rel AND k.num = ANY (x.conkey)
        UNION ALL
        SELECT 4, k.name, format('is published by %s: a subscriber keeps its own default.', string_agg(DISTINCT quote_ident(x.pubname), ', '))
        FROM (SELECT DISTINCT rel, name FROM changed) k JOIN pg_class c ON c.oid = k.rel
        JOIN pg_publication_tables x ON x.tablename = c.relname AND x.schemaname = c.relnamespace::regnamespace::text
        GROUP BY k.name
        UNION ALL
        SELECT 5, k.name, 'receives rows from a subscription, with the ids of the publisher.'
        FROM (SELECT DISTINCT rel, name FROM changed) k WHERE EXISTS (SELECT FROM pg_subscription_rel x WHERE x.srrelid = k.rel)
        UNION ALL
        SELECT 7, format('%s.%I', d.adrelid::regclass, a.attname),
               format('has the default %s, which sees no id of next_id: rows get an earlier one. Use RETURNING.', pg_get_expr(d.adbin, d.adrelid))
        FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE EXISTS (SELECT FROM changed) AND pg_get_expr(d.adbin, d.adrelid) ~ '\m(lastval|currval)\('
        UNION ALL
        SELECT 8, 'currval and lastval', 'of a session from before the switch return an earlier id, and no error. Such clients must use RETURNING.'
        WHERE EXISTS (SELECT FROM changed)
        UNION ALL
        SELECT 6, format('%s.%s', k.name, k.col), 'is GENERATED ALWAYS, which refuses ids in an INSERT. A default accepts them.'
        FROM changed k WHERE k.identity = 'a')
    SELECT '-- ' || translate(object || ' ' || note, E'\n\r', '  ') FROM notes ORDER BY place, object;
END
$$;

COMMENT ON FUNCTION shardid_notes_of_change(pg_catalog.text, pg_catalog.jsonb) IS
'the comments of id_migration_commands on the columns that change';

CREATE OR REPLACE FUNCTION shardid_inserters(columns pg_catalog.jsonb)
RETURNS pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT COALESCE(jsonb_agg(to_jsonb(w)), '[]') FROM (
        WITH RECURSIVE insertable (rel, through) AS (
            SELECT k.rel, k.rel FROM jsonb_to_recordset(columns) k (rel oid, why_not text) WHERE k.why_not IS NULL
            UNION
            -- A view of a role that cannot insert itself leads nobody's rows to the table.
            SELECT i.rel, w.ev_class FROM insertable i JOIN pg_depend q ON q.refclassid = 'pg_class'::regclass AND q.refobjid = i.through
            JOIN pg_rewrite w ON q.classid = 'pg_rewrite'::regclass AND w.oid = q.objid
            JOIN pg_class v ON v.oid = w.ev_class AND has_any_column_privilege(v.relowner, i.through, 'INSERT'))
        SELECT DISTINCT x.rel, CASE x.role WHEN 0 THEN 'public' ELSE pg_get_userbyid(x.role) END AS name,
               CASE x.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.role)) END AS quoted
        FROM (SELECT i.rel, x.grantee FROM insertable i JOIN pg_class c ON c.oid = i.through,
                  aclexplode(COALESCE(c.relacl, acldefault('r', c.relowner))) x WHERE x.privilege_type = 'INSERT'
              UNION
              SELECT i.rel, x.grantee FROM insertable i JOIN pg_attribute a ON a.attrelid = i.through, aclexplode(a.attacl) x
              WHERE x.privilege_type = 'INSERT'
              UNION
              SELECT i.rel, m.roleid FROM insertable i, pg_auth_members m WHERE m.roleid = 'pg_write_all_data'::regrole) x (rel, role)) w);
END
$$;

COMMENT ON FUNCTION shardid_inserters(pg_catalog.jsonb) IS
'the roles with INSERT on each of these tables, also through views';

CREATE OR REPLACE FUNCTION shardid_missing_grants(
    ids pg_catalog.text,
    of_function pg_catalog.oid,
    one_generator pg_catalog.oid,
    inserters pg_catalog.jsonb)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    as_caller CONSTANT boolean := NOT COALESCE((SELECT p.prosecdef FROM pg_proc p WHERE p.oid = of_function), false);
    -- What no dependency shows: a function in PL/pgSQL uses what it names.
    its_text CONSTANT text := (SELECT p.prosrc FROM pg_proc p WHERE p.oid = of_function AND p.prosqlbody IS NULL AND NOT p.prosecdef);
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
    rights CONSTANT text := CASE WHEN a_mark IS NULL THEN 'USAGE' ELSE 'USAGE, UPDATE' END;
    own_next_id CONSTANT oid := to_regprocedure(ids || '.next_id(regclass, timestamptz, int, int)');
BEGIN
    RETURN QUERY
    WITH RECURSIVE called (oid, home) AS (
        SELECT f.oid, f.pronamespace FROM pg_proc f
        WHERE f.pronamespace <> 'pg_catalog'::regnamespace AND strpos(its_text, f.oid::regproc || '(') > 0
          AND its_text ~ ('(?<![\w$".])' || regexp_replace(f.oid::regproc::text, '(\W)', '\\\1', 'g') || '\(')),
    functions (oid) AS (
        SELECT COALESCE(of_function, own_next_id)
        UNION
        SELECT called.oid FROM called
        UNION
        SELECT q.refobjid FROM functions f JOIN pg_proc p ON p.oid = f.oid AND NOT p.prosecdef
        JOIN pg_depend q ON q.classid = 'pg_proc'::regclass AND q.objid = f.oid
        WHERE q.refclassid = 'pg_proc'::regclass AND q.refobjid <> p.prosupport),
    named AS (
        SELECT DISTINCT w.name, w.quoted FROM jsonb_to_recordset(inserters) w (name text, quoted text)),
    read (oid, relkind, home) AS (
        SELECT c.oid, c.relkind, c.relnamespace FROM pg_class c
        WHERE c.relkind IN ('S', 'r', 'p', 'v', 'm') AND c.relnamespace <> 'pg_catalog'::regnamespace
          AND strpos(its_text, c.oid::regclass::text) > 0
          AND its_text ~ ('(?<![\w$".])' || regexp_replace(c.oid::regclass::text, '(\W)', '\\\1', 'g') || '(?![\w$".])')),
    objects AS (
        SELECT c.oid, c.relkind FROM pg_class c WHERE c.oid = one_generator AND as_caller
        UNION
        SELECT c.oid, c.relkind FROM pg_depend q JOIN pg_class c ON c.oid = q.refobjid
        WHERE q.classid = 'pg_proc'::regclass AND q.objid = of_function AND as_caller AND q.refclassid = 'pg_class'::regclass
          AND c.relkind IN ('S', 'r', 'p', 'v', 'm')
        UNION
        SELECT oid, relkind FROM read),
    homes (oid) AS (    -- schemas, which are looked up by name at each call
        SELECT home FROM called UNION SELECT home FROM read),
    missing AS (
        SELECT n.quoted, format('GRANT USAGE ON SCHEMA %s TO %s', h.oid::regnamespace, n.quoted) AS command,
               has_schema_privilege(h.oid, 'USAGE WITH GRANT OPTION') AS is_grantable
        FROM named n, homes h WHERE NOT has_schema_privilege(n.name, h.oid, 'USAGE')
        UNION ALL
        SELECT n.quoted, format('GRANT %s ON SEQUENCE %s TO %s', rights, o.oid::regclass, n.quoted),
               has_sequence_privilege(o.oid, 'USAGE WITH GRANT OPTION')
        FROM named n, objects o
        WHERE CASE WHEN o.relkind = 'S' THEN NOT has_sequence_privilege(n.name, o.oid, 'USAGE')
                                             OR a_mark IS NOT NULL AND NOT has_sequence_privilege(n.name, o.oid, 'UPDATE') END
        UNION ALL
        SELECT n.quoted, format('GRANT SELECT ON %s TO %s', o.oid::regclass, n.quoted), has_table_privilege(o.oid, 'SELECT WITH GRANT OPTION')
        FROM named n, objects o WHERE CASE WHEN o.relkind <> 'S' THEN NOT has_table_privilege(n.name, o.oid, 'SELECT') END
        UNION ALL
        SELECT n.quoted, format('GRANT EXECUTE ON FUNCTION %s TO %s', f.oid::regprocedure, n.quoted),
               has_function_privilege(f.oid, 'EXECUTE WITH GRANT OPTION')
        FROM named n, functions f WHERE NOT has_function_privilege(n.name, f.oid, 'EXECUTE')
        UNION ALL
        SELECT n.quoted, format('CALL %s.shardid_grant_marks(%L)', ids, n.name), has_sequence_privilege(a_mark, 'USAGE WITH GRANT OPTION')
        FROM named n WHERE CASE WHEN a_mark IS NOT NULL AND as_caller THEN NOT (has_sequence_privilege(n.name, a_mark, 'USAGE')
                                                                 AND has_sequence_privilege(n.name, a_mark, 'UPDATE')) END)
    SELECT CASE WHEN is_grantable THEN command ELSE '-- The owner must run: ' || translate(command, E'\n\r', '  ') END
    FROM missing ORDER BY quoted, command;
END
$$;

COMMENT ON FUNCTION shardid_missing_grants(pg_catalog.text, pg_catalog.oid, pg_catalog.oid, pg_catalog.jsonb) IS
'the GRANTs that roles with INSERT lack for the new default';

CREATE OR REPLACE FUNCTION shardid_columns_by_sequence(columns pg_catalog.jsonb, inserters pg_catalog.jsonb)
RETURNS SETOF pg_catalog.jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH k AS MATERIALIZED (
        SELECT k.*, count(*) FILTER (WHERE NOT k.of_parent) OVER (PARTITION BY k.seq) AS n
        FROM jsonb_to_recordset(columns) k (rel oid, name text, col text, identity text, of_parent bool, is_parted bool,
                                          expression text, seq oid, why_not text)
        WHERE k.why_not IS NULL),
    granted AS MATERIALIZED (
        SELECT k.seq, array_agg(DISTINCT w.quoted) AS grantees
        FROM k JOIN jsonb_to_recordset(inserters) w (rel oid, name text, quoted text) USING (rel) WHERE w.name <> current_user GROUP BY k.seq)
    SELECT to_jsonb(u) FROM (
        SELECT k.seq, k.seq::regclass::text AS seq_name, max(k.identity) AS identity, k.n, granted.grantees,
               jsonb_agg(to_jsonb(k) ORDER BY NOT k.is_parted, k.name) AS columns,
               (array_agg(k.col ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS col,
               (array_agg(k.name ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS parent,
               (array_agg(k.expression ORDER BY k.name) FILTER (WHERE NOT k.of_parent))[1] AS expression,
               -- Less than deadlock_timeout: in a deadlock this gives way, and the application is not refused.
               format(E'SET LOCAL lock_timeout = %L;\nLOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', CASE WHEN k.n = 1 THEN '3s' ELSE '900ms' END,
                      string_agg(CASE WHEN k.identity = '' THEN 'ONLY ' ELSE '' END || k.name, ', ' ORDER BY NOT k.is_parted, k.name)
                          FILTER (WHERE NOT k.of_parent)) AS locking,
               format(CASE WHEN k.n = 1 THEN '%s' ELSE '(%s) highest (id)' END,
                      string_agg(format(CASE WHEN k.n = 1 THEN '%2$s' ELSE 'SELECT %1$s FROM %2$s' END, k.col, k.name), ' UNION ALL '
                                 ORDER BY k.name) FILTER (WHERE NOT k.of_parent)) AS source
        FROM k LEFT JOIN granted USING (seq) GROUP BY k.seq, k.n, granted.grantees ORDER BY min(k.name), k.seq) u;
END
$$;

COMMENT ON FUNCTION shardid_columns_by_sequence(pg_catalog.jsonb, pg_catalog.jsonb) IS
'the columns that change, grouped by sequence, since those of one sequence change together';

CREATE OR REPLACE FUNCTION shardid_change_commands(
    ids pg_catalog.text,
    of_sequence pg_catalog.jsonb,
    u_generator pg_catalog.text,
    own_generator boolean,
    layout pg_catalog.text,
    default_call pg_catalog.text,
    soon bigint)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    u record;
    highest bigint;
    a_mark CONSTANT oid := to_regclass(ids || '.shardid_mark_0');    -- of the SQL-only version alone
    rights CONSTANT text := CASE WHEN a_mark IS NULL THEN 'USAGE' ELSE 'USAGE, UPDATE' END;
    new_id CONSTANT text := format(default_call, u_generator);
    id CONSTANT text := CASE WHEN (of_sequence ->> 'n')::int = 1 THEN of_sequence ->> 'col' ELSE 'id' END;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (grantees text[], columns jsonb, locking text, source text);
    EXECUTE format('SELECT max(%s) FROM %s', id, u.source) INTO highest;
    RETURN concat_ws(E'\n',
        -- It belongs to no column: clients call setval on the sequence that pg_get_serial_sequence returns.
        CASE WHEN own_generator THEN format('CREATE SEQUENCE %s;', u_generator) END,
        CASE WHEN own_generator THEN
            (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s;', rights, u_generator, g), E'\n' ORDER BY g) FROM unnest(u.grantees) g) END,
        -- Without a shard this fails as next_id does: now, and not at the first INSERT.
        format('DO %L;', format($try$BEGIN IF %s IS NULL THEN RAISE 'the new default generates no id' USING ERRCODE = '55000'; END IF; END$try$, new_id)),
        u.locking,
        CASE WHEN highest >= soon THEN format('SELECT %s.raise_generator(%s) FROM %s;', ids,
            concat_ws(', ', quote_literal(u_generator), format('pg_catalog.max(%s)', id), layout), u.source) END,
        (SELECT string_agg(concat_ws(E'\n',
             CASE WHEN k.identity <> '' AND NOT k.of_parent THEN format('ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY;', k.name, k.col) END,
             format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', k.name, k.col, new_id)), E'\n' ORDER BY NOT k.is_parted, k.name)
         FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, of_parent bool, is_parted bool)));
END
$$;

COMMENT ON FUNCTION shardid_change_commands(pg_catalog.text, pg_catalog.jsonb, pg_catalog.text, boolean, pg_catalog.text, pg_catalog.text, bigint) IS
'the commands of id_migration_commands for the columns of a sequence';

CREATE OR REPLACE FUNCTION shardid_sequence_rights(sequence pg_catalog.regclass)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
BEGIN
    SELECT * INTO c FROM pg_class WHERE oid = sequence;
    RETURN concat_ws(E'\n',
        (SELECT string_agg(DISTINCT format('REVOKE ALL ON SEQUENCE %s FROM %s;', sequence,
                                              CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END), E'\n')
         FROM pg_default_acl d, aclexplode(d.defaclacl) x
         WHERE d.defaclobjtype = 'S' AND d.defaclrole = c.relowner AND d.defaclnamespace IN (0, c.relnamespace) AND x.grantee <> c.relowner),
        (SELECT string_agg(format('GRANT %s ON SEQUENCE %s TO %s%s;', x.privilege_type, sequence,
                                     CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END,
                                     CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END), E'\n')
         FROM aclexplode(c.relacl) x WHERE x.grantee <> c.relowner));
END
$$;

COMMENT ON FUNCTION shardid_sequence_rights(pg_catalog.regclass) IS
'the commands that restore the privileges of a sequence that is created anew';

CREATE OR REPLACE FUNCTION shardid_back_commands(
    ids pg_catalog.text,
    of_sequence pg_catalog.jsonb,
    u_generator pg_catalog.text,
    own_generator boolean,
    layout pg_catalog.text)
RETURNS pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    u record;
    r record;
    rights text;
    commands text;
    tag text;
    id CONSTANT text := CASE WHEN (of_sequence ->> 'n')::int = 1 THEN of_sequence ->> 'col' ELSE 'id' END;
BEGIN
    SELECT * INTO u FROM jsonb_to_record(of_sequence) u (seq oid, seq_name text, identity text, columns jsonb, col text, parent text,
         expression text, locking text, source text);
    SELECT q.*, CASE WHEN q.seqincrement < 0 THEN 'LEAST' ELSE 'GREATEST' END AS edge,
           CASE WHEN q.seqincrement < 0 THEN 'min' ELSE 'max' END AS furthest,
           q.seqincrement > 0 AND q.seqmax < 9223372036854775807 AS is_narrow,
           pg_sequence_last_value(u.seq::regclass) AS last,
           obj_description(c.oid, 'pg_class') AS comment INTO r
    FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid WHERE q.seqrelid = u.seq;
    EXECUTE format('SELECT %s.shardid_sequence_rights($1)', ids) INTO rights USING u.seq::regclass;
    commands := concat_ws(E'\n', u.locking,
        (SELECT string_agg(
             CASE WHEN k.identity = '' THEN format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', k.name, k.col,
                                                  -- Its first string has all backslashes: one that reads alike in every session.
                                                  CASE WHEN strpos(k.expression, '\') = 0 THEN k.expression
                                                       ELSE regexp_replace(replace(k.expression, '\', '\\'), '''', 'E''') END)
                 ELSE format('ALTER TABLE ONLY %s ALTER COLUMN %s DROP DEFAULT;', k.name, k.col) END, E'\n' ORDER BY NOT k.is_parted, k.name)
         FROM jsonb_to_recordset(u.columns) k (name text, col text, identity text, is_parted bool, expression text)),
        CASE WHEN u.identity <> '' THEN format(E'ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY\n'
            '    (SEQUENCE NAME %s START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s);',
            u.parent, u.col, CASE u.identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, u.seq_name, r.seqstart, r.seqincrement,
            r.seqmin, r.seqmax, r.seqcache) END,
        -- Ids of rows that were deleted are not repeated either.
        format('highest := (SELECT pg_catalog.%s(%s) FROM %s);', r.furthest, id, u.source),
        CASE WHEN r.seqincrement > 0 THEN
            format(E'highest := GREATEST(highest,\n'
                   '    (SELECT %1$s.id_lower_bound(s.last_ts + interval ''1 ms''%3$s) FROM %1$s.id_generator_status(%2$L%3$s) s));',
                   ids, u_generator, ', ' || layout) END,
        CASE WHEN r.is_narrow THEN format(E'IF highest > %s THEN\n    %s;\nEND IF;', r.seqmax,
            CASE WHEN u.identity = '' THEN format('ALTER SEQUENCE %s AS bigint NO MAXVALUE', u.seq_name)
                 ELSE format('ALTER TABLE %s ALTER COLUMN %s SET NO MAXVALUE', u.parent, u.col) END) END,
        format(E'PERFORM pg_catalog.setval(%L, %s(highest%s, s.last_value), true)\nFROM %s s WHERE s.is_called OR highest %s s.last_value;',
               u.seq_name, r.edge,
               CASE WHEN r.seqincrement > 1 THEN format(' + ((s.last_value - highest) %% %1$s + %1$s) %% %1$s', r.seqincrement) END,
               u.seq_name, CASE WHEN r.seqincrement < 0 THEN '<=' ELSE '>=' END),
        CASE WHEN u.identity <> '' AND r.last IS NOT NULL THEN format('PERFORM pg_catalog.setval(%L, %s(%s, s.last_value)) FROM %s s;',
                                                               u.seq_name, r.edge, r.last, u.seq_name) END,
        CASE WHEN u.identity <> '' THEN NULLIF(rights, '') END,
        CASE WHEN u.identity <> '' AND r.comment <> '' THEN format('COMMENT ON SEQUENCE %s IS %L;', u.seq_name, r.comment) END,
        CASE WHEN own_generator AND to_regclass(u_generator) IS NULL THEN format('DROP SEQUENCE IF EXISTS %s;', u_generator) END);
    tag := 'back';
    WHILE strpos(commands, '$' || tag || '$') > 0 LOOP
        tag := tag || '_';
    END LOOP;
    -- A column that has not changed keeps its sequence as it is.
    commands := format(E'DO $%1$s$\n#variable_conflict use_column\nDECLARE\n    highest bigint;\nBEGIN\n'
                       -- Saved defaults name functions, types and operators of pg_catalog without it.
                       'PERFORM pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true),\n'
                       '    pg_catalog.set_config(''quote_all_identifiers'', ''off'', true),\n'
                       '    pg_catalog.set_config(''standard_conforming_strings'', ''on'', true);\n'
                       'IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum\n'
                       '               WHERE attrelid = %3$L::pg_catalog.regclass AND attname = %4$L\n'
                       '                 AND (attidentity <> '''' OR pg_catalog.pg_get_expr(adbin, adrelid) = %5$L)) THEN\n'
                       '%2$s\nEND IF;\nEND\n$%1$s$', tag, commands, u.parent, (parse_ident(u.col))[1], u.expression);
    RETURN commands;
END
$$;

COMMENT ON FUNCTION shardid_back_commands(pg_catalog.text, pg_catalog.jsonb, pg_catalog.text, boolean, pg_catalog.text) IS
'the commands that restore the columns of a sequence as they are now';

CREATE OR REPLACE FUNCTION id_migration_commands(
    schema pg_catalog.regnamespace,
    back boolean DEFAULT false,
    generator pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass,
    function pg_catalog.regprocedure DEFAULT NULL::pg_catalog.regprocedure,
    epoch pg_catalog.timestamptz DEFAULT '2011-08-24 21:07:01.721+00'::pg_catalog.timestamptz,
    shard_bits int DEFAULT 13,
    sequence_bits int DEFAULT 10,
    home pg_catalog.regclass DEFAULT 'shardid_seq'::pg_catalog.regclass)
RETURNS SETOF pg_catalog.text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC'
    SET standard_conforming_strings = on SET quote_all_identifiers = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    -- The functions are in the schema of this sequence, wherever the extension was moved.
    ids CONSTANT text := (SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = home);
    layout CONSTANT text := CASE WHEN (epoch, shard_bits, sequence_bits) <> ('2011-08-24 21:07:01.721+00', 13, 10)
        THEN format('epoch => %L, shard_bits => %s, sequence_bits => %s', epoch, shard_bits, sequence_bits) END;
    default_call text;    -- a format, to which the generator is passed
    soon bigint;
    columns jsonb;        -- whose values come from a sequence
    inserters jsonb;
    u record;
    u_generator text;
    is_empty boolean := true;
BEGIN
    IF schema IS NULL OR back IS NULL OR epoch IS NULL OR shard_bits IS NULL OR sequence_bits IS NULL OR ids IS NULL THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_roles JOIN pg_stat_get_activity(pg_backend_pid()) ON usesysid = oid WHERE rolsuper AND rolname <> current_user) THEN
        RAISE insufficient_privilege USING MESSAGE = 'a superuser cannot run this as another role',
            DETAIL = 'Functions of its tables could run RESET ROLE.',
            HINT = format('Connect as "%s", or as a role without rights that is a member of it.', current_user);
    END IF;
    EXECUTE format('SELECT %s.shardid_new_default($1, $2, $3, $4, $5)', ids)
    INTO default_call USING ids, function::oid, generator::oid, home::oid, layout;
    IF NOT back THEN
        IF EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = generator AND d.refobjsubid > 0) THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('generator "%s" is owned by a column', generator),
                DETAIL = 'DROP TABLE would drop it, and many scripts set the sequences of columns to the highest id, which stops a generator.',
                HINT = format('Run ALTER SEQUENCE %s OWNED BY NONE, or pass another sequence.', generator);
        END IF;
        -- Ids below this are below all that are generated from now on, even if the clock steps back.
        EXECUTE format('SELECT %s.id_lower_bound(greatest($1, clock_timestamp() - interval ''30 days''), $1, $2, $3)', ids)
            USING epoch, shard_bits, sequence_bits INTO soon;
    END IF;

    EXECUTE format('SELECT %1$s.shardid_unchanged_columns(%1$s.shardid_sequence_columns($1))', ids) INTO columns USING schema::oid;
    IF NOT back THEN
        RETURN QUERY EXECUTE format('SELECT %s.shardid_notes_of_change($1, $2)', ids) USING ids, columns;
        EXECUTE format('SELECT %s.shardid_inserters($1)', ids) INTO inserters USING columns;
        RETURN QUERY EXECUTE format('SELECT %s.shardid_missing_grants($1, $2, $3, $4)', ids)
        USING ids, function::oid, generator::oid, inserters;
    END IF;

    -- The columns of one sequence change together: in one row, which is one transaction.
    FOR u IN EXECUTE format('SELECT s.of_sequence, r.* FROM %s.shardid_columns_by_sequence($1, $2) WITH ORDINALITY s (of_sequence, place), '
                            'jsonb_to_record(s.of_sequence) r (seq oid) ORDER BY s.place', ids) USING columns, inserters
    LOOP
        u_generator := COALESCE(generator::text, (
            SELECT format('%s.%I', c.relnamespace::regnamespace,
                          CASE WHEN octet_length(c.relname) > 53 THEN md5(c.relname) ELSE c.relname END || '_generator')
            FROM pg_class c WHERE c.oid = u.seq));
        IF back THEN
            RETURN QUERY EXECUTE format('SELECT %s.shardid_back_commands($1, $2, $3, $4, $5)', ids)
            USING ids, u.of_sequence, u_generator, generator IS NULL, layout;
        ELSE
            RETURN QUERY EXECUTE format('SELECT %s.shardid_change_commands($1, $2, $3, $4, $5, $6, $7)', ids)
            USING ids, u.of_sequence, u_generator, generator IS NULL, layout, default_call, soon;
        END IF;
        is_empty := false;
    END LOOP;

    IF back AND is_empty THEN
        RETURN NEXT '-- No column has an identity or a default from a sequence. Save the way back before the columns change.';
    END IF;
    IF is_empty OR NOT back THEN
        RETURN QUERY SELECT '-- ' || translate(format('%s.%s %s', k.name, k.col, k.why_not), E'\n\r', '  ')
        FROM jsonb_to_recordset(columns) k (name text, col text, why_not text) WHERE k.why_not <> '' ORDER BY k.name, k.col;
    END IF;
END
$$;

COMMENT ON FUNCTION id_migration_commands(pg_catalog.regnamespace, boolean, pg_catalog.regclass, pg_catalog.regprocedure,
                                          pg_catalog.timestamptz, int, int, pg_catalog.regclass) IS
'the commands that make next_id the default of a schema''s columns instead of their sequences, or those that undo it';

-- Not in the extension. A transaction that created something before CREATE was revoked may have ended after this began.
-- What is above may have found that, wherever it has been moved since then.
DO $$
DECLARE
    own_schema pg_catalog.oid := pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace;
    other pg_catalog.text;
BEGIN
    SELECT pg_catalog.pg_describe_object(o.classid, o.objid, 0) INTO other
    FROM (SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.proowner
          FROM pg_catalog.pg_proc p
          WHERE p.pronamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.oprowner
          FROM pg_catalog.pg_operator p
          WHERE p.oprnamespace OPERATOR(pg_catalog.=) own_schema
          UNION ALL
          -- What this transaction has made uses it.
          SELECT d.refclassid, d.refobjid, COALESCE(p.proowner, q.oprowner, t.typowner, c.relowner)
          FROM pg_catalog.pg_depend d
          LEFT JOIN pg_catalog.pg_proc p
              ON d.refclassid OPERATOR(pg_catalog.=) p.tableoid AND d.refobjid OPERATOR(pg_catalog.=) p.oid
          LEFT JOIN pg_catalog.pg_operator q
              ON d.refclassid OPERATOR(pg_catalog.=) q.tableoid AND d.refobjid OPERATOR(pg_catalog.=) q.oid
          LEFT JOIN pg_catalog.pg_type t
              ON d.refclassid OPERATOR(pg_catalog.=) t.tableoid AND d.refobjid OPERATOR(pg_catalog.=) t.oid
          LEFT JOIN pg_catalog.pg_class c
              ON d.refclassid OPERATOR(pg_catalog.=) c.tableoid AND d.refobjid OPERATOR(pg_catalog.=) c.oid
          WHERE d.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid
         ) o (classid, objid, owner)
    WHERE o.owner OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(current_user)::pg_catalog.regrole::pg_catalog.oid
      AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) o.owner) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('another role has created %s', other), HINT = 'Use another schema, or drop it.';
    END IF;
END
$$;

COMMIT;
