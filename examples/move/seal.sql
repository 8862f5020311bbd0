-- What move_shard.py installs on both servers, in a schema of its own: the seal of a shard, and what it knows of moves
-- that are under way. A shard is a schema.

CREATE SCHEMA IF NOT EXISTS shard_move;

-- The shards that are sealed on this server: on the source for good, on the target until it is opened.
CREATE TABLE IF NOT EXISTS shard_move.sealed (
    shard name PRIMARY KEY,
    move text NOT NULL,
    role text NOT NULL CHECK (role IN ('source', 'target')),
    peer text NOT NULL,     -- the other server's system identifier and database
    seal text NOT NULL,     -- names this seal: a shard can be sealed, unsealed and sealed again in one move
    notes jsonb NOT NULL DEFAULT '{}',
    sealed_at timestamptz NOT NULL DEFAULT clock_timestamp());

-- Replicated with the shard's tables. The source's seal writes a row here in its own transaction, after the last
-- write to the tables has committed. Who sees the row on the target knows that all writes before it are there.
CREATE TABLE IF NOT EXISTS shard_move.marker (
    shard name NOT NULL,
    move text,
    seal text,
    PRIMARY KEY (move, seal));

-- The seals that have been opened again.
CREATE TABLE IF NOT EXISTS shard_move.opened (
    seal text PRIMARY KEY,
    shard name NOT NULL);

-- SQLSTATE 25006 is what a standby answers to a write: clients that survive a failover know it. To open a seal takes
-- no lock on the tables, which writers who try again and again would be in the way of. A transaction that does not
-- see that the seal was opened, as its snapshot is older, is refused.
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

CREATE OR REPLACE FUNCTION shard_move.tables_of(shard name) RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
    SELECT oid::regclass FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = shard) AND relkind IN ('r', 'p')
    ORDER BY oid
$$;

CREATE OR REPLACE FUNCTION shard_move.sequences_of(shard name, is_sealed boolean) RETURNS SETOF name LANGUAGE sql STABLE AS $$
    SELECT relname FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = shard) AND relkind = 'S'
        AND (relname LIKE '%\_sealed') = is_sealed
    ORDER BY oid
$$;

-- Waits for all who have written to the tables, or drawn from the sequences, and not ended; prepared transactions
-- too. From the commit on every write is refused, whoever writes and with whatever plan, and nobody finds a sequence by
-- its name. A seal that is "always" holds for sessions with session_replication_role = replica as well; the target's
-- must not, as its rows come by such sessions. The tables named as first are locked first. An error while one of them is
-- waited for has its name in the context.
CREATE OR REPLACE FUNCTION shard_move.seal(shard name, seal text, hint text, is_always boolean, first regclass[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tables regclass[] := ARRAY(SELECT t FROM shard_move.tables_of(shard) t ORDER BY array_position(first, t), t);
    t regclass;
    s name;
BEGIN
    FOREACH t IN ARRAY tables LOOP
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', t);
    END LOOP;
    FOREACH t IN ARRAY tables LOOP
        -- A name before all others: no other trigger of the statement runs before it.
        EXECUTE format('CREATE OR REPLACE TRIGGER "!sealed" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
            ' FOR EACH STATEMENT EXECUTE FUNCTION shard_move.refuse(%L, %L)', t, seal, hint);
        EXECUTE format('ALTER TABLE %s ENABLE %s TRIGGER "!sealed"', t, CASE WHEN is_always THEN 'ALWAYS' END);
    END LOOP;
    FOR s IN SELECT shard_move.sequences_of(shard, false) LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO %I', shard, s, s || '_sealed');
    END LOOP;
END
$$;

-- The triggers stay, and let pass; they are dropped later, as to drop one waits for those who read.
CREATE OR REPLACE FUNCTION shard_move.open(shard name, seal text) RETURNS void LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE FUNCTION shard_move.definition_of(shard name) RETURNS text LANGUAGE sql STABLE AS $$
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
