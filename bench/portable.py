#!/usr/bin/env python3
"""Times the portable functions beside the PL/pgSQL recipe and the extension: in a loop in one session, and one call a
transaction by 16 sessions; and the two locks that they could take. Prints tables and writes them.
"""
import re
import subprocess

from common import Results, conditions, milliseconds, options, progress, psql, rotated, table, write_report

ROWS = 100000

# What it is, and its query of so many ids.
LOOPS = {
    "floor": ("", f"SELECT count(pg_backend_pid()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "recipe": ("PL/pgSQL recipe", f"SELECT count(baseline.next_id()) FROM (SELECT generate_series(1, {ROWS})) s"),
    "portable": ("portable `next_id`", f"SELECT count(portable.next_id(5)) FROM (SELECT generate_series(1, {ROWS})) s"),
    "portable_ids": ("portable `next_ids`", f"SELECT count(id) FROM (SELECT portable.next_ids(5, {ROWS}) AS id) s"),
    "extension": ("the extension's `next_id`", f"SELECT count(next_id(5)) FROM (SELECT generate_series(1, {ROWS})) s"),
}
# No more than a lock that is let go before the transaction ends, a look and setval.
LOCKS = {
    "lock_of_subtransaction": "a subtransaction that is rolled back",
    "lock_of_session": "the session, given back by a handler",
}
for lock, label in LOCKS.items():
    LOOPS[lock] = (label, f"SELECT count(portable.{lock}('portable.locked')) FROM (SELECT generate_series(1, {ROWS})) s")
CALLS = {"recipe": "recipe", "portable": "portable_next_id", "extension": "next_id"}


def tps(script, seconds):
    command = ["pgbench", "-n", "-M", "prepared", "-c", "16", "-j", "2", "-T", str(seconds), "-f", f"bench/pgbench/{script}.sql"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def measure(rounds, seconds):
    results = Results()
    for number in range(rounds):
        for name in rotated(LOOPS, number):
            results.add(("loop", name), milliseconds([LOOPS[name][1]])[0] * 1e6 / ROWS)
        for name in rotated(CALLS, number):
            results.add(("calls", name), tps(CALLS[name], seconds))
        progress(number, rounds, "done")
    return results


def wal_bytes(call):
    """Of a thousand calls, each a transaction of its own."""
    statements = f"{call}\n" * 1000
    return float(psql(f"""CREATE TEMPORARY TABLE start AS SELECT pg_current_wal_insert_lsn() AS lsn;
\\o /dev/null
{statements}\\o
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), lsn) FROM start;
""").split()[-1]) / 1000


def xids(count, call):
    """Taken by so many calls in one transaction; nothing else runs on this server."""
    return int(psql(f"""SELECT pg_snapshot_xmax(pg_current_snapshot()) AS before \\gset
BEGIN;
SELECT count({call}) FROM generate_series(1, {count}) \\g /dev/null
COMMIT;
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :before;
""").split()[-1])


def main():
    arguments = options(__doc__, rounds=5, seconds=2)
    results = measure(arguments.rounds, arguments.seconds)
    net = {name: results.median(("loop", name)) - results.median(("loop", "floor")) for name in LOOPS}
    rows = [[LOOPS[name][0], f"{net[name]:,.0f}", f"{net['recipe'] / net[name]:.1f}",
             f"{results.median(('calls', name)):,.0f}" if name in CALLS else ""]
            for name in LOOPS if name != "floor" and name not in LOCKS]
    lines = table(["Portable", "ns a call, net", "times the recipe's speed", "tps, 16 sessions"], rows)
    lines += ["", f"WAL of a call in a transaction of its own: portable `next_id` {wal_bytes('SELECT portable.next_id(5);'):,.0f} "
              f"bytes, the recipe {wal_bytes('SELECT baseline.next_id();'):,.0f} bytes.", ""]
    lines += table(["Lock of", "ns, net", "xids of 1,000 calls in a transaction"],
                   [[label, f"{net[lock]:,.0f}", str(xids(1000, f"portable.{lock}('portable.locked')"))]
                    for lock, label in LOCKS.items()])
    lines += ["",
              f"{arguments.rounds} rounds of {ROWS:,} calls in one session, and {arguments.seconds} s of one call a transaction; "
              + conditions("bench-portable", ROUNDS=arguments.rounds, SECONDS=arguments.seconds)]
    write_report(f"{arguments.out}/portable.md", lines)


main()
