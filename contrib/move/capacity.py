"""What a subscription needs free: without it, it waits for ever, and only the server's log says so."""
# PostgreSQL's own processes do not count as worker processes, and parallel workers end soon.
PROCESSES = """
SELECT current_setting('max_worker_processes')::int - count(*) FROM pg_stat_activity
WHERE backend_type NOT IN ('client backend', 'autovacuum launcher', 'autovacuum worker', 'background writer', 'checkpointer',
    'walwriter', 'walsender', 'walreceiver', 'startup', 'archiver', 'parallel worker', 'walsummarizer', 'slotsync worker', 'io worker')"""
ORIGINS = """
SELECT coalesce(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))::int - count(*)
FROM pg_replication_origin_status"""
# One for the subscription, and one that copies tables.
TARGET = (
    ("subscription workers", "max_logical_replication_workers", 2, """
SELECT current_setting('max_logical_replication_workers')::int - count(*) FROM pg_subscription WHERE subenabled"""),
    ("workers that copy a table", "max_sync_workers_per_subscription", 1,
     "SELECT current_setting('max_sync_workers_per_subscription')::int"),
    ("worker processes", "max_worker_processes", 2, PROCESSES),
    ("replication origins", "max_replication_slots; max_active_replication_origins from PostgreSQL 18 on", 2, ORIGINS))
SOURCE = (
    ("replication slots", "max_replication_slots", 3,
     "SELECT current_setting('max_replication_slots')::int - count(*) FROM pg_replication_slots"),
    ("WAL senders", "max_wal_senders", 2, "SELECT current_setting('max_wal_senders')::int - count(*) FROM pg_stat_replication"))


def lacking(server, needs):
    for what, setting, needed, sql in needs:
        free = server.one(sql)
        if free < needed:
            yield f"the {server.label} has {free} free {what}, and {needed} are needed ({setting})"
