"""What a subscription does that does not progress, as far as its server tells."""
import re
import time

import psycopg2

WORKERS = """
SELECT CASE WHEN NOT subenabled THEN 'the subscription is disabled'
    WHEN w.pid IS NULL THEN 'the subscription has no worker (max_logical_replication_workers, max_worker_processes)'
    ELSE format('worker %%s%%s waits for %%s, and received its last message at %%s', w.pid, ' of table ' || w.relid::regclass,
                coalesce(a.wait_event, 'nothing'), coalesce(w.last_msg_receipt_time::text, 'no time')) END
FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
    LEFT JOIN pg_stat_subscription w ON w.subid = s.oid AND w.pid IS NOT NULL LEFT JOIN pg_stat_activity a ON a.pid = w.pid
WHERE s.subname = %s"""
LOG = """
SELECT pg_read_binary_file(f, greatest((pg_stat_file(f)).size - 65536, 0), 65536) FROM pg_current_logfile() f WHERE f IS NOT NULL"""
ERROR = re.compile(r"\b(?:ERROR|FATAL)\b|out of (?:logical replication|background) worker slots")


class Stall:
    def __init__(self, target, subscription, patience):
        self.target, self.subscription, self.patience = target, subscription, patience
        self.before, self.since = None, time.monotonic()

    def why(self, progress):
        """What the workers do, if the progress has been the same for long."""
        if progress != self.before:
            self.before, self.since = progress, time.monotonic()
        seconds = time.monotonic() - self.since
        if seconds < self.patience:
            return None
        return f"no progress for {seconds:.0f} s: " + "; ".join(self.target.names(WORKERS, self.subscription))


def last_error(server):
    """The last error in the server's log, of any session, if the server collects its log."""
    try:
        tail = server.one(LOG)
    except psycopg2.Error:
        return ""
    errors = [line for line in bytes(tail or b"").decode(errors="replace").splitlines() if ERROR.search(line)]
    return f"; the last one in the target's log: {errors[-1]}" if errors else ""
