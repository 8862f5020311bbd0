#!/usr/bin/env python3
"""Times the SQL-only functions, Instagram's PL/pgSQL function and the extension: in a loop in one session, one call per
transaction by 4, 16 and 64 sessions, and INSERTs. Prints tables and writes them.
"""
import re
import subprocess

from common import Results, conditions, milliseconds, options, progress, psql, rotated, table, write_report
from defaults import taught

ROWS = 100000

# Label, and a query of this number of ids.
LOOPS = {
    "floor": ("", f"SELECT count(pg_backend_pid()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "recipe": ("Instagram's function", f"SELECT count(baseline.next_id()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "portable": ("SQL-only `next_id`", f"SELECT count(portable.next_id(5)) FROM (SELECT generate_series(1, {ROWS})) s"),
    "portable_taught": ("SQL-only `new_id`, as in step 0", f"SELECT count(portable.new_id()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "portable_ids": ("SQL-only `next_ids`", f"SELECT count(id) FROM (SELECT portable.next_ids(5, {ROWS}) AS id) s"),
    "extension": ("the extension's `next_id`", f"SELECT count(next_id()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "taught": ("the extension's `new_id`, as in step 0", f"SELECT count(taught.new_id()) FROM (SELECT generate_series(1, {ROWS})) s"),
}
CALLS = {"recipe": "recipe", "portable": "portable_next_id", "portable_taught": "portable_new_id", "taught": "new_id", "nextval": "nextval", "extension": "next_id"}
INSERTS = {"recipe": "insert_by_recipe", "portable": "insert_by_portable", "portable_taught": "insert_by_portable_new_id", "taught": "insert_by_new_id", "nextval": "insert_by_nextval", "extension": "insert_by_next_id"}
LABELS = {"recipe": "Instagram's function", "portable": "SQL-only `next_id`", "portable_taught": "SQL-only `new_id`",
          "taught": "the extension's `new_id`", "nextval": "`nextval`", "extension": "the extension's `next_id`"}
SESSIONS = (4, 16, 64)


def tps(script, sessions, seconds):
    command = ["pgbench", "-n", "-M", "prepared", "-c", str(sessions), "-j", "2", "-T", str(seconds), "-f", f"bench/pgbench/{script}.sql"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def measure(rounds, seconds):
    results = Results()
    for number in range(rounds):
        for name in rotated(LOOPS, number):
            results.add(("loop", name), milliseconds([LOOPS[name][1]])[0] * 1e6 / ROWS)
        for sessions in SESSIONS:
            for name in rotated(CALLS, number):
                results.add((sessions, name), tps(CALLS[name], sessions, seconds))
        for name in rotated(INSERTS, number):
            results.add(("inserts", name), tps(INSERTS[name], 16, seconds))
        progress(number, rounds, "done")
    return results


def wal_bytes(call):
    """Bytes of WAL per call, of a thousand calls, each in its own transaction."""
    statements = f"{call}\n" * 1000
    return float(psql(f"""CREATE TEMPORARY TABLE start AS SELECT pg_current_wal_insert_lsn() AS lsn;
\\o /dev/null
{statements}\\o
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), lsn) FROM start;
""").split()[-1]) / 1000


def main():
    arguments = options(__doc__, rounds=5, seconds=2)
    psql(taught())
    results = measure(arguments.rounds, arguments.seconds)
    net = {name: results.median(("loop", name)) - results.median(("loop", "floor")) for name in LOOPS}
    lines = table(["SQL-only", "ns per call, net", "speed, Instagram's = 1"],
                  [[LOOPS[name][0], f"{net[name]:,.0f}", f"{net['recipe'] / net[name]:.1f}"] for name in LOOPS if name != "floor"])
    lines += ["", "All calls of the first table are in one transaction, each call of the second is a transaction of its own. The first",
              "call of a transaction prepares the function's expressions anew, and the SQL-only `next_id` has more of them than",
              "Instagram's function. So `next_id` is slower in the second table, and faster in the first."]
    lines += [""] + table(["Per second", *(f"{sessions} sessions" for sessions in SESSIONS), "INSERTs, 16 sessions"],
                          [[LABELS[name], *(f"{results.median((key, name)):,.0f}" for key in (*SESSIONS, "inserts"))] for name in CALLS])
    lines += ["", f"WAL of a call in a transaction of its own: SQL-only `next_id` {wal_bytes('SELECT portable.next_id(5);'):,.0f} "
              f"bytes, Instagram's function {wal_bytes('SELECT baseline.next_id();'):,.0f} bytes."]
    lines += ["",
              f"{arguments.rounds} rounds of {ROWS:,} calls in one session, and {arguments.seconds} s of one call per transaction; "
              + conditions("bench-portable", "synchronous_commit off", ROUNDS=arguments.rounds, SECONDS=arguments.seconds)]
    write_report(f"{arguments.out}/portable.md", lines)


main()
