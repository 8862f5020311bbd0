#!/usr/bin/env python3
"""Times COPY with each kind of id, each contender next to its alternative in every round, and accounts for the time
that a COPY takes beyond the layout's rate limit. Prints tables and writes them.

Rows go from a file on the server into a logged table, emptied and checkpointed before each time.
"""
import ctypes
import os
import statistics
import subprocess
import sys
import time

from common import (Results, conditions, has_uuidv7, milliseconds, options, progress, psql, quantile, rotated,
                    slower, table, write_report)

CEILING = 1024  # ids per millisecond in the default layout

ROOMY = "next_id(generator => 'roomy', shard_bits => 3, sequence_bits => 20)"

# Contender: (type of the id, its DEFAULT, what follows).
TABLES = {
    "nextval": ("bigint", "nextval('plain')", ""),
    "roomy": ("bigint", ROOMY, ""),
    "default": ("bigint", "next_id()", ""),
    "nextval_pk": ("bigint", "nextval('plain')", "PRIMARY KEY"),
    "roomy_pk": ("bigint", ROOMY, "PRIMARY KEY"),
    "default_pk": ("bigint", "next_id()", "PRIMARY KEY"),
    "uuid_v4": ("uuid", "gen_random_uuid()", ""),
    "uuid_v7": ("uuid", "uuidv7()", ""),
    "uuid_v1": ("uuid", "uuid_v1()", ""),
    "random_bytes": ("bytea", "uuid_send(gen_random_uuid())", ""),
    "objectid": ("bytea", "objectid()", ""),
}

# Each is timed just after or before its alternative: (label, way, contender, label of the alternative, alternative,
# whether the rate limit replaces the alternative if it is slower, target).
PAIRS = [
    ("`next_id`, room in the layout", "copy", "roomy", "`nextval`", "nextval", False, 1.0),
    ("`next_id`, default layout", "copy", "default", "`nextval` or the rate limit", "nextval", True, 1.05),
    ("`next_id`, room in the layout, primary key", "copy", "roomy_pk", "`nextval`, primary key", "nextval_pk",
     False, 1.0),
    ("`next_id`, default layout, primary key", "copy", "default_pk", "`nextval`, primary key", "nextval_pk",
     False, 1.0),
    ("`uuid_v1`", "copy", "uuid_v1", "`gen_random_uuid`", "uuid_v4", False, None),
    ("`uuid_v1`", "copy", "uuid_v1", "`uuidv7`", "uuid_v7", False, None),
    ("`objectid`", "copy", "objectid", "`gen_random_uuid` as bytea", "random_bytes", False, None),
    ("`next_id`, default layout, `max_borrow`", "copy", "default", "`nextval`", "nextval", False, 1.05),
    ("`next_id`, default layout, primary key, `max_borrow`", "copy", "default_pk", "`nextval`, primary key", "nextval_pk",
     False, 1.0),
    ("`next_id`, default layout, `max_borrow`, INSERT ... SELECT", "insert", "default",
     "`nextval`, INSERT ... SELECT", "nextval", False, 1.05),
]
BORROW_MS = 1000

SLEEPS = 2000
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30


def wanted_pairs():
    """The pairs that this server and this build support."""
    borrows = "max_borrow" in psql("LOAD 'shardid'; SELECT name FROM pg_settings WHERE name LIKE 'shardid.%'")
    v7 = has_uuidv7()
    return [pair for pair in PAIRS if (borrows or "max_borrow" not in pair[0]) and (v7 or pair[4] != "uuid_v7")]


def create_tables(pairs, rows, file):
    for name in sorted({name for pair in pairs for name in (pair[2], pair[4])}):
        kind, default, key = TABLES[name]
        psql(f"CREATE TABLE by_{name} (id {kind} DEFAULT {default} {key}, n int)")
    psql("CREATE TABLE moments (id bigint DEFAULT next_id(), at timestamptz DEFAULT clock_timestamp(), n int)")
    with open(file, "w", encoding="ascii") as numbers:
        numbers.writelines(f"{n}\n" for n in range(1, rows + 1))


def fill(name, way, rows, file, borrow):
    statement = (f"COPY {name} (n) FROM '{file}'" if way == "copy" else
                 f"INSERT INTO {name} (n) SELECT generate_series(1, {rows})")
    psql(f"TRUNCATE {name}; CHECKPOINT")
    setting = f"SET shardid.max_borrow = {BORROW_MS}" if borrow else "SELECT 1"
    return milliseconds([setting, statement])[1]


def measure(pairs, rounds, rows, file):
    """Key: (number of the pair, 0 for the contender and 1 for its alternative)."""
    results = Results()
    for number in range(rounds + 1):
        for index in rotated(range(len(pairs)), number):
            label, way, own, _, rival, _, _ = pairs[index]
            borrow = "max_borrow" in label
            times = {}
            for side in rotated((0, 1), number + index):
                times[side] = fill(f"by_{(own, rival)[side]}", way, rows, file, borrow and side == 0)
            # The first round does not count: it creates WAL files, which the others reuse.
            if number > 0:
                results.add((index, 0), times[0])
                results.add((index, 1), times[1])
                progress(number - 1, rounds, f"{label}: {times[0]:.0f} ms, beside {times[1]:.0f} ms")
    return results


def pair_table(pairs, results, rows):
    ceiling = rows / CEILING
    lines, behind = [], []
    for index, (label, _, _, beside, _, is_bounded, target) in enumerate(pairs):
        own, rival = results.values[index, 0], results.values[index, 1]
        floors = [max(r, ceiling) if is_bounded else r for r in rival]
        ratios = [a / b for a, b in zip(own, floors)]
        behind.append((label, beside.replace(" or the rate limit", ""), results.ratio((index, 0), (index, 1))))
        lines.append([f"**{label}**", f"{statistics.median(own):,.0f}", beside, f"{statistics.median(rival):,.0f}",
                      f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f} to {max(ratios):.2f}",
                      "" if target is None else f"{target:.2f}"])
    return table([f"COPY of {rows:,} rows, the id by DEFAULT", "ms", "compared with", "ms", "ratio", "of all rounds", "target"],
                 lines) + ["", slower(behind)]


def account(name, rows, took_ms):
    """Where the milliseconds of a COPY in the default layout went, by the times in its ids."""
    span, used, full = [float(v) for v in psql(f"""
SELECT extract(epoch FROM max(at) - min(at)) * 1000 + 1, count(*), count(*) FILTER (WHERE ids = {CEILING})
FROM (SELECT id_timestamp(id) AS at, count(*) AS ids FROM {name} GROUP BY 1) s""").strip().split("|")]
    return {"took": took_ms, "ceiling": rows / CEILING, "outside": took_ms - span, "skipped": span - used,
            "short": used - rows / CEILING, "full": full / used}


def lateness(name):
    """us from the start of a millisecond to its first id, if the millisecond before was used up."""
    return [float(line) for line in psql(f"""
SELECT extract(epoch FROM first - at) * 1e6
FROM (SELECT at, first, lag(ids) OVER w AS before, lag(at) OVER w AS at_before
      FROM (SELECT id_timestamp(id) AS at, min(at) AS first, count(*) AS ids FROM {name} GROUP BY 1) s
      WINDOW w AS (ORDER BY at)) s
WHERE before = {CEILING}""").split()]


def sleeps(slack_ns):
    """us by which a process wakes too late that sleeps to the start of the next millisecond."""
    script = f"""
import ctypes, time
if {slack_ns}: ctypes.CDLL(None).prctl({PR_SET_TIMERSLACK}, {slack_ns}, 0, 0, 0)
for _ in range({SLEEPS}):
    now = time.time_ns()
    until = (now // 1000000 + 1) * 1000000
    time.sleep((until - now) / 1e9)
    print((time.time_ns() - until) / 1000)
"""
    out = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(line) for line in out.split()]


class BusyLoops:
    """A busy process per core, while this context lasts."""

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class Idle:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def waits(rounds, rows, file):
    """Two tables: the parts of a COPY's time, and how late sleepers wake, on an idle and on a loaded machine."""
    accounts, late = [], []
    slack = ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)
    for place, load in (("idle", Idle), (f"{os.cpu_count()} busy loops at the same time", BusyLoops)):
        with load():
            moments, parts = [], []
            for number in range(rounds):
                parts.append(account("by_default", rows, fill("by_default", "copy", rows, file, False)))
                fill("moments", "copy", rows, file, False)
                moments += lateness("moments")
                progress(number, rounds, f"waits, {place}")
            time.sleep(0.1)
            own, fine = sleeps(0), sleeps(1)
        middle = {key: statistics.median(part[key] for part in parts) for key in parts[0]}
        accounts.append([place] + [f"{middle[key]:,.0f}" for key in ("took", "ceiling", "outside", "skipped", "short")] +
                        [f"{middle['full']:.0%}"])
        for what, values in (("first id of a millisecond, in COPY", moments),
                             (f"a sleep, timer slack {slack // 1000} us", own), ("a sleep, timer slack 1 ns", fine)):
            late.append([f"{what}, {place}", str(len(values))] +
                        [f"{v:,.0f}" for v in (quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99),
                                               max(values))] if values else [f"{what}, {place}", "0", "", "", "", ""])
    return table([f"COPY of {rows:,} rows in the default layout: where its time goes, ms", "took", "the rate limit",
                  "before the first id and after the last", "milliseconds without an id", "not used up",
                  "milliseconds used up"], accounts) + [""] + table(
                      ["After the start of a millisecond, us", "times", "p50", "p90", "p99", "max"], late)


def main():
    arguments = options(__doc__, rounds=7, rows=500000)

    file = f"{arguments.out}/../numbers"
    psql("CREATE EXTENSION shardid; CREATE SEQUENCE plain; CREATE SEQUENCE roomy;")
    pairs = wanted_pairs()
    create_tables(pairs, arguments.rows, file)
    results = measure(pairs, arguments.rounds, arguments.rows, file)
    lines = pair_table(pairs, results, arguments.rows) + [""] + waits(max(1, arguments.rounds // 2), arguments.rows, file)
    lines += ["", f"{arguments.rounds} rounds, medians of times and of the rounds' ratios; "
              f"{conditions('bench-copy', ROUNDS=arguments.rounds, ROWS=arguments.rows)}"]
    write_report(f"{arguments.out}/copy.md", lines)


main()
