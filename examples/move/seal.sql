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

-- SQLSTATE 25006 is what a standby answers to a write: clients that survive a failover know it.
CREATE OR REPLACE FUNCTION shard_move.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'shard "%" is sealed here', TG_TABLE_SCHEMA
        USING ERRCODE = 'read_only_sql_transaction',
              DETAIL = format('%s of %I.%I was refused, and no row was changed.', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME),
              HINT = TG_ARGV[0];
END
$$;

CREATE OR REPLACE FUNCTION shard_move.tables_of(shard name) RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
    SELECT oid::regclass FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = shard) AND relkind IN ('r', 'p')
    ORDER BY oid
$$;

-- Waits for all who have written to the tables, or drawn from the sequences, and not ended; prepared transactions
-- too. From the commit on every write is refused, whoever writes and with whatever plan, and no draw finds its
-- sequence by its name. A seal that is "always" holds for sessions with session_replication_role = replica as well;
-- the target's must not, as its rows come by such sessions.
CREATE OR REPLACE FUNCTION shard_move.seal(shard name, hint text, is_always boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t regclass;
    s name;
    tables text := (SELECT string_agg(of::text, ', ') FROM shard_move.tables_of(shard) of);
BEGIN
    IF tables IS NOT NULL THEN
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', tables);
    END IF;
    FOR t IN SELECT shard_move.tables_of(shard) LOOP
        -- A name before all others: no other trigger of the statement runs before it.
        EXECUTE format('CREATE OR REPLACE TRIGGER "!sealed" BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
            ' FOR EACH STATEMENT EXECUTE FUNCTION shard_move.refuse(%L)', t, hint);
        EXECUTE format('ALTER TABLE %s ENABLE %s TRIGGER "!sealed"', t, CASE WHEN is_always THEN 'ALWAYS' END);
    END LOOP;
    FOR s IN SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = shard AND c.relkind = 'S' AND c.relname NOT LIKE '%\_sealed' ORDER BY c.relname LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO %I', shard, s, s || '_sealed');
    END LOOP;
END
$$;

-- A trigger is switched off here, and dropped by tidy(): switching off does not wait for those who read.
CREATE OR REPLACE FUNCTION shard_move.open(shard name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t regclass;
    s name;
BEGIN
    FOR t IN SELECT shard_move.tables_of(shard) LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER "!sealed"', t);
    END LOOP;
    FOR s IN SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = shard AND c.relkind = 'S' AND c.relname LIKE '%\_sealed' ORDER BY c.relname LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I RENAME TO %I', shard, s, left(s, -length('_sealed')));
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION shard_move.tidy(shard name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t regclass;
BEGIN
    FOR t IN SELECT tgrelid FROM pg_trigger
             WHERE tgname = '!sealed' AND tgenabled = 'D' AND tgrelid IN (SELECT shard_move.tables_of(shard)) LOOP
        EXECUTE format('DROP TRIGGER "!sealed" ON %s', t);
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
