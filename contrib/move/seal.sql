-- move_shard.py installs this on both servers, in a schema of its own: the seal of a shard, and the state of running
-- moves. A shard is a schema. A DBA may call these functions with any search_path.

CREATE SCHEMA IF NOT EXISTS shard_move;
-- Another role could change what the mover, a superuser, calls.
DO $$
BEGIN
    IF (SELECT rolsuper FROM pg_namespace JOIN pg_roles r ON r.oid = nspowner WHERE nspname = 'shard_move') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'schema "shard_move" does not belong to a superuser', HINT = 'Drop it.';
    END IF;
    -- Default privileges may have opened it: whoever writes to a table in it can open a seal.
    EXECUTE (SELECT format('REVOKE ALL ON SCHEMA shard_move FROM PUBLIC%s CASCADE', string_agg(', ' || grantee::regrole, ''))
             FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'shard_move' AND grantee NOT IN (0, nspowner));
END
$$;

-- The shards that are sealed on this server: on the source permanently, on the target until it is opened.
CREATE TABLE IF NOT EXISTS shard_move.sealed (
    shard name PRIMARY KEY,
    move text NOT NULL,
    role text NOT NULL CHECK (role IN ('source', 'target')),
    peer text NOT NULL,     -- the other server's system identifier and database
    seal text NOT NULL,     -- names this seal: a shard can be sealed, unsealed and sealed again in one move
    notes jsonb NOT NULL DEFAULT '{}',
    sealed_at timestamptz NOT NULL DEFAULT clock_timestamp());

-- Replicated with the shard's tables. The source's seal writes a row here in its own transaction, after the last
-- write to the tables has committed. When the row is on the target, all writes before it are there, too.
CREATE TABLE IF NOT EXISTS shard_move.marker (
    shard name NOT NULL,
    move text,
    seal text,
    PRIMARY KEY (move, seal));

-- Seals that have been opened.
CREATE TABLE IF NOT EXISTS shard_move.opened (
    seal text PRIMARY KEY,
    shard name NOT NULL);

-- A standby refuses writes with the same SQLSTATE, 25006: clients that survive a failover handle it. Opening a seal
-- takes no lock on the tables, since writers that retry continuously would block it. A transaction with a snapshot
-- from before the opening is refused.
CREATE OR REPLACE FUNCTION shard_move.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM shard_move.opened WHERE seal = TG_ARGV[0]) THEN
        RAISE EXCEPTION 'shard "%" is sealed on this server', TG_TABLE_SCHEMA
            USING ERRCODE = 'read_only_sql_transaction',
                  DETAIL = format('%s of %I.%I was refused, and no row was changed.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
                  HINT = TG_ARGV[1];
    END IF;
    RETURN NULL;
END
$$;

-- Before the seal, since transactions lock the tables in any order: one that has begun to write continues, since it
-- holds the lock; one that has not is refused while the mover waits for this lock, or has it. So those that have begun
-- come to their end, and none is in the seal's way.
CREATE OR REPLACE FUNCTION shard_move.admit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(hashtext('shard_move.admit'), hashtext(TG_TABLE_SCHEMA)) THEN
        RAISE EXCEPTION 'shard "%" is being sealed on this server', TG_TABLE_SCHEMA
            USING ERRCODE = 'read_only_sql_transaction',
                  DETAIL = format('%s of %I.%I was refused, and no row was changed.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
                  HINT = 'Try the transaction again.';
    END IF;
    RETURN NULL;
END
$$;

-- The name sorts first: no other trigger of the statement runs before it.
CREATE OR REPLACE FUNCTION shard_move.guard(guarded regclass, call text, is_always boolean)
RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
    EXECUTE format('CREATE OR REPLACE TRIGGER "!sealed" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
        ' FOR EACH STATEMENT EXECUTE FUNCTION shard_move.%s', guarded, call);
    EXECUTE format('ALTER TABLE %s ENABLE %s TRIGGER "!sealed"', guarded, CASE WHEN is_always THEN 'ALWAYS' END);
END
$$;

CREATE OR REPLACE FUNCTION shard_move.tables_of(shard name) RETURNS SETOF regclass LANGUAGE sql STABLE SET search_path = '' AS $$
    SELECT oid::regclass FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = shard) AND relkind IN ('r', 'p')
    ORDER BY oid
$$;

CREATE OR REPLACE FUNCTION shard_move.sequences_of(shard name, is_sealed boolean)
RETURNS SETOF name LANGUAGE sql STABLE SET search_path = '' AS $$
    SELECT relname FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = shard) AND relkind = 'S'
        AND (relname LIKE '%\_sealed') = is_sealed
    ORDER BY oid
$$;

-- Waits for all open transactions that have written to the tables or drawn from the sequences, also prepared ones.
-- After the commit every write is refused, from every role and with every plan, and no sequence is found by its name.
-- is_always: the seal also holds for sessions with session_replication_role = replica; not on the target, where such
-- sessions write the rows.
CREATE OR REPLACE FUNCTION shard_move.seal(shard name, seal text, hint text, is_always boolean)
RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
    s name;
    t regclass;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('shard_move.admit'), hashtext(shard));
    -- First: a transaction that has drawn an id is refused when it writes, and does not wait for a table.
    FOR s IN SELECT shard_move.sequences_of(shard, false) LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO %I', shard, s, s || '_sealed');
    END LOOP;
    FOR t IN SELECT shard_move.tables_of(shard) LOOP
        PERFORM shard_move.guard(t, format('refuse(%L, %L)', seal, hint), is_always);
    END LOOP;
END
$$;

-- The triggers stay, and allow writes; they are dropped later, since DROP TRIGGER waits for readers.
CREATE OR REPLACE FUNCTION shard_move.open(shard name, seal text) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
    s name;
BEGIN
    INSERT INTO shard_move.opened VALUES (seal, shard);
    FOR s IN SELECT shard_move.sequences_of(shard, true) LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO %I', shard, s, left(s, -length('_sealed')));
    END LOOP;
END
$$;

-- Columns, defaults, keys and checks as one text, to be compared between servers.
CREATE OR REPLACE FUNCTION shard_move.definition_of(shard name) RETURNS text LANGUAGE sql STABLE SET search_path = '' AS $$
    SELECT coalesce(string_agg(line, E'\n' ORDER BY line COLLATE "C"), '') FROM (
        SELECT format('%s column %s %s%s%s default %s', a.attrelid::regclass, a.attname,
                   format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' not null' END, a.attgenerated,
                   regexp_replace(pg_get_expr(d.adbin, d.adrelid), '_sealed("?''::regclass)', '\1', 'g')) AS line
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid IN (SELECT shard_move.tables_of(shard)) AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT format('%s constraint %s', conrelid::regclass, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE conrelid IN (SELECT shard_move.tables_of(shard)) AND contype <> 'n'
    ) lines
$$;
