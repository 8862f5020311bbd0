"""The seal of the source: how it gets the locks of all tables while transactions write to them."""
import json
import random
import re
import time
import uuid

from psycopg2 import errors

from copying import Copying
from server import Trouble

# Not autovacuum, which a try cancels. The second value: at least this many milliseconds old.
WRITERS = """
SELECT DISTINCT CASE WHEN l.pid IS NULL THEN 'a prepared transaction, see pg_prepared_xacts'
    ELSE format('pid %%s (%%s) for %%s: %%s', l.pid, a.usename, clock_timestamp() - a.xact_start, left(a.query, 60)) END,
    a.xact_start
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE n.nspname = %s AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.granted AND c.relkind IN ('r', 'p', 'S') AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock') AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
    AND (l.pid IS NULL OR a.xact_start <= clock_timestamp() - %s * interval '1 ms')
ORDER BY a.xact_start NULLS FIRST LIMIT 3"""
UNGUARDED = """
SELECT t::text FROM shard_move.tables_of(%s) t
WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND tgname = '!sealed' AND tgenabled = 'A')"""
WAITED_FOR = re.compile("(?:LOCK TABLE|ALTER SEQUENCE|TRUNCATE ON) (.+) (?:IN SHARE|RENAME TO|FOR EACH)")


class Sealing(Copying):
    def seal_source(self):
        """While the seal waits for writers, later writers wait for it: so it waits briefly, but several times. The
        first try locks table after table. If writers lock them in another order, that is a deadlock. So from the second
        try on the tables are guarded."""
        seal = str(uuid.uuid4())
        move = self.sealed(self.target)["move"]
        for attempt in range(self.options.tries):
            begun = time.monotonic()
            lock = "the end of transactions"
            try:
                if not attempt or self.can_be_guarded():
                    self.try_to_seal(seal, move, attempt > 0)
                    self.say("sealed", "the source refuses writes and draws")
                    return begun
            except (errors.QueryCanceled, errors.DeadlockDetected) as error:
                if found := WAITED_FOR.search(error.diag.context or ""):
                    lock = found[1]
            self.say("waiting", f"for {lock}: " + self.who_writes())
            time.sleep(random.uniform(0.5, 1) * min(0.2 * attempt, 2))
        raise Trouble(f"writers did not come to an end on the source, waiting for {lock}; the copy goes on, switch later: "
                      + self.who_writes())

    def try_to_seal(self, seal, move, is_guarded):
        notes = json.dumps({"leases": self.shard.leases(self.source)})
        self.source.transaction(
            *self.briefly(),
            ("SELECT shard_move.seal(%s, %s, %s, true, %s)", self.shard.name, seal, f"It moves to {self.address}: try there.", is_guarded),
            # The commit waits for standbys without a limit.
            "SET LOCAL statement_timeout = 0",
            ("INSERT INTO shard_move.sealed (shard, move, role, peer, seal, notes) VALUES (%s, %s, 'source', %s, %s, %s)",
             self.shard.name, move, self.target.identity, seal, notes),
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
