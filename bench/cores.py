#!/usr/bin/env python3
"""Ids and rows per second of one session, and of one, two and four times as many as there are cores: with one generator,
and with one for each session; and what the sessions wait for, in samples of pg_stat_activity. All insert at the end of one
index, except with scatter_bits: what then is faster was waiting for the index, not for the generator."""
import collections
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from common import Contender, create_databases, measure, options, psql, summary, table, tps, write_report

MOST = 4 * os.cpu_count()
SESSIONS = {"1 session": 1, **{f"{n * os.cpu_count()} sessions": n * os.cpu_count() for n in (1, 2, 4)}}
CALL = "SELECT count(next_id('{}'::regclass, shard_bits => 3, sequence_bits => 20)) FROM generate_series(1, 1000)"
INSERT = "INSERT INTO {} (n) SELECT generate_series(1, 100)"
# The statement, and the default of the tables into which it inserts.
CONTENDERS = {
    "call, one generator": (CALL.format("roomy"), None),
    "call, generators": (CALL.format("roomy_:client_id"), None),
    "row, one table, `nextval`": (INSERT.format("by_nextval"), "nextval('plain')"),
    "row, one table": (INSERT.format("by_next_id"), "next_id()"),
    "row, one table, `scatter_bits`": (INSERT.format("scattered"), "scatter_bits(next_id(), 7)"),
    "row, tables, one generator": (INSERT.format("by_one_:client_id"), "next_id()"),
    "row, tables, generators": (INSERT.format("by_own_:client_id"), "next_id('own_{}'::regclass)"),
}
WAITS = """SELECT coalesce(wait_event, 'nothing') FROM pg_stat_activity
WHERE application_name = 'pgbench' AND state = 'active'"""


def create_tables(statement, default):
    """Empty ones, and a checkpoint."""
    names = {statement.split()[2].replace(":client_id", str(n)): n for n in range(MOST)}
    psql("SET client_min_messages = warning;" + "".join(
        f"DROP TABLE IF EXISTS {name};\nCREATE TABLE {name} (id bigint PRIMARY KEY DEFAULT {default.format(n)}, n int);\n"
        for name, n in names.items()) + "CHECKPOINT")


def thousands(waits, sessions, contender, seconds):
    """Ids per second. Counts in waits how often the most sessions were seen waiting for what."""
    if contender.options:
        create_tables(contender.call, contender.options)
    with ThreadPoolExecutor() as pool:
        rate = pool.submit(tps, contender.call, seconds, sessions, mode="simple")
        while not rate.done():
            waits[contender.label].update(psql(WAITS).split() if sessions == MOST else [])
            time.sleep(0.2)
    return rate.result() * (100 if contender.options else 1000) / 1000


def row(results, name, waits):
    shares = ", ".join(f"{event} {count / waits.total():.0%}" for event, count in waits.most_common(2))
    return [name, *(f"{results.median(name, heading):,.0f}" for heading in SESSIONS), shares]


def main():
    arguments = options(__doc__, rounds=3, seconds=3)
    create_databases()
    psql("".join(f"CREATE SEQUENCE {name}_{n};\n" for name in ("roomy", "own") for n in range(MOST)))
    waits = collections.defaultdict(collections.Counter)
    contenders = {name: Contender(name, statement, SESSIONS, options=default) for name, (statement, default) in CONTENDERS.items()}
    columns = {heading: partial(thousands, waits, sessions) for heading, sessions in SESSIONS.items()}
    results = measure(contenders, columns, arguments)
    lines = table(["thousands per second", *SESSIONS, f"{MOST} sessions wait for"], [row(results, name, waits[name]) for name in CONTENDERS])
    lines += ["", "Call: 1,000 ids per statement, 20 bits of sequence, so that none waits for the next millisecond. Row: 100 rows per "
              "transaction, in the default layout. Tables, generators: one for each session. Waits: the two most frequent ones of active "
              f"sessions. {summary(results, SESSIONS, 'bench-cores', arguments, 'synchronous_commit off')}"]
    write_report(f"{arguments.out}/cores.md", lines)


main()
