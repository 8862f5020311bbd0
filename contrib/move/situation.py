"""The state of a move, as found on the two servers."""
import time

from psycopg2.extensions import make_dsn, parse_dsn

from checks import Checks
from server import Server, Trouble
from shard import Shard

# The shard's state on the two servers, and what that means.
STATES = {
    ("open", "no shard"): "open",
    ("open", "sealed"): "copying",
    ("sealed", "sealed"): "sealed",
    ("sealed", "open"): "switched",
    ("no shard", "open"): "moved",
}
LAG = """
SELECT greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
FROM pg_stat_replication JOIN pg_replication_slots ON active_pid = pid WHERE slot_name = %s AND state = 'streaming'"""
# What another role has made there would run as the mover.
OWNER_IS_SUPERUSER = "SELECT rolsuper FROM pg_namespace JOIN pg_roles r ON r.oid = nspowner WHERE nspname = 'shard_move'"
# PostgreSQL 19 has other columns.
WORKER_ERRORS = """
SELECT sum(value::bigint)::bigint FROM pg_stat_subscription_stats s, jsonb_each_text(to_jsonb(s))
WHERE subname = %s AND right(key, 12) = '_error_count'"""


def address_of(conninfo):
    where = parse_dsn(conninfo)
    return " ".join(f"{key}={where[key]}" for key in ("host", "port", "dbname") if key in where)


def publisher_of(options):
    """The subscription's connection; on the source its application_name is the subscription's name."""
    return make_dsn(**{key: value for key, value in parse_dsn(options.publisher or options.source).items() if key != "application_name"})


class Situation:
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

    # --- The state.

    def sealed(self, server):
        """The server's row of the move, if the shard is sealed there."""
        if server.one(OWNER_IS_SUPERUSER) is False:
            raise Trouble(f'schema "shard_move" on the {server.label} does not belong to a superuser: drop it')
        if not server.has("shard_move.sealed"):
            return None
        return next(iter(server.records("SELECT * FROM shard_move.sealed WHERE shard = %s", self.shard.name)), None)

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
        """Checks that this is the running move."""
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

    def slot_of(self, name):
        return self.shard.slot_of(name, self.source.one("SELECT current_database()"))

    def slot(self, name):
        """The wal_status of the publication's slot, or None."""
        return self.source.one("SELECT coalesce(wal_status, 'reserved') FROM pg_replication_slots "
                               "WHERE slot_name = %s AND database = current_database()", self.slot_of(name))

    def lag(self):
        """Bytes of the source's WAL that the target has not applied; None if it is not connected."""
        return self.source.one(LAG, self.slot_of(self.shard.publication))

    @staticmethod
    def lag_as_text(lag):
        return "not streaming, the target's log says why" if lag is None else f"{lag // 1024} kB behind"

    def worker_errors(self):
        return self.target.one(WORKER_ERRORS, self.shard.publication) or 0
