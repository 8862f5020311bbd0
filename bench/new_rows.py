#!/usr/bin/env python3
"""Readers of new rows, all of the same table at the same time, and what settled_below and next_rows take.

100 writers insert a row each per transaction, which stays open for 1 to 400 ms and is rolled back in one of 100 cases.
After a third of the time another transaction begins, which has a snapshot and a transaction id and generates no id; it
is idle until the end. A row's delay is the time from its commit until a reader has it.
"""
import itertools
import re
import statistics
import subprocess
import threading
import time

import psycopg2

from common import SHOP, conditions, create_databases, milliseconds, options, psql, table, write_report

WRITERS = 100
POLL_S, GAP_S = 0.02, 1
CALLS, RUNS = 1000, 25
SIZES = (0, 10, 1000)
TABLE = """
CREATE SEQUENCE g CACHE 2;
CREATE TABLE rows (id bigint PRIMARY KEY DEFAULT next_id('g'::regclass), n bigserial,
                   xid xid8 DEFAULT pg_current_xact_id());
CREATE INDEX ON rows (n);
CREATE INDEX ON rows (xid);
SELECT pg_create_logical_replication_slot('decoded', 'test_decoding');
SELECT next_id('g'::regclass); -- settled_below knows a bound
CREATE EXTENSION shardid_readers;
SELECT shardid_readers.add_reader('r', 'rows');
"""
PGQ = """
CREATE EXTENSION pgq;
SELECT pgq.create_queue('rows'), pgq.register_consumer('rows', 'r');
SELECT pgq.set_queue_config('rows', 'ticker_max_lag', '0'), pgq.set_queue_config('rows', 'ticker_idle_period', '0');
CREATE TRIGGER queued AFTER INSERT ON rows FOR EACH ROW EXECUTE FUNCTION pgq.jsontriga('rows');
"""
WRITER = """
\\set ms random(1, 400)
\\set is_undone random(1, 100)
BEGIN;
INSERT INTO rows DEFAULT VALUES;
\\sleep :ms ms
\\if :is_undone = 1
ROLLBACK;
\\else
COMMIT;
\\endif
"""
IDLE = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rows WHERE id = 0; SELECT pg_current_xact_id();"


def connect():
    connection = psycopg2.connect(dbname=SHOP)
    connection.autocommit = True
    return connection.cursor()


def found(cursor, query, *values):
    cursor.execute(query, values)
    return cursor.fetchall()


# Each reader: a generator of lists of ids, one for each time that it asks.

def by_last_id():
    cursor, last = connect(), 0
    while True:
        rows = found(cursor, "SELECT id FROM rows WHERE id > %s ORDER BY id", last)
        last = rows[-1][0] if rows else last
        yield [row[0] for row in rows]


def by_settled_below():
    """Four statements, in a transaction: where the last one ended, the bound, the rows, and where this one ends."""
    cursor = connect()
    cursor.execute("DROP TABLE IF EXISTS reader; CREATE TABLE reader AS SELECT settled_below('g') AS below")
    while True:
        cursor.execute("BEGIN")
        begin = found(cursor, "SELECT below FROM reader FOR UPDATE")[0][0]
        end = found(cursor, "SELECT settled_below('g')")[0][0]
        rows = found(cursor, "SELECT id FROM rows WHERE id >= %s AND id < %s ORDER BY id", begin, end)
        cursor.execute("UPDATE reader SET below = greatest(below, %s)", (end,))
        cursor.execute("COMMIT")
        yield [row[0] for row in rows]


def by_next_rows():
    cursor = connect()
    while True:
        yield [row[0] for row in found(cursor, "SELECT id FROM shardid_readers.next_rows('r', NULL::rows, 1000000)")]


def by_xmin():
    cursor, begin = connect(), 0
    while True:
        end, ids = found(cursor, """SELECT oldest::text, array(SELECT id FROM rows
            WHERE xid >= %s::text::xid8 AND xid < oldest ORDER BY rows.xid, id)
            FROM pg_snapshot_xmin(pg_current_snapshot()) oldest""", begin)[0]
        begin = end
        yield ids


def by_two_snapshots():
    """The rows that this snapshot sees and the one before did not."""
    cursor, before = connect(), "1:1:"
    while True:
        before, ids = found(cursor, """SELECT now::text, array(SELECT id FROM rows
            WHERE xid >= pg_snapshot_xmin(before) AND xid < pg_snapshot_xmax(now)
            AND pg_visible_in_snapshot(xid, now) AND NOT pg_visible_in_snapshot(xid, before) ORDER BY id)
            FROM pg_current_snapshot() now, CAST(%s AS pg_snapshot) before""", before)[0]
        yield ids


def by_pgq():
    """With a tick, which is a snapshot, each time that it asks: its daemon makes one each second or seldom."""
    cursor = connect()
    while True:
        found(cursor, "SELECT pgq.ticker('rows')")
        batch, events = found(cursor, "SELECT pgq.next_batch('rows', 'r')")[0][0], []
        if batch:
            events = found(cursor, "SELECT (ev_data::json ->> 'id')::bigint FROM pgq.get_batch_events(%s)", batch)
            found(cursor, "SELECT pgq.finish_batch(%s)", batch)
        yield [event[0] for event in events]


def by_gaps():
    """Delivers rows up to the first number that is missing, and beyond when the row after it is a second old."""
    cursor, last, since = connect(), 0, {}
    while True:
        ids = []
        rows = found(cursor, "SELECT n, id FROM rows WHERE n > %s ORDER BY n", last)
        since = {n: since.get(n, time.time()) for n, _ in rows}
        for n, row_id in rows:
            if n > last + 1 and time.time() < since[n] + GAP_S:
                break
            last = n
            ids.append(row_id)
        yield ids


READERS = {
    "`id > last`": (by_last_id, "nothing"),
    "**`settled_below`**": (by_settled_below, "open transactions that have generated an id"),
    "**`next_rows`** of `shardid_readers`": (by_next_rows, "open transactions that have generated an id"),
    "`xid8` column, `pg_snapshot_xmin`": (by_xmin, "transactions that write, in any database"),
    "`xid8` column, two snapshots": (by_two_snapshots, "nothing; reads all since the oldest transaction"),
    "PgQ, a tick each time": (by_pgq, "nothing; reads all since the oldest transaction"),
    "`bigserial`, waits 1 s for gaps": (by_gaps, "rollbacks, each for 1 s"),
    "logical decoding (`pg_recvlogical`)": (None, "nothing, once the slot exists; the slot retains WAL"),
}


def follow(reader, is_over, times):
    """Notes when the reader has each id."""
    for ids in reader():
        now = time.time()
        for row_id in ids:
            times.setdefault(row_id, now)
        if is_over.is_set():
            break
        time.sleep(POLL_S)


def follow_decoding(lines, times):
    for line in lines:
        inserted = re.match(r"table public\.rows: INSERT: id\[bigint\]:(\d+)", line)
        if inserted:
            times[int(inserted[1])] = time.time()


def run(seconds):
    """For each reader the times of its ids, and when the idle transaction began."""
    is_over, times = threading.Event(), [{} for _ in READERS]
    receive = ["pg_recvlogical", "-d", SHOP, "--slot", "decoded", "--start", "-f", "-", "--no-loop"]
    write = ["pgbench", "-n", "-M", "prepared", "-c", str(WRITERS), "-j", "2", "-T", str(seconds), "-f", "-", SHOP]
    with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver:
        threads = [threading.Thread(target=follow, args=(reader, is_over, own)) if reader else
                   threading.Thread(target=follow_decoding, args=(receiver.stdout, own))
                   for (reader, _), own in zip(READERS.values(), times)]
        for thread in threads:
            thread.start()
        with subprocess.Popen(write, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as writers:
            writers.stdin.write(WRITER)
            writers.stdin.close()
            time.sleep(seconds / 3)
            idle = connect()
            idle.execute(IDLE)
            idle_since = time.time()
        idle.execute("ROLLBACK")
        time.sleep(GAP_S + 2)
        is_over.set()
        receiver.terminate()
        for thread in threads:
            thread.join()
    return times, idle_since


def delays(got, committed):
    """In ms, of those that were delivered: the median and the 99th percentile."""
    own = sorted((got[row_id] - at) * 1000 for row_id, at in committed if row_id in got)
    return [f"{own[len(own) * percent // 100]:,.0f}" for percent in (50, 99)]


def out_of_order(got):
    """How many ids came after a greater one. An id keeps its place in the order in which it was first delivered."""
    ids = list(got)
    return sum(row_id < greatest for row_id, greatest in zip(ids, itertools.accumulate(ids, max)))


def compare(seconds):
    times, idle_since = run(seconds)
    committed = [(int(row_id), float(at)) for row_id, at in
                 (line.split("|") for line in psql("""SELECT id, extract(epoch FROM pg_xact_commit_timestamp(xmin))
                                                      FROM rows""").splitlines())]
    before = [row for row in committed if row[1] < idle_since]
    after = [row for row in committed if row[1] >= idle_since]
    lines = []
    for (label, (_, held_by)), got in zip(READERS.items(), times):
        missed = sum(row_id not in got for row_id, _ in committed)
        lines.append([label, f"{missed:,}", f"{out_of_order(got):,}", *delays(got, before), *delays(got, after), held_by])
    return lines, len(committed)


def call_us():
    """Microseconds of a call of settled_below, in a loop in one session."""
    statements = [f"SELECT count({call}) FROM generate_series(1, {CALLS})" for call in ("pg_backend_pid()", "settled_below('g')")]
    times = milliseconds(statements * RUNS)
    return statistics.median(own - floor for floor, own in zip(times[::2], times[1::2])) * 1000 / CALLS


def read_ms(reader):
    """What a reader takes to read as many rows as in SIZES at a time, in ms."""
    asks, cursor = reader(), connect()
    next(asks)
    for size in SIZES:
        times = []
        for _ in range(RUNS):
            cursor.execute("INSERT INTO rows (id) SELECT next_id('g'::regclass) FROM generate_series(1, %s)", (size,))
            time.sleep(0.01)
            begin = time.perf_counter()
            rows = next(asks)
            times.append((time.perf_counter() - begin) * 1000)
            assert len(rows) == size
        yield f"{statistics.median(times):.1f}"


def main():
    arguments = options(__doc__, rounds=0, seconds=90)
    create_databases()
    psql(TABLE)
    if psql("SELECT 1 FROM pg_available_extensions WHERE name = 'pgq'"):
        psql(PGQ)
    else:
        READERS.pop("PgQ, a tick each time")
    lines, rows = compare(arguments.seconds)
    by_one, by_four = (" / ".join(read_ms(reader)) for reader in (by_next_rows, by_settled_below))
    alone = call_us()
    sessions = [connect() for _ in range(WRITERS)]
    for session in sessions:
        session.execute("BEGIN; SELECT next_id('g'::regclass)")
    among = call_us()
    headings = ["", "missed", "late", "median, ms", "99%, ms", "median, idle", "99%, idle", "delivery waits for"]
    report = table(headings, lines)
    report[1] = report[1][:-len(" ---: |")] + " --- |"
    report += ["", f"Of {rows:,} rows of {WRITERS} writers; readers ask each {POLL_S * 1000:.0f} ms. late: delivered after a greater id. idle: rows committed while a "
               f"transaction is idle, for {arguments.seconds * 2 // 3} s. A call of `settled_below` takes {alone:.0f} µs, or {among:.0f} µs if {WRITERS} other sessions are in transactions that "
               f"have generated an id. To read {' / '.join(f'{size:,}' for size in SIZES)} rows, `next_rows` takes {by_one} ms, and the four "
               f"statements around `settled_below` {by_four} ms. Times are medians of {RUNS}. {conditions('bench-new-rows', arguments)}"]
    write_report(f"{arguments.out}/new_rows.md", report)
    for session in sessions:
        session.connection.close()


main()
