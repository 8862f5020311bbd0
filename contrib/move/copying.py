"""The copy on the target: its schema, its tables, and the subscription that updates them until the switch."""
import os
import subprocess
import time
import uuid

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import make_dsn, parse_dsn

from server import Trouble, words_of
from situation import Situation
from stall import Stall, last_error

TABLES_COPIED = """
SELECT count(*) FILTER (WHERE srsubstate = 'r'), count(*)
FROM pg_subscription_rel JOIN pg_subscription s ON s.oid = srsubid WHERE subname = %s"""
CONFIRMED = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s"
# A slot begins when all of them have ended.
TRANSACTIONS = """
SELECT format('pid %s (%s) has been in a transaction on the source for %s', pid, usename,
              date_trunc('second', clock_timestamp() - xact_start))
FROM pg_stat_activity WHERE xact_start < clock_timestamp() - interval '1 s' AND backend_xid IS NOT NULL
UNION ALL
SELECT format('prepared transaction %L of the source is %s old', gid, date_trunc('second', now() - prepared))
FROM pg_prepared_xacts"""
ROWS_IN_COPY = "SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy WHERE datname = current_database()"


class Copying(Situation):
    # --- The copy.

    def check(self):
        for note in self.checks.notes():
            self.say("note", note)
        if found := self.checks.all():
            raise Trouble("the shard cannot be moved so:\n" + "\n".join(f"  - {each}" for each in found))
        self.say("checked", f"{len(self.shard.tables(self.source))} tables, {len(self.shard.sequences(self.source))} sequences")

    def install(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seal.sql"), encoding="utf-8") as file:
            sql = file.read()
        for server in (self.source, self.target):
            server.transaction("SELECT pg_advisory_xact_lock(hashtext('shard_move'))", "\\i seal.sql" if self.options.dry_run else sql)

    def copy_schema(self):
        """Creates the copy sealed, in one transaction: no session writes to it, or draws from it, before the switch."""
        where = parse_dsn(self.options.source)
        # Not in the arguments, which other users of this machine can see.
        password = {"PGPASSWORD": where.pop("password")} if "password" in where else {}
        dump = subprocess.run(
            ["pg_dump", "--schema-only", "--no-publications", "--no-subscriptions", "--schema", self.shard.schema,
             "-d", make_dsn(**where)], stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **password}).stdout
        # psql's commands, and a setting of 17 that an older server does not have.
        left_out = ("\\restrict ", "\\unrestrict ") + (("SET transaction_timeout ",) if self.target.version < 17 else ())
        dump = "".join(line for line in dump.splitlines(True) if not line.startswith(left_out))
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
        """A list of tables: if it had the whole schema, a new table, which the target lacks, would stop it."""
        name = self.shard.publication
        if self.has_publication(name):
            return
        move = (self.sealed(self.target) or {"move": "the move"})["move"]
        tables = ", ".join(f"ONLY {self.shard.qualified(table)}" for table in self.shard.tables(self.source, "r"))
        self.source.do(f"CREATE PUBLICATION {self.shard.quoted(name)} FOR TABLE {tables}, "
                       f"shard_move.marker WHERE (move = {self.source.as_text('%s', move)})")
        self.has_done("made", f"publication {name} on the source")

    def check_publication(self):
        """Checks the publication: that of another move would not send this one's seal."""
        filters = self.source.names("SELECT rowfilter FROM pg_publication_tables WHERE pubname = %s AND schemaname = 'shard_move'",
                                    self.shard.publication)
        if not filters or self.sealed(self.target)["move"] not in filters[0]:
            raise Trouble(f"publication {self.shard.publication} is none of this move: undo, and begin again")

    def subscribe(self):
        """Removes what an interrupted run has left: a slot, or tables that are not empty."""
        name = self.shard.publication
        if self.has_subscription(name):
            return
        self.drop_slot(name)
        tables = [self.shard.qualified(table) for table in self.shard.tables(self.source)]
        if self.options.dry_run or any(self.target.one(f"SELECT EXISTS (SELECT FROM {table})") for table in tables):
            self.target.transaction("SET LOCAL session_replication_role = replica", f"TRUNCATE {', '.join(tables)}")
        self.target.do("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name)
        for each in self.source.names(TRANSACTIONS):
            self.say("waiting", f"{each}: the copy begins after its end")
        self.target.do(f"CREATE SUBSCRIPTION {self.shard.quoted(name)} CONNECTION %s PUBLICATION {self.shard.quoted(name)} "
                       f"WITH (slot_name = {self.slot_of(name)})", self.publisher)
        self.has_done("made", f"subscription {name} on the target, which copies the tables")

    def drop_slot(self, name):
        while self.slot(name):
            try:
                self.source.do("SELECT pg_drop_replication_slot(%s)", self.slot_of(name))
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
        """Waits until all tables are copied, and new rows arrive at once, also after what can take long."""
        if self.options.dry_run:
            print(f"          wait until all tables are copied and the target is {self.options.max_lag} bytes behind, or less")
            return
        self.await_lag()
        self.prepare_queries()
        self.say("copied", f"all tables; the target is {self.await_lag() // 1024} kB behind")

    def await_lag(self):
        told = time.monotonic()
        stall = Stall(self.target, self.shard.publication, self.options.report_after)
        while True:
            self.check_replication()
            ready, tables = self.target.rows(TABLES_COPIED, self.shard.publication)[0]
            lag = self.lag()
            if ready == tables and lag is not None and lag <= self.options.max_lag:
                return lag
            if time.monotonic() > told + 2:
                told = time.monotonic()
                rows = self.target.one(ROWS_IN_COPY)
                self.say("copying", f"{ready} of {tables} tables are there, and {rows} rows of others; "
                         f"{self.lag_as_text(lag)}; {self.worker_errors()} errors")
                if why := stall.why((ready, rows, self.source.one(CONFIRMED, self.slot_of(self.shard.publication)))):
                    self.say("stuck", f"{'; '.join([why, *self.source.names(TRANSACTIONS)])}; "
                             f"{self.worker_errors()} errors{last_error(self.target)}")
            time.sleep(0.02)

    def prepare_queries(self):
        """After the switch they need statistics, and the rows of materialized views. Functions in them may fail here."""
        views = self.source.names("SELECT matviewname FROM pg_matviews WHERE schemaname = %s AND ispopulated", self.shard.name)
        for sql in (f"ANALYZE {', '.join(map(self.shard.qualified, self.shard.tables(self.target)))}",
                    *(f"REFRESH MATERIALIZED VIEW {self.shard.qualified(view)}" for view in self.shard.tables(self.target, "m") if view in views)):
            try:
                self.target.do(sql)
            except psycopg2.Error as error:
                self.say("note", f"{words_of(error)}: mend it, and run on the target: {sql}")

    def unsubscribe(self):
        name = self.shard.publication
        self.drop_subscription(name)
        self.drop_slot(name)
        if self.has_publication(name):
            self.source.do(f"DROP PUBLICATION {self.shard.quoted(name)}")
            self.has_done("dropped", f"publication, subscription and slot {name}")

    def drop_subscription(self, name):
        if not self.has_subscription(name):
            return
        if not self.slot(name):
            # An earlier run was interrupted while it dropped the subscription.
            self.target.do(f"ALTER SUBSCRIPTION {self.shard.quoted(name)} DISABLE")
            self.target.do(f"ALTER SUBSCRIPTION {self.shard.quoted(name)} SET (slot_name = NONE)")
        self.target.do(f"DROP SUBSCRIPTION {self.shard.quoted(name)}")
