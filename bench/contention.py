#!/usr/bin/env python3
"""Measures sessions that draw from one generator and from one each, and how long a single call takes while
others draw in bulk. Prints tables and writes them.

The layout has enough numbers, so that no session waits for the next millisecond.
"""
import glob
import os
import re
import statistics
import subprocess
import time

from common import Results, conditions, options, progress, psql, quantile, rotated, slower, table, write_report

SESSIONS = (4, 16, 64)
IDS = 1000

LAYOUT = "shard_bits => 3, sequence_bits => 20"
OWN = "WITH own AS MATERIALIZED (SELECT ('g_' || :each::int * :client_id::int + :first::int)::regclass AS g)"

# Contender: (label, a statement of :ids ids). With each = 1 every session has a sequence of its own.
BULK = {
    "next_id": ("**`next_id`**", f"{OWN} SELECT count(next_id(5, g, {LAYOUT})) FROM own, generate_series(1, :ids::int);"),
    "next_ids": ("**`next_ids`**", f"{OWN} SELECT count(i) FROM own, next_ids(5, :ids, g, {LAYOUT}) AS i;"),
    "nextval": ("`nextval`", f"{OWN} SELECT count(nextval(g)) FROM own, generate_series(1, :ids::int);"),
}

SINGLE = {
    "next_id": f"SELECT next_id(5, 'g_0', {LAYOUT});",
    "nextval": "SELECT nextval('g_0');",
    "select_1": "SELECT 1;",
}
DRAWERS = 4
MANY = 1000000
# Contender: (label, what the session does, what the other sessions do, how many ids per statement, the first of their
# sequences).
BESIDE = {
    "alone": ("**`next_id`**, alone", "next_id", None, 0, 0),
    "next_id": (f"**`next_id`**, {DRAWERS} others take {IDS:,} per statement", "next_id", "next_id", IDS, 0),
    "next_id_many": (f"**`next_id`**, {DRAWERS} others take {MANY:,}", "next_id", "next_id", MANY, 0),
    "next_ids_many": (f"**`next_id`**, {DRAWERS} others take {MANY:,} by `next_ids`", "next_id", "next_ids", MANY, 0),
    "next_id_others": (f"**`next_id`**, {DRAWERS} others take {MANY:,} from another generator", "next_id", "next_id", MANY, 1),
    "nextval_alone": ("`nextval`, alone", "nextval", None, 0, 0),
    "nextval": (f"`nextval`, {DRAWERS} others take {IDS:,} per statement", "nextval", "nextval", IDS, 0),
    "nextval_many": (f"`nextval`, {DRAWERS} others take {MANY:,}", "nextval", "nextval", MANY, 0),
    "nextval_others": (f"`nextval`, {DRAWERS} others take {MANY:,} from another sequence", "nextval", "nextval", MANY, 1),
    "select_1": (f"`SELECT 1`, {DRAWERS} others take {MANY:,} by `next_id`", "select_1", "next_id", MANY, 0),
}


class Pgbench:
    """Runs the statements by pgbench, each from a file in the directory."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        for kind, statements in (("bulk", {name: sql for name, (_, sql) in BULK.items()}), ("single", SINGLE)):
            for name, sql in statements.items():
                with open(self.file(kind, name), "w", encoding="ascii") as script:
                    script.write(sql + "\n")

    def file(self, kind, name):
        return f"{self.folder}/{kind}_{name}.sql"

    def bulk(self, name, sessions, each, ids, first, seconds):
        return subprocess.Popen(
            ["pgbench", "-n", "-M", "prepared", "-c", str(sessions), "-j", "2" if sessions > 1 else "1", "-T", str(seconds),
             "-D", f"each={int(each)}", "-D", f"first={first}", "-D", f"ids={ids}", "-f", self.file("bulk", name)],
            stdout=subprocess.PIPE, text=True)

    def rate(self, name, sessions, each, seconds):
        """Ids per second."""
        out, _ = self.bulk(name, sessions, each, IDS, 0, seconds).communicate()
        return float(re.search(r"tps = ([\d.]+)", out)[1]) * IDS

    def latencies(self, name, seconds):
        """us of each transaction of one session."""
        log = f"{self.folder}/log"
        subprocess.run(["pgbench", "-n", "-M", "prepared", "-c", "1", "-T", str(seconds), "-l", f"--log-prefix={log}",
                        "-f", self.file("single", name)], stdout=subprocess.DEVNULL, check=True)
        found = []
        for path in glob.glob(f"{log}.*"):
            with open(path, encoding="ascii") as lines:
                found += [int(line.split()[2]) for line in lines]
            os.remove(path)
        return found


def measure_rates(pgbench, rounds, seconds):
    results = Results()
    for number in range(rounds):
        for sessions in SESSIONS:
            for name in rotated(BULK, number):
                for each in (False, True):
                    rate = pgbench.rate(name, sessions, each, seconds)
                    results.add((name, sessions, each), rate)
                    progress(number, rounds, f"{sessions} sessions, {name}, {'one each' if each else 'one'}: {rate:,.0f}/s")
    return results


def measure_calls(pgbench, rounds, seconds):
    """(us of all calls by contender, the rate of the other sessions meanwhile by contender and round)."""
    calls, drawn = {name: [] for name in BESIDE}, Results()
    for number in range(rounds):
        for name in rotated(BESIDE, number):
            _, single, bulk, ids, first = BESIDE[name]
            drawers = bulk and pgbench.bulk(bulk, DRAWERS, False, ids, first, seconds + 1)
            time.sleep(0.5 if drawers else 0)
            found = pgbench.latencies(single, seconds)
            calls[name] += found
            if drawers:
                out, _ = drawers.communicate()
                drawn.add(name, float(re.search(r"tps = ([\d.]+)", out)[1]) * ids)
            progress(number, rounds, f"{name}: {quantile(found, 0.5)} us, p99 {quantile(found, 0.99)} us")
    return calls, drawn


def rates_behind(results):
    for sessions in SESSIONS:
        for name in ("next_id", "next_ids"):
            for each in (False, True):
                yield (f"{BULK[name][0]} ({sessions} sessions, {'one each' if each else 'one generator'})", BULK["nextval"][0],
                       1 / results.ratio((name, sessions, each), ("nextval", sessions, each)))


def calls_behind(calls):
    for own, rival in (("alone", "nextval_alone"), ("next_id", "nextval"), ("next_id_many", "nextval_many"),
                       ("next_id_others", "nextval_others")):
        for share in (0.5, 0.99):
            yield (f"p{share * 100:.0f} of {BESIDE[own][0]}", BESIDE[rival][0],
                   quantile(calls[own], share) / quantile(calls[rival], share))


def rate_table(results):
    rows = []
    for sessions in SESSIONS:
        for name, (label, _) in BULK.items():
            one, each = (name, sessions, False), (name, sessions, True)
            rows.append([f"{label}, {sessions} sessions", f"{results.median(one):,.0f}", f"{results.spread(one):.0%}",
                         f"{results.ratio(one, ('nextval', sessions, False)):.2f}",
                         f"{results.median(each):,.0f}", f"{results.spread(each):.0%}",
                         f"{results.ratio(each, ('nextval', sessions, True)):.2f}"])
    return table([f"Ids per second, {IDS:,} per statement", "one generator", "spread", "to `nextval`", "one each", "spread",
                  "to `nextval`"], rows)


def call_table(calls, drawn):
    rows = []
    for name, (label, _, bulk, _, _) in BESIDE.items():
        values = calls[name]
        rows.append([label, f"{len(values):,}"] +
                    [f"{v:,.0f}" for v in (quantile(values, 0.5), statistics.mean(values), quantile(values, 0.99),
                                           quantile(values, 0.999), max(values))] +
                    [f"{drawn.median(name):,.0f}" if bulk else ""])
    return table(["A single call, us as its client sees it", "calls", "p50", "mean", "p99", "p99.9", "max",
                  "ids per second of the other sessions"], rows)


def main():
    arguments = options(__doc__, rounds=3, seconds=2)

    psql("CREATE EXTENSION shardid;\n" + "".join(f"CREATE SEQUENCE g_{n};\n" for n in range(max(SESSIONS))))
    pgbench = Pgbench(f"{arguments.out}/../scripts")
    rates = measure_rates(pgbench, arguments.rounds, arguments.seconds)
    calls, drawn = measure_calls(pgbench, arguments.rounds, arguments.seconds)
    lines = rate_table(rates) + ["", slower(rates_behind(rates)), ""]
    lines += call_table(calls, drawn) + ["", slower(calls_behind(calls))]
    lines += ["", f"{arguments.rounds} rounds, {arguments.seconds} s for each run of pgbench; "
              f"{conditions('bench-contention', ROUNDS=arguments.rounds, SECONDS=arguments.seconds)}"]
    write_report(f"{arguments.out}/contention.md", lines)


main()
