"""The seal of the source: how it gets the locks of all tables while transactions write to them."""
import json
import random
import time
import uuid

from psycopg2 import errors

from copying import Copying
from server import Trouble

# Not autovacuum, which a try cancels. The second value: at least this many milliseconds old.
WRITERS = """
SELECT DISTINCT CASE WHEN l.pid IS NULL THEN format('prepared transaction %%L', p.gid)
    ELSE format('pid %%s (%%s)', l.pid, a.usename) END
    || format(' for %%s', statement_timestamp() - since) || coalesce(': ' || left(a.query, 60), ''), since
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_locks x ON l.pid IS NULL AND x.pid IS NULL AND x.locktype = 'transactionid'
        AND x.virtualtransaction = l.virtualtransaction
    LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid,
    LATERAL (SELECT coalesce(a.xact_start, p.prepared)) AS s (since)
WHERE n.nspname = %s AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.granted AND c.relkind IN ('r', 'p', 'S') AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock') AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
    AND since <= statement_timestamp() - %s * interval '1 ms'
ORDER BY since LIMIT 3"""
UNGUARDED = """
SELECT t::text FROM shard_move.tables_of(%s) t
WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND tgfoid = 'shard_move.admit'::regproc)"""


class Sealing(Copying):
    def seal_source(self):
        """Before each try all tables are guarded, so writers that have begun come to their end. New ones are refused
        meanwhile: so each try is brief."""
        seal = str(uuid.uuid4())
        move = self.sealed(self.target)["move"]
        for attempt in range(self.options.tries):
            begun = time.monotonic()
            try:
                if self.can_be_guarded():
                    self.try_to_seal(seal, move)
                    self.say("sealed", "the source refuses writes and draws")
                    return begun
            except (errors.QueryCanceled, errors.DeadlockDetected):
                pass
            self.say("waiting", "for " + self.who_writes())
            time.sleep(random.uniform(0.5, 1) * min(0.2 * attempt, 2))
        raise Trouble(f"writers did not come to an end on the source; the copy goes on, switch later: {self.who_writes()}")

    def try_to_seal(self, seal, move):
        self.source.transaction(
            *self.briefly(),
            ("SELECT shard_move.seal(%s, %s, %s, true)", self.shard.name, seal,
             f"It moves to {self.address}: try there."),
            # The commit waits for standbys without a limit.
            "SET LOCAL statement_timeout = 0",
            ("INSERT INTO shard_move.sealed (shard, move, role, peer, seal, notes) "
             "VALUES (%s, %s, 'source', %s, %s, %s)", self.shard.name, move, self.target.identity, seal,
             json.dumps({"leases": self.shard.leases(self.source)})),
            ("INSERT INTO shard_move.marker VALUES (%s, %s, %s)", self.shard.name, move, seal))

    def briefly(self):
        """After the first time a blocking autovacuum is cancelled, and a deadlock ends with this as its victim."""
        return "SET LOCAL deadlock_timeout = '50ms'", f"SET LOCAL statement_timeout = '{self.options.lock_wait}ms'"

    def can_be_guarded(self):
        """Guards all tables, each in a transaction of its own, which holds no other lock while it waits: no deadlock. A
        transaction that is older than a try would not end in time, and new ones would be refused in vain."""
        if self.source.one(WRITERS, self.shard.name, self.options.lock_wait):
            return False
        for table in self.source.names(UNGUARDED, self.shard.name):
            self.source.transaction(*self.briefly(), ("SELECT shard_move.guard(%s, 'admit()', true)", table))
        return True

    def who_writes(self):
        return "; ".join(self.source.names(WRITERS, self.shard.name, 0)) or "nobody at this moment"
