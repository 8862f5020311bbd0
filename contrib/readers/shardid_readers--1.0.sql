\echo Use "CREATE EXTENSION shardid_readers" to load this file. \quit

-- Readers of new rows: see contrib/readers/README.md.
--
-- What is used of shardid comes first: it is found wherever it has been installed, by arguments of exactly its types. After
-- that only what is in pg_catalog is found by its name alone: no object of another role can be called instead.

-- A schema that exists is refused: other roles' code may be in it, or be put there.
CREATE SCHEMA shardid_readers;

CREATE FUNCTION shardid_readers.state_of(first bigint, generator pg_catalog.regclass,
    OUT position_time pg_catalog.timestamptz, OUT settled_before pg_catalog.timestamptz, OUT held_back_by int)
LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
    SELECT id_timestamp(first, l.epoch, l.shard_bits, l.sequence_bits), s.settled_before, s.held_back_by
    FROM id_generator_layout(generator) l, id_generator_status(generator, l.epoch, l.shard_bits, l.sequence_bits) s;
END;

SET LOCAL search_path = pg_catalog, pg_temp;

-- A row for each share of a reader. The position is the smallest id that the share has not passed.
CREATE TABLE shardid_readers.reader (
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 63),
    role name NOT NULL,
    tab regclass NOT NULL,
    generator regclass NOT NULL,
    shares int NOT NULL CHECK (shares > 0),
    share int NOT NULL CHECK (share >= 0 AND share < shares),
    position bigint,
    moved timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name, share));

-- Not what a dump lacks, or creates after its data: it could then restore no reader.
SELECT pg_extension_config_dump('shardid_readers.reader', $$
    WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = tab AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't')
        AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = generator AND c.relkind = 'S' AND c.relpersistence <> 't')
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname <> 'shardid'
                        WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid IN (tab, generator) AND d.deptype = 'e')$$);

-- Those that the caller may use: its role's, by name, as a dump can be restored where other roles have other OIDs.
-- Those of a role that was renamed or dropped are the owner's of the database.
CREATE VIEW shardid_readers.own_reader WITH (security_barrier) AS
SELECT r.* FROM shardid_readers.reader r
WHERE COALESCE((SELECT pg_has_role(o.oid, 'MEMBER') FROM pg_roles o WHERE o.rolname = r.role), pg_has_role('pg_database_owner', 'MEMBER'))
WITH CHECK OPTION;

-- Only the owner of the table can delete: whoever else may, may lock the table, too.
CREATE FUNCTION shardid_readers.delete_reader() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM shardid_readers.reader r WHERE r.name = OLD.name AND r.role = OLD.role;
    RETURN NULL;
END
$$;

CREATE TRIGGER delete_reader AFTER UPDATE OF position ON shardid_readers.reader
FOR EACH ROW WHEN (NEW.position IS NULL) EXECUTE FUNCTION shardid_readers.delete_reader();

-- ==== In C ====

CREATE FUNCTION shardid_readers.shardid_readers_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'shardid_readers_support' LANGUAGE C STRICT;
CREATE FUNCTION shardid_readers.bound(function oid, at_most int, generator regclass, epoch timestamptz, shard_bits int, sequence_bits int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'shardid_reader_bound' LANGUAGE C STRICT;
CREATE FUNCTION shardid_readers.lock_table(tab regclass) RETURNS regtype
AS 'MODULE_PATHNAME', 'shardid_lock_table' LANGUAGE C STRICT;
CREATE FUNCTION shardid_readers.id_default(adbin pg_node_tree,
    OUT generator regclass, OUT epoch timestamptz, OUT shard_bits int, OUT sequence_bits int)
AS 'MODULE_PATHNAME', 'shardid_id_default' LANGUAGE C STABLE STRICT;
CREATE FUNCTION shardid_readers.seen_ids(query text, first bigint, below bigint, at_most int, share int) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'shardid_seen_ids' LANGUAGE C STRICT;

-- A row that is inserted into a partition, or a table that inherits, gets the default of that. Rows of a foreign table are
-- read with another server's snapshot: postgres_fdw's is that of the first statement of a transaction.
CREATE FUNCTION shardid_readers.check_children(tab regclass, id name, generator regclass) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    child record;
BEGIN
    WITH RECURSIVE children (child) AS (
        SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = tab
        UNION SELECT i.inhrelid FROM pg_inherits i JOIN children c ON i.inhparent = c.child)
    SELECT a.attrelid::regclass AS name, e.adbin, k.relkind INTO child
    FROM children c
    JOIN pg_class k ON k.oid = c.child
    JOIN pg_attribute a ON a.attrelid = c.child AND a.attname = id
    LEFT JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum,
    LATERAL shardid_readers.id_default(e.adbin) d
    WHERE k.relkind = 'f' OR e.adbin IS NOT NULL AND d.generator IS DISTINCT FROM check_children.generator LIMIT 1;
    IF child.relkind = 'f' THEN
        RAISE wrong_object_type USING MESSAGE = format('%s cannot be read by a reader', tab), DETAIL = format('Its child %s is a foreign table.', child.name),
            HINT = 'Add readers where the rows are stored.';
    ELSIF FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('%s and its child %s have different generators', tab, child.name),
            DETAIL = format('The default of %s is %s, and the generator of %s is %s.', child.name, pg_get_expr(child.adbin, child.name), tab, generator),
            HINT = format('Run ALTER TABLE %s ALTER %I DROP DEFAULT, or have both generate ids by one generator.', child.name, id);
    END IF;
END
$$;

-- ==== What users call ====

CREATE FUNCTION shardid_readers.add_reader(
    name text,
    tab regclass,
    from_id bigint DEFAULT NULL,
    shares int DEFAULT 1,
    role name DEFAULT current_user)
RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    kind text;
    id record;
    bound bigint;
BEGIN
    IF COALESCE(octet_length(name), 0) NOT BETWEEN 1 AND 63 THEN
        RAISE invalid_name USING MESSAGE = 'name is empty or too long', DETAIL = format('It has %s bytes.', COALESCE(octet_length(name), 0)),
            HINT = 'Pass a name of 1 to 63 bytes.';
    ELSIF NOT has_table_privilege('shardid_readers.own_reader', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to add a reader',
            DETAIL = format('Role "%s" has no INSERT on shardid_readers.own_reader.', current_user),
            HINT = format('As the owner of the database, run GRANT INSERT ON shardid_readers.own_reader TO %I.', current_user);
    END IF;
    SELECT CASE WHEN c.relkind NOT IN ('r', 'p') THEN 'It is not a table.' WHEN c.relpersistence = 't' THEN 'It is temporary.' END
    INTO kind FROM pg_class c WHERE c.oid = tab;
    IF NOT FOUND THEN
        RAISE undefined_table USING MESSAGE = format('table with OID %s does not exist', tab::oid), HINT = 'Pass the name of a table.';
    ELSIF kind <> '' THEN
        RAISE wrong_object_type USING MESSAGE = format('%s cannot be read by a reader', tab), DETAIL = kind,
            HINT = 'Pass a table, or a partitioned table, whose ids are generated by default.';
    ELSIF COALESCE(shares, 0) NOT BETWEEN 1 AND 1000 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'shares is out of range', DETAIL = format('shares is %s.', COALESCE(shares::text, 'NULL')),
            HINT = 'Pass how many sessions read at the same time, from 1 to 1000.';
    ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role), HINT = 'Pass a role that may use the reader.';
    ELSIF NOT pg_has_role(role, 'MEMBER') THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be member of role "%s"', role), HINT = 'Pass a role of which you are a member.';
    END IF;

    SELECT a.attnum, a.attname, d.*, lead(a.attname) OVER (ORDER BY a.attnum) AS another INTO id
    FROM pg_attribute a JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum, LATERAL shardid_readers.id_default(e.adbin) d
    WHERE a.attrelid = tab AND d.generator IS NOT NULL ORDER BY a.attnum;
    IF NOT FOUND OR id.another IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('%s column of %s has a default by next_id() with a generator', CASE WHEN FOUND THEN 'more than one' ELSE 'no' END, tab),
            HINT = CASE WHEN FOUND THEN format('To read by "%s", run ALTER TABLE %s ALTER %I DROP DEFAULT.', id.attname, tab, id.another)
                ELSE format('Run ALTER TABLE %s ALTER id SET DEFAULT ids.next_id(''a_generator''::regclass), as docs/new-rows.md says.', tab) END;
    END IF;
    PERFORM shardid_readers.check_children(tab, id.attname, id.generator);
    IF NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
        WHERE i.indrelid = tab AND i.indkey[0] = id.attnum AND i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree') THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('column "%s" of %s has no index', id.attname, tab),
            DETAIL = 'Each call would read the whole table.',
            HINT = format('Run CREATE INDEX CONCURRENTLY ON %s (%I).', tab, id.attname);
    END IF;

    bound := shardid_readers.bound(0, 0, id.generator, id.epoch, id.shard_bits, id.sequence_bits);
    INSERT INTO shardid_readers.own_reader
    SELECT name, role, tab, id.generator, shares, n, COALESCE(from_id, bound) FROM generate_series(0, shares - 1) n;
    RETURN COALESCE(from_id, bound);
EXCEPTION WHEN unique_violation THEN
    RAISE duplicate_object USING MESSAGE = format('reader "%s" already exists', name),
        HINT = 'Choose another name, or run shardid_readers.drop_reader as a member of its role.';
END
$$;

CREATE FUNCTION shardid_readers.refuse_name(name text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    RAISE undefined_object USING MESSAGE = format('reader "%s" does not exist', name),
        DETAIL = 'There is none of this name, or the current user is not a member of its role.',
        HINT = 'See SELECT * FROM shardid_readers.status, or run shardid_readers.add_reader.';
END
$$;

CREATE FUNCTION shardid_readers.next_rows(reader text, type_of anyelement, at_most int DEFAULT 1000)
RETURNS SETOF anyelement
LANGUAGE plpgsql ROWS 100
SUPPORT shardid_readers.shardid_readers_support AS $$
#variable_conflict use_variable
DECLARE
    own record;
    id record;
    share record;
    row_type regtype;
    bound bigint;
    last bigint;
    ids bigint[];
    seen bigint[];
    unseen bigint;
    condition text;
    query text;
BEGIN
    -- add_reader has added share 0; a role that may INSERT can add other shares of the same name.
    SELECT r.* INTO own FROM shardid_readers.own_reader r WHERE r.name = reader ORDER BY r.share LIMIT 1;
    IF NOT FOUND THEN
        PERFORM shardid_readers.refuse_name(reader);
    ELSIF at_most IS NULL OR at_most < 1 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = 'at_most is out of range', DETAIL = format('at_most is %s.', COALESCE(at_most::text, 'NULL')),
            HINT = 'Pass how many rows the call may return, from 1.';
    END IF;
    -- Below it is named by text: until the transaction ends, it and its columns are not renamed. Its schema can be.
    row_type := shardid_readers.lock_table(own.tab);
    IF row_type IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('the table of reader "%s" does not exist', reader),
            DETAIL = format('Its OID was %s.', own.tab::oid), HINT = format('Run SELECT shardid_readers.drop_reader(%L).', reader);
    ELSIF pg_typeof(type_of) <> row_type THEN
        RAISE datatype_mismatch USING MESSAGE = format('reader "%s" does not return rows of this type', reader),
            DETAIL = format('It reads %s, and type_of is of type %s.', own.tab, pg_typeof(type_of)),
            HINT = COALESCE((SELECT format('Pass NULL::%s; or, to read all of %s, drop the reader, and add it for that from %s.',
                                           own.tab, i.inhparent::regclass, min(s.position))
                             FROM pg_inherits i, shardid_readers.own_reader s WHERE i.inhrelid = own.tab AND s.name = reader GROUP BY i.inhparent LIMIT 1),
                            format('Pass NULL::%s.', own.tab));
    END IF;
    SELECT a.attname, d.*, count(*) OVER () AS number, own.tab::text AS tab INTO id
    FROM pg_attribute a JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum, LATERAL shardid_readers.id_default(e.adbin) d
    WHERE a.attrelid = own.tab AND d.generator = own.generator;
    IF NOT FOUND OR id.number > 1 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('%s column of %s has the generator of reader "%s" in its default', CASE WHEN FOUND THEN 'more than one' ELSE 'no' END, own.tab, reader),
            DETAIL = format('Its generator was %s when it was added. Ids of another one can be below its position.', own.generator),
            HINT = 'Restore the defaults, and read the rest. Then change them, drop the reader, and add it again.';
    END IF;

    PERFORM shardid_readers.check_children(own.tab, id.attname, own.generator);

    -- The bound is known before any statement below takes its snapshot: so those see every row below it.
    bound := shardid_readers.bound('shardid_readers.next_rows(text,anyelement,int)'::regprocedure, at_most,
                                   own.generator, id.epoch, id.shard_bits, id.sequence_bits);
    condition := format('FROM %s t WHERE t.%I >= $1 AND t.%2$I < $2', id.tab, id.attname)
        || CASE WHEN own.shares > 1 THEN format(' AND (hashint8(t.%I) & 2147483647) %% %s = $4', id.attname, own.shares) ELSE '' END;
    query := format('SELECT COALESCE(array_agg(i.id::bigint), ''{}'') FROM (SELECT t.%I AS id %s ORDER BY 1 LIMIT $3) i', id.attname, condition);

    -- From the share that is furthest behind. One that another transaction has is left to that.
    FOR share IN
        SELECT r.share AS number, r.position FROM shardid_readers.own_reader r WHERE r.name = reader AND r.role = own.role ORDER BY r.position
    LOOP
        EXECUTE query INTO ids USING share.position, bound, at_most, share.number;
        -- Without rows nothing is written, but once a second: it need not be read again from there, and the status shows that it
        -- is alive.
        CONTINUE WHEN ids = '{}' AND share.position >= bound - (1000::bigint << (id.shard_bits + id.sequence_bits));
        -- Not if the reader was dropped meanwhile, and added again.
        PERFORM FROM shardid_readers.own_reader r
        WHERE r.name = reader AND (r.role, r.tab, r.generator, r.shares, r.share, r.position)
            = (own.role, own.tab, own.generator, own.shares, share.number, share.position) FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        -- The client's statement may join the rows to tables that it reads with an older snapshot. What that does not see
        -- comes later.
        seen := shardid_readers.seen_ids(query, share.position, bound, at_most, share.number);
        SELECT min(i.id) INTO unseen FROM (SELECT unnest(ids) EXCEPT SELECT unnest(seen)) i (id) WHERE seen IS NOT NULL;
        CONTINUE WHEN unseen = ids[1];
        last := COALESCE(unseen, CASE WHEN cardinality(ids) < at_most THEN bound ELSE ids[cardinality(ids)] + 1 END);
        RETURN QUERY EXECUTE format('SELECT t.* %s ORDER BY t.%I', condition, id.attname) USING share.position, last, at_most, share.number;
        IF to_regclass(id.tab) IS DISTINCT FROM own.tab THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('the schema of %s was renamed during the call', own.tab), HINT = 'Call it again.';
        END IF;
        UPDATE shardid_readers.own_reader r SET position = last, moved = clock_timestamp() WHERE r.name = reader AND r.share = share.number;
        EXIT WHEN ids <> '{}';
    END LOOP;
END
$$;

-- Two calls lock the shares in one order. Only those of the role that has added the reader.
CREATE FUNCTION shardid_readers.set_position(reader text, to_id bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    own record;
BEGIN
    FOR own IN
        SELECT r.share FROM shardid_readers.own_reader r
        WHERE r.name = reader AND r.role = (SELECT o.role FROM shardid_readers.own_reader o WHERE o.name = reader ORDER BY o.share LIMIT 1)
        ORDER BY r.share
    LOOP
        UPDATE shardid_readers.own_reader r SET position = to_id, moved = clock_timestamp() WHERE r.name = reader AND r.share = own.share;
    END LOOP;
    IF NOT FOUND THEN
        PERFORM shardid_readers.refuse_name(reader);
    END IF;
END
$$;

CREATE FUNCTION shardid_readers.move_reader(name text, to_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF to_id IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'to_id is NULL', HINT = 'Pass an id, 0 for all rows, or ids.id_lower_bound(time).';
    END IF;
    PERFORM shardid_readers.set_position(name, to_id);
END
$$;

CREATE FUNCTION shardid_readers.drop_reader(name text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    SELECT shardid_readers.set_position(name, NULL);
END;

-- What cannot be found out is NULL: a reader's generator can fail, or be locked by its owner. Other errors do
-- not hide the rest of the readers, either. The layout is the generator's own: the defaults of a table can be many, and long.
CREATE FUNCTION shardid_readers.share_state(first bigint, generator regclass, OUT position_time timestamptz, OUT behind interval, OUT held_back_by int)
LANGUAGE plpgsql SET lock_timeout = 1 AS $$
BEGIN
    SELECT s.position_time, s.settled_before - s.position_time, s.held_back_by INTO position_time, behind, held_back_by
    FROM shardid_readers.state_of(first, generator) s;
EXCEPTION
    WHEN feature_not_supported OR data_exception OR syntax_error_or_access_rule_violation OR object_not_in_prerequisite_state THEN
        NULL;
    WHEN OTHERS THEN
        RAISE WARNING USING MESSAGE = format('could not read the state of generator %s: %s', generator, SQLERRM), ERRCODE = SQLSTATE;
END
$$;

CREATE VIEW shardid_readers.status AS
SELECT r.name, r.tab, r.share, r.position, t.position_time, r.moved, t.behind, t.held_back_by, r.role
FROM shardid_readers.own_reader r LEFT JOIN LATERAL shardid_readers.share_state(r.position, r.generator) t ON true;

COMMENT ON SCHEMA shardid_readers IS 'readers that get each new row of a table once';
COMMENT ON TABLE shardid_readers.reader IS 'used by shardid_readers itself: the shares of the readers, and their positions';
COMMENT ON VIEW shardid_readers.own_reader IS 'the shares of the readers that the current user may use; INSERT on it lets a role add readers';
COMMENT ON VIEW shardid_readers.status IS 'the readers of the current user: where they are, how far behind, and which process holds them back';
COMMENT ON FUNCTION shardid_readers.add_reader IS 'adds a reader of the rows of a table from now on, or from an id, and returns its position';
COMMENT ON FUNCTION shardid_readers.next_rows IS
'returns the next rows of the reader, in the order of ids, and moves its position behind them';
COMMENT ON FUNCTION shardid_readers.move_reader IS 'moves the reader to an id: back, to read rows again, or forward';
COMMENT ON FUNCTION shardid_readers.drop_reader IS 'drops the reader';

-- What holds for all that is made here. Default privileges may have given or taken rights on it: it gets those that it has
-- without them.
DO $body$
DECLARE
    change text;
BEGIN
    FOR change IN
        SELECT format('COMMENT ON FUNCTION %s IS ''used by shardid_readers itself''', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'shardid_readers'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
        UNION ALL SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', p.oid::regprocedure)
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = 'shardid_readers'::regnamespace AND l.lanname = 'plpgsql'
        UNION ALL
        SELECT format('REVOKE ALL ON %1$s FROM PUBLIC%2$s CASCADE; GRANT ALL ON %1$s TO %3$s', o.name,
                      (SELECT string_agg(', ' || a.grantee::regrole, '') FROM aclexplode(o.acl) a WHERE a.grantee <> 0), o.grantees)
        FROM (SELECT tableoid, oid, pronamespace, 'ROUTINE ' || oid::regprocedure, proacl, proowner::regrole || ', PUBLIC' FROM pg_proc
              UNION ALL SELECT tableoid, oid, typnamespace, 'TYPE ' || oid::regtype, typacl, typowner::regrole || ', PUBLIC' FROM pg_type
              UNION ALL SELECT tableoid, oid, oid, 'SCHEMA ' || oid::regnamespace, nspacl, nspowner::regrole::text FROM pg_namespace
              UNION ALL SELECT tableoid, oid, relnamespace, CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass,
                  NULLIF(relacl || ARRAY(SELECT unnest(attacl) FROM pg_attribute WHERE attrelid = c.oid), '{}'),
                  relowner::regrole::text FROM pg_class c) o (classid, objid, schema, name, acl, grantees)
        WHERE o.acl IS NOT NULL AND o.schema = 'shardid_readers'::regnamespace
    LOOP
        EXECUTE change;
    END LOOP;
END
$body$;

-- All of it runs with the rights of its caller, except the trigger. UPDATE of columns only: with UPDATE of a table, any role
-- could lock it.
REVOKE EXECUTE ON FUNCTION shardid_readers.delete_reader(), shardid_readers.shardid_readers_support(internal) FROM PUBLIC;
GRANT USAGE ON SCHEMA shardid_readers TO PUBLIC, pg_database_owner;
GRANT SELECT, UPDATE (position, moved) ON shardid_readers.own_reader TO PUBLIC;
GRANT SELECT ON shardid_readers.status TO PUBLIC;
-- A reader can keep others' names, and make a dump fail to restore: its owner says who may add some.
GRANT INSERT ON shardid_readers.own_reader TO pg_database_owner WITH GRANT OPTION;
-- For pg_dump and pg_restore.
GRANT SELECT, INSERT ON shardid_readers.reader TO pg_database_owner;
