#!/usr/bin/env python3
"""Moves a shard - a schema with its tables and its generator - to another server by logical replication, while
applications write to it.

    move_shard.py [OPTION...] status|copy|switch|finish|undo SHARD --from CONNINFO --to CONNINFO

status  says where the move stands and what comes next; changes nothing
copy    copies the tables and keeps the copy up to date; writers go on
switch  stops the writers for a moment and opens the shard on the target
finish  drops what the move has left, and the shard's old rows on the source
undo    gives up, before the switch: the source is as it was, the copy is gone

Each command does what is missing up to its goal, as found on the two servers: after any interruption run it again.
With --dry-run it prints the statements instead. README.md beside it says what each step does, and why.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
import uuid

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import make_dsn, parse_dsn

from checks import Checks
from server import Interruption, Server, Trouble
from shard import Shard

NEXT = {
    "open": "copy: checks, makes the schema on the target and copies the tables; writers go on",
    "copying": "switch: when the copy is close behind, seals the source and opens the target; or undo: drops the copy",
    "sealed": "NOBODY CAN WRITE. switch: opens the target; or undo: opens the source",
    "switched": "finish: drops the subscription, and the old rows on the source; until then you can look at them",
    "moved": "nothing; finish drops what may be left of the move",
}
# What the two servers hold of the shard, and what that means.
STATES = {
    ("open", "no shard"): "open",
    ("open", "sealed"): "copying",
    ("sealed", "sealed"): "sealed",
    ("sealed", "open"): "switched",
    ("no shard", "open"): "moved",
}
TABLES_COPIED = """
SELECT count(*) FILTER (WHERE srsubstate = 'r'), count(*)
FROM pg_subscription_rel JOIN pg_subscription s ON s.oid = srsubid WHERE subname = %s"""
SEQUENCES_REPLICATED = """
SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel JOIN pg_subscription s ON s.oid = srsubid WHERE subname = %s"""
ROWS_IN_COPY = "SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy WHERE datname = current_database()"
LAG = """
SELECT greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
FROM pg_stat_replication WHERE application_name = %s AND state = 'streaming'"""
WRITERS = """
SELECT DISTINCT CASE WHEN l.pid IS NULL THEN 'a prepared transaction, see pg_prepared_xacts'
    ELSE format('pid %%s (%%s) for %%s: %%s', l.pid, a.usename, statement_timestamp() - a.xact_start, left(a.query, 60)) END,
    a.xact_start
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE n.nspname = %s AND l.granted AND c.relkind IN ('r', 'p', 'S') AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock')
ORDER BY a.xact_start NULLS FIRST LIMIT 3"""
WITH_SEAL = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = '!sealed' AND tgrelid IN (SELECT shard_move.tables_of(%s))"
WITHOUT_SEAL = """
SELECT t::text FROM shard_move.tables_of(%s) t
WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND tgname = '!sealed' AND tgenabled = 'A')"""
FOREIGN_SEQUENCES = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND n.nspname <> %s AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype = 'e')"""
USED_OF_EXTENSION = """
SELECT count(*) FROM pg_class c JOIN pg_depend d ON d.objid = c.oid AND d.deptype = 'e'
WHERE c.relkind = 'S' AND pg_sequence_last_value(c.oid) IS NOT NULL"""


def address_of(conninfo):
    where = parse_dsn(conninfo)
    return " ".join(f"{key}={where[key]}" for key in ("host", "port", "dbname") if key in where)


def publisher_of(options):
    """The source's server sees the subscription's name as the application's."""
    return make_dsn(**{key: value for key, value in parse_dsn(options.publisher or options.source).items()
                       if key != "application_name"})


class Move:
    def __init__(self, options):
        self.options = options
        self.shard = Shard(options.shard, options.layout)
        self.source = Server("source", options.source, options.dry_run)
        self.target = Server("target", options.target, options.dry_run)
        self.checks = Checks(self.shard, self.source, self.target)
        self.publisher = publisher_of(options)
        self.address = options.address or address_of(options.target)

    def say(self, what, text):
        print(f"{time.strftime('%H:%M:%S')}  {what:10}{text}", flush=True)

    def has_done(self, what, text):
        if not self.options.dry_run:
            self.say(what, text)

    # --- Where it stands.

    def sealed(self, server):
        """What the server knows of the move, if it has the shard sealed."""
        if not server.has("shard_move.sealed"):
            return None
        rows = server.records("SELECT * FROM shard_move.sealed WHERE shard = %s", self.shard.name)
        return rows[0] if rows else None

    def stands(self, server):
        if not server.has_schema(self.shard.name):
            return "no shard"
        return "sealed" if self.sealed(server) else "open"

    def state(self):
        self.check_roles()
        here, there = self.stands(self.source), self.stands(self.target)
        if (here, there) not in STATES:
            raise Trouble(f"no state of a move: the source has {here}, the target {there} ({self.shard.name}); nothing was changed")
        return STATES[here, there]

    def check_roles(self):
        """That this is the move that is under way."""
        rows = [self.sealed(server) for server in (self.source, self.target)]
        for row, server, other in zip(rows, (self.source, self.target), (self.target, self.source)):
            if row and row["role"] != server.label:
                raise Trouble(f"{self.shard.name} is being moved, and the server named as {server.label} is the {row['role']}: "
                              "are --from and --to the right way round?")
            if row and row["peer"] != other.identity:
                raise Trouble(f"{self.shard.name} is being moved between the {server.label} and another {other.label}: "
                              f"system identifier and database are {row['peer']}, not {other.identity}")
        if all(rows) and rows[0]["move"] != rows[1]["move"]:
            raise Trouble(f"source and target tell of different moves: {rows[0]['move']}, {rows[1]['move']}")

    def has_subscription(self, name):
        return self.target.one("SELECT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = subdbid "
                               "WHERE datname = current_database() AND subname = %s)", name)

    def has_publication(self, name):
        return self.source.one("SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = %s)", name)

    def slot(self, name):
        """Its wal_status, or None."""
        return self.source.one("SELECT coalesce(wal_status, 'reserved') FROM pg_replication_slots "
                               "WHERE slot_name = %s AND database = current_database()", name)

    def lag(self):
        """Bytes of the source's WAL that the target has not replayed; None while it does not read."""
        return self.source.one(LAG, self.shard.publication)

    def worker_errors(self):
        return self.target.one("SELECT apply_error_count + sync_error_count FROM pg_stat_subscription_stats WHERE subname = %s",
                               self.shard.publication) or 0

    # --- The copy.

    def check(self):
        for note in self.checks.notes():
            self.say("note", note)
        found = self.checks.all()
        if found:
            raise Trouble("the shard cannot be moved so:\n" + "\n".join(f"  - {each}" for each in found))
        self.say("checked", f"{len(self.shard.tables(self.source))} tables, {len(self.shard.sequences(self.source))} sequences")

    def install(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seal.sql"), encoding="utf-8") as file:
            sql = file.read()
        for server in (self.source, self.target):
            owner = server.one("SELECT rolname FROM pg_namespace n JOIN pg_roles r ON r.oid = nspowner "
                               "WHERE nspname = 'shard_move' AND NOT rolsuper")
            if owner:
                raise Trouble(f"the schema shard_move on the {server.label} is {owner}'s, whose code a superuser would run: drop it")
            server.transaction("SELECT pg_advisory_xact_lock(hashtext('shard_move'))", "\\i seal.sql" if self.options.dry_run else sql)

    def copy_schema(self):
        """The copy appears sealed, in one transaction: nobody writes to it, or draws from it, before the switch."""
        where = parse_dsn(self.options.source)
        # Other users of this machine see a command's arguments.
        password = {"PGPASSWORD": where.pop("password")} if "password" in where else {}
        dump = subprocess.run(
            ["pg_dump", "--schema-only", "--no-publications", "--no-subscriptions", "--schema", self.shard.schema,
             "-d", make_dsn(**where)], stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **password}).stdout
        # Words to psql.
        dump = "".join(line for line in dump.splitlines(True) if not line.startswith(("\\restrict ", "\\unrestrict ")))
        if self.options.dry_run:
            dump = f"-- the {dump.count(';')} statements of pg_dump --schema-only --schema {self.shard.schema}"
        move, seal = f"{self.shard.name} {time.strftime('%Y-%m-%dT%H:%M:%S%z')}", str(uuid.uuid4())
        self.target.transaction(
            dump, "SET search_path = ''",
            ("SELECT shard_move.seal(%s, %s, %s, false)", self.shard.name, seal, "It is being moved to this server: try again soon."),
            ("INSERT INTO shard_move.sealed (shard, move, role, peer, seal) VALUES (%s, %s, 'target', %s, %s)",
             self.shard.name, f"{move} {seal}", self.source.identity, seal))
        if not self.options.dry_run:
            self.target.rows("RESET ALL")
        self.has_done("made", "the schema on the target, sealed")

    def publish(self):
        """A list of tables: a new one of the schema would stop the subscription, which had no place for its rows."""
        name = self.shard.publication
        if self.has_publication(name):
            return
        move = (self.sealed(self.target) or {"move": "the move"})["move"]
        tables = ", ".join(map(self.shard.qualified, self.shard.tables(self.source, "r")))
        self.source.do(f"CREATE PUBLICATION {self.shard.quoted(name)} FOR TABLE {tables}, "
                       f"shard_move.marker WHERE (move = {self.source.as_text('%s', move)})")
        self.has_done("made", f"publication {name} on the source")

    def check_publication(self):
        """One of another move would not bring this one's seal."""
        filters = self.source.names("SELECT rowfilter FROM pg_publication_tables WHERE pubname = %s AND schemaname = 'shard_move'",
                                    self.shard.publication)
        if not filters or self.sealed(self.target)["move"] not in filters[0]:
            raise Trouble(f"publication {self.shard.publication} is none of this move: undo, and begin again")

    def subscribe(self):
        """Who was interrupted here has left a slot, or tables that are not empty."""
        name = self.shard.publication
        if self.has_subscription(name):
            return
        self.drop_slot(name)
        tables = [self.shard.qualified(table) for table in self.shard.tables(self.source)]
        if self.options.dry_run or any(self.target.one(f"SELECT EXISTS (SELECT FROM {table})") for table in tables):
            self.target.transaction("SET LOCAL session_replication_role = replica", f"TRUNCATE {', '.join(tables)}")
        self.target.do("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name)
        self.target.do(f"CREATE SUBSCRIPTION {self.shard.quoted(name)} CONNECTION %s PUBLICATION {self.shard.quoted(name)}",
                       self.publisher)
        self.has_done("made", f"subscription {name} on the target, which copies the tables")

    def drop_slot(self, name):
        while self.slot(name):
            try:
                self.source.do("SELECT pg_drop_replication_slot(%s)", name)
            except errors.ObjectInUse:
                time.sleep(0.1)
            if self.options.dry_run:
                return

    def check_replication(self):
        self.check_publication()
        name = self.shard.publication
        if not self.has_subscription(name) or not self.slot(name):
            raise Trouble(f"subscription {name} or its slot is gone: undo, and begin again")
        if self.slot(name) == "lost":
            raise Trouble("the source has thrown away WAL that the copy needs (max_slot_wal_keep_size): undo, and begin again")

    def await_copy(self):
        """Until all tables are copied, and what is written arrives at once."""
        if self.options.dry_run:
            print(f"          wait until all tables are copied and the target is {self.options.max_lag} bytes behind, or less")
            return
        told = time.monotonic()
        while True:
            self.check_replication()
            ready, tables = self.target.rows(TABLES_COPIED, self.shard.publication)[0]
            lag = self.lag()
            if ready == tables and lag is not None and lag <= self.options.max_lag:
                break
            if time.monotonic() > told + 2:
                told = time.monotonic()
                self.say("copying", f"{ready} of {tables} tables are there, and {self.target.one(ROWS_IN_COPY)} rows of others; "
                         f"{'?' if lag is None else lag // 1024} kB behind; {self.worker_errors()} errors")
            time.sleep(0.02)
        self.say("copied", f"all tables; the target is {lag // 1024} kB behind")

    # --- The switch.

    def switch(self):
        if self.options.dry_run:
            self.show_switch()
            return
        begun = time.monotonic()
        if self.state() == "copying":
            self.check_replication()
            self.checks.definitions()
            begun = self.seal_source()
        try:
            self.check_replication()
            self.await_marker()
            self.compare_tables()
            self.hand_over_sequences()
            self.open_target()
        except BaseException:
            self.give_up()
            raise
        self.say("switched", f"the target is open, {1000 * (time.monotonic() - begun):.0f} ms after the seal was asked for")

    def seal_source(self):
        """While it waits for those who write, those who come later wait for it: so not for long, but several times."""
        seal = str(uuid.uuid4())
        move = self.sealed(self.target)["move"]
        notes = json.dumps({"leases": self.shard.leases(self.source)})
        for attempt in range(self.options.tries):
            begun = time.monotonic()
            try:
                self.source.transaction(
                    # An autovacuum that is waited for ends after this time, and of a deadlock this is the victim.
                    "SET LOCAL deadlock_timeout = '50ms'", f"SET LOCAL statement_timeout = '{self.options.lock_wait}ms'",
                    ("SELECT shard_move.seal(%s, %s, %s, true)", self.shard.name, seal, f"It moves to {self.address}: try there."),
                    # The commit waits for standbys as long as it takes.
                    "SET LOCAL statement_timeout = 0",
                    ("INSERT INTO shard_move.sealed (shard, move, role, peer, seal, notes) VALUES (%s, %s, 'source', %s, %s, %s)",
                     self.shard.name, move, self.target.identity, seal, notes),
                    ("INSERT INTO shard_move.marker VALUES (%s, %s, %s)", self.shard.name, move, seal))
            except (errors.QueryCanceled, errors.DeadlockDetected):
                self.say("waiting", "for who writes: " + self.who_writes())
                time.sleep(min(0.2 * (attempt + 1), 2))
                continue
            self.say("sealed", "the source refuses writes and draws")
            return begun
        raise Trouble("transactions on the source did not end; the copy goes on, switch later: " + self.who_writes())

    def who_writes(self):
        return "; ".join(self.source.names(WRITERS, self.shard.name)) or "nobody at this moment"

    def await_marker(self):
        """The row that the source's seal has written is the last one that the subscription brings."""
        seal = self.sealed(self.source)["seal"]
        end = time.monotonic() + self.options.patience
        while not self.target.one("SELECT EXISTS (SELECT FROM shard_move.marker WHERE seal = %s)", seal):
            if time.monotonic() > end:
                raise Trouble(f"the source's last write has not come within {self.options.patience} s; "
                              f"the subscription has met {self.worker_errors()} errors, see the target's log")
            time.sleep(0.002)
        self.say("caught up", "the target has every write of the source")

    def compare_tables(self):
        what = {"count": "count(*)", "rows": "(count(*), sum(hashtextextended(t::text, 0)))::text", "none": None}[self.options.compare]
        if not what:
            return
        for table in self.shard.tables(self.source, "r"):
            here, there = (server.one(f"SELECT {what} FROM ONLY {self.shard.qualified(table)} t")
                           for server in (self.source, self.target))
            if here != there:
                raise Trouble(f"{table} differs: {here} on the source, {there} on the target ({self.options.compare})")
        self.say("compared", f"the {'number of ' if self.options.compare == 'count' else ''}rows of each table")

    def hand_over_sequences(self):
        """Each goes on where the source's stands, which counts what was drawn for rows that were rolled back, too."""
        if self.replicates_sequences():
            self.replicate_sequences()
        leases = self.sealed(self.source)["notes"]["leases"]
        for sequence in self.shard.sequences(self.source):
            name = self.shard.in_seal(sequence)
            if sequence not in leases or not self.is_leased_by_target(sequence):
                self.raise_target(sequence, name)
            if sequence in leases:
                self.hand_over_lease(sequence, leases[sequence])

    def raise_target(self, sequence, name):
        if self.shard.is_generator(self.source, name):
            last = self.source.one(f"SELECT {self.shard.last_id(self.source)}", name)
            if last is not None:
                first = self.target.one(f"SELECT {self.shard.raise_generator(self.target)}", name, last)
                self.say("raised", f"{sequence}: no id of the target is below {first}")
        else:
            value, is_called = self.source.rows(f"SELECT last_value, is_called FROM {name}")[0]
            self.target.one("SELECT setval(%s, %s, %s)", name, value, is_called)
        here, there = (server.one(f"SELECT last_value FROM {name}") for server in (self.source, self.target))
        if there < here:
            raise Trouble(f"{sequence} stands at {there} on the target, below the source's {here}")

    def is_leased_by_target(self, sequence):
        return self.target.has("shardid_lease.shard_leases") and sequence in self.shard.leases(self.target)

    def hand_over_lease(self, sequence, lease):
        """The registry gives the target a window that begins after all that the source has drawn."""
        name = self.shard.in_seal(sequence)
        if self.shard.state_of_lease(self.source, sequence) != "released":
            self.source.rows("SELECT shardid_lease.release_shard(%s)", name)
            if self.shard.state_of_lease(self.source, sequence) != "released":
                raise Trouble(f"the registry has not taken back the lease of {sequence}")
        self.lease(self.target, sequence, lease)
        self.say("leased", f"{sequence}: shard {lease['shard']} of {lease['space']} is the target's")

    def lease(self, server, sequence, lease):
        server.rows("SELECT shardid_lease.lease_shard(%s, %s, %s, %s, %s)", lease["space"], lease["server"],
                    self.shard.in_seal(sequence), lease["shard"], lease["state"] == "permanent")

    def open_target(self):
        """With its commit the shard is the target's, and there is no way back but another move."""
        self.target.transaction(("SELECT shard_move.open(%s, %s)", self.shard.name, self.sealed(self.target)["seal"]),
                                ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name))

    def give_up(self):
        """The source is opened again where it is certain that the target is not open."""
        try:
            if self.state() == "sealed":
                self.unseal()
        except (Trouble, psycopg2.Error) as error:
            self.say("trouble", f"the source could not be opened again: {error}")

    def unseal(self):
        row = self.sealed(self.source)
        for sequence, lease in row["notes"]["leases"].items():
            if self.is_leased_by_target(sequence):
                self.target.do("SELECT shardid_lease.release_shard(%s)", self.shard.in_seal(sequence))
            if self.shard.state_of_lease(self.source, sequence) in ("released", "sealed"):
                self.lease(self.source, sequence, lease)
        self.source.transaction(("SELECT shard_move.open(%s, %s)", self.shard.name, row["seal"]),
                                ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name),
                                ("DELETE FROM shard_move.marker WHERE move = %s", row["move"]))
        self.has_done("unsealed", "the source takes writes again; the target is not open")

    def show_switch(self):
        print(f"          source: SELECT shard_move.seal('{self.shard.name}', ...) and a row into shard_move.marker, in one transaction")
        print("          wait until the target has that row")
        print(f"          compare the tables: {self.options.compare}")
        for sequence in self.shard.sequences(self.source):
            leased = sequence in self.shard.leases(self.source)
            print(f"          {sequence}: set the target's to where the source's stands{', release its lease, take it for the target' if leased else ''}")
        print(f"          target: SELECT shard_move.open('{self.shard.name}')")

    # --- Replication of sequences, from PostgreSQL 19 on.

    def replicates_sequences(self):
        """It takes all sequences of a database: so not where the source has others, nor where the target draws from
        those of the extension, which would be set to the source's values."""
        if self.options.sequences != "auto":
            return self.options.sequences == "replicate"
        return (min(self.source.version, self.target.version) >= 19 and
                not self.source.one(FOREIGN_SEQUENCES, self.shard.name) and not self.target.one(USED_OF_EXTENSION))

    def replicate_sequences(self):
        name = self.shard.quoted(self.shard.publication_of_sequences)
        if not self.has_publication(self.shard.publication_of_sequences):
            self.source.do(f"CREATE PUBLICATION {name} FOR ALL SEQUENCES")
        if self.has_subscription(self.shard.publication_of_sequences):
            self.target.do(f"ALTER SUBSCRIPTION {name} REFRESH SEQUENCES")
        else:
            self.target.do(f"CREATE SUBSCRIPTION {name} CONNECTION %s PUBLICATION {name}", self.publisher)
        end = time.monotonic() + self.options.patience
        while not self.target.one(SEQUENCES_REPLICATED, self.shard.publication_of_sequences):
            if time.monotonic() > end:
                raise Trouble(f"the sequences have not come within {self.options.patience} s: see the target's log, or use --sequences raise")
            time.sleep(0.002)
        self.say("replicated", "the sequences")

    # --- After the switch, or instead of it.

    def unsubscribe(self):
        for name in (self.shard.publication, self.shard.publication_of_sequences):
            self.drop_subscription(name)
            self.drop_slot(name)
            if self.has_publication(name):
                self.source.do(f"DROP PUBLICATION {self.shard.quoted(name)}")
                self.has_done("dropped", f"publication, subscription and slot {name}")

    def drop_subscription(self, name):
        if not self.has_subscription(name):
            return
        if not self.slot(name):
            # Who dropped it was interrupted.
            self.target.do(f"ALTER SUBSCRIPTION {self.shard.quoted(name)} DISABLE")
            self.target.do(f"ALTER SUBSCRIPTION {self.shard.quoted(name)} SET (slot_name = NONE)")
        self.target.do(f"DROP SUBSCRIPTION {self.shard.quoted(name)}")

    def patiently(self, server, *statements):
        """What waits for readers, and lets them wait: so not for long, but several times."""
        for _ in range(self.options.tries):
            try:
                server.transaction("SET LOCAL deadlock_timeout = '50ms'",
                                   f"SET LOCAL lock_timeout = '{self.options.lock_wait}ms'", *statements)
                return
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                self.say("waiting", f"for who uses the shard's tables on the {server.label}")
                time.sleep(0.5)
        raise Trouble(f"transactions that use the shard's tables on the {server.label} did not end: try again later")

    def tidy(self, server):
        """Where the shard is open, what its seal has left."""
        if not server.has("shard_move.opened") or self.stands(server) != "open":
            return
        for table in server.names(WITH_SEAL, self.shard.name):
            self.patiently(server, f'DROP TRIGGER "!sealed" ON {table}')
        server.do("DELETE FROM shard_move.opened WHERE shard = %s", self.shard.name)

    def drop_shard(self, server):
        """What this move has sealed there, and nothing else."""
        row = self.sealed(server)
        if not self.options.dry_run and (not row or row["role"] != server.label):
            raise Trouble(f"{self.shard.name} on the {server.label} is not sealed by this move")
        self.patiently(server, f"DROP SCHEMA {self.shard.schema} CASCADE",
                       ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name),
                       ("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name))
        self.has_done("dropped", f"{self.shard.name} on the {server.label}")

    def retire_source(self):
        """Only what was sealed ever since, while the target is open, and with nothing else that hangs on it."""
        if not self.options.dry_run:
            if self.state() != "switched":
                raise Trouble("the shard is not open on the target")
            loose = self.source.names(WITHOUT_SEAL, self.shard.name)
            if loose:
                raise Trouble(f"somebody has taken the seal off {', '.join(loose)} on the source, and may have written there: "
                              "compare with the target, and drop the schema yourself")
        hanging = self.checks.elsewhere()
        if hanging:
            raise Trouble("dropping the shard on the source would drop more:\n" + "\n".join(f"  - {each}" for each in hanging))
        self.drop_shard(self.source)
        self.target.do("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name)

    # --- The commands.

    def status(self):
        state = self.state()
        for server in (self.source, self.target):
            print(f"{server.label}    {self.stands(server)}; PostgreSQL {server.version}, {address_of(server.conninfo)}")
        if state in ("copying", "sealed"):
            lag = self.lag()
            print(f"copy      {'not streaming' if lag is None else f'{lag // 1024} kB behind'}; slot {self.slot(self.shard.publication)}; "
                  f"{self.worker_errors()} errors")
        print(f"state     {state}")

    def copy(self):
        if self.state() == "open":
            self.check()
            self.install()
            self.tidy(self.source)
            self.copy_schema()
        if self.options.dry_run or self.state() == "copying":
            self.publish()
            self.subscribe()
            self.await_copy()

    def copy_and_switch(self):
        if self.state() in ("open", "copying"):
            self.copy()
        if self.state() in ("copying", "sealed") or self.options.dry_run and self.state() == "open":
            self.switch()

    def finish(self):
        if self.state() in ("open", "copying", "sealed"):
            self.copy_and_switch()
        self.unsubscribe()
        if self.options.dry_run or self.state() == "switched":
            self.retire_source()
        self.tidy(self.target)

    def undo(self):
        state = self.state()
        if state in ("switched", "moved"):
            raise Trouble("the target is open, with rows that the source has not: finish, and move the shard back, "
                          "with --from and --to exchanged")
        if state == "sealed":
            self.unseal()
        self.unsubscribe()
        if state != "open":
            self.drop_shard(self.target)
        self.tidy(self.source)

    def run(self):
        if self.options.command != "status":
            for server in (self.source, self.target):
                server.lock(self.shard.name)
        {"status": self.status, "copy": self.copy, "switch": self.copy_and_switch, "finish": self.finish,
         "undo": self.undo}[self.options.command]()
        print(f"next      {NEXT[self.state()]}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("command", choices=("status", "copy", "switch", "finish", "undo"))
    add("shard", help="the schema")
    add("--from", dest="source", required=True, metavar="CONNINFO", help="where it is: as a superuser, not through a pooler")
    add("--to", dest="target", required=True, metavar="CONNINFO", help="where it shall be")
    add("--publisher", metavar="CONNINFO", help="how the target's server reaches the source (default: as --from)")
    add("--address", help="where late writers are sent (default: that of --to)")
    add("--dry-run", action="store_true", help="print the statements, and change nothing")
    add("--layout", help="of the generators, as next_id has it: \"epoch => '2020-01-01 00:00+00', shard_bits => 10\"")
    add("--compare", choices=("rows", "count", "none"), default="count",
        help="of the tables, in the pause, which it makes longer (default: count)")
    add("--sequences", choices=("auto", "replicate", "raise"), default="auto",
        help="replicate: by PostgreSQL 19 (default: where that has both, and the source no other sequences)")
    add("--max-lag", type=int, default=1 << 20, metavar="BYTES", help="seal when the target is no further behind (1 MB)")
    add("--lock-wait", type=int, default=500, metavar="MS", help="how long one try to seal keeps writers waiting (500)")
    add("--tries", type=int, default=60, help="to seal (60)")
    add("--patience", type=float, default=10, metavar="S", help="how long the pause may last before the source is opened again (10)")
    return parser.parse_args()


def interrupt(*_):
    Interruption.has_come = True
    raise KeyboardInterrupt


def main():
    options = parse()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        Move(options).run()
        return 0
    except (Trouble, psycopg2.Error, subprocess.CalledProcessError) as error:
        print(f"stopped   {error}".rstrip(), file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped   interrupted", file=sys.stderr)
    print("          status says where the move stands; run the same command again to go on", file=sys.stderr)
    return 1


sys.exit(main())
