"""The mover's connection to one of the two servers."""
import re
import select
import time

import psycopg2
from psycopg2 import errors, extensions

# The last ones are those that change how the servers write a definition as text.
SETTINGS = ("-c search_path= -c lock_timeout=0 -c statement_timeout=0 -c synchronous_commit=on -c quote_all_identifiers=off "
            "-c standard_conforming_strings=on -c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC")


class Trouble(Exception):
    """A problem that a DBA must solve. The servers are in the state after the step before."""


def words_of(error):
    """What went wrong: of a server's error one line without its context, of libpq's one without its guesses."""
    if not isinstance(error, psycopg2.Error):
        return str(error)
    if error.diag.message_primary:
        parts = error.diag.message_primary, error.diag.message_detail, error.diag.message_hint
        return ". ".join(part.rstrip(".") for part in parts if part)
    return "; ".join(line for line in str(error).splitlines() if line and not line.startswith("\t"))


class Interruption:
    """A signal has requested the end: the running statement is cancelled, and rows() raises KeyboardInterrupt."""
    is_asked_for = False

    @classmethod
    def ask(cls, *_):
        cls.is_asked_for = True

    @classmethod
    def obey(cls):
        if cls.is_asked_for:
            cls.is_asked_for = False
            raise KeyboardInterrupt


def wait(connection):
    """As psycopg2's wait_select, but a signal cancels the statement."""
    is_cancelled = False
    while (state := connection.poll()) != extensions.POLL_OK:
        files = [connection.fileno()]
        select.select(files if state == extensions.POLL_READ else [], files if state == extensions.POLL_WRITE else [], [], 0.1)
        if Interruption.is_asked_for and not is_cancelled:
            connection.cancel()
            is_cancelled = True


extensions.set_wait_callback(wait)


class Server:
    """One session for everything on a server. It holds the lock that excludes another mover. The session of a killed
    mover ends, with its statement, before the next mover gets the lock."""

    def __init__(self, label, conninfo, is_dry_run):
        self.label, self.conninfo, self.is_dry_run = label, conninfo, is_dry_run
        dsn = extensions.make_dsn(conninfo, application_name="move_shard", options=SETTINGS)
        self.session = psycopg2.connect(dsn)
        self.session.autocommit = True
        self.version = self.session.server_version // 10000
        self.identity = self.one("SELECT system_identifier || '/' || current_database() FROM pg_control_system()")

    def query(self, sql, *values):
        """Names of columns, and rows."""
        if self.session.closed:
            raise Trouble(f"the connection to the {self.label} is lost")
        with self.session.cursor() as cursor:
            try:
                cursor.execute(sql, values or None)
            except errors.QueryCanceled:
                Interruption.obey()
                raise
            except psycopg2.Error as error:
                if self.session.closed:
                    raise Trouble(f"the connection to the {self.label} is lost: {words_of(error)}") from error
                raise
            Interruption.obey()
            return ([column.name for column in cursor.description], cursor.fetchall()) if cursor.description else ([], [])

    def rows(self, sql, *values):
        return self.query(sql, *values)[1]

    def records(self, sql, *values):
        columns, rows = self.query(sql, *values)
        return [dict(zip(columns, row)) for row in rows]

    def one(self, sql, *values):
        rows = self.rows(sql, *values)
        return rows[0][0] if rows else None

    def names(self, sql, *values):
        return [row[0] for row in self.rows(sql, *values)]

    def do(self, sql, *values):
        """Runs what changes the server; a dry run only prints it."""
        if self.is_dry_run:
            text = re.sub(r"password=('(?:[^'\\]|\\.|'')*'|[^\s']*)", "password=...", self.as_text(sql, *values))
            print(f"          {self.label}: {text}")
        else:
            self.rows(sql, *values)

    def as_text(self, sql, *values):
        with self.session.cursor() as cursor:
            return cursor.mogrify(sql, values or None).decode()

    def transaction(self, *statements):
        """Runs statements, each SQL or (SQL, values...), in one transaction."""
        statements = [[each] if isinstance(each, str) else each for each in statements]
        if len(statements) > 1:
            statements = [["BEGIN"], *statements, ["COMMIT"]]
        try:
            for statement in statements:
                self.do(*statement)
        except BaseException:
            if not self.session.closed:
                self.rows("ROLLBACK")
            raise

    def lock(self, shard, patience=30):
        end = time.monotonic() + patience
        while not self.one("SELECT pg_try_advisory_lock(hashtext('shard_move'), hashtext(%s))", shard):
            if time.monotonic() > end:
                raise Trouble(f"another mover of {shard} is at work on the {self.label}, or a statement of one that "
                              "was killed still runs there (application_name move_shard)")
            time.sleep(0.02)

    def has(self, relation):
        return self.one("SELECT to_regclass(%s) IS NOT NULL", relation)

    def has_schema(self, name):
        return self.one("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)", name)

    def extension_schema(self, extension="shardid"):
        return self.one("SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
                        "WHERE extname = %s", extension)

    def clock(self):
        return float(self.one("SELECT extract(epoch FROM clock_timestamp())"))
