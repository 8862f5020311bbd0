#!/usr/bin/env python3
"""Runs all contenders in alternating rounds, prints one table, writes it with a chart.

pgbench contenders are measured in transactions per second with 16 clients, loops inside the server in
nanoseconds per call, less the same loop around pg_backend_pid(). Ratios are computed for each round, so
that other load of the machine affects both sides, and their median is shown.
"""
import re
import subprocess
import sys

from chart import draw
from common import (Results, conditions, has_uuidv7, milliseconds, options, progress, psql, rotated, slower, table,
                    write_report)

CLIENTS = ["-n", "-M", "prepared", "-c", "16", "-j", "2"]

# Group: title, floor, {contender: (label, the contender that it is compared with)}.
PGBENCH = [
    ("One call per transaction", "select_1", {
        "select_1": ("`SELECT 1`", None),
        "nextval": ("`nextval`", "recipe"),
        "nextval_cache_100": ("`nextval`, CACHE 100", "recipe"),
        "recipe": ("PL/pgSQL recipe", "recipe"),
        "next_id": ("**`next_id`**", "recipe"),
        "gen_random_uuid": ("`gen_random_uuid`", "uuid_v1_from_recipe"),
        "uuidv7": ("`uuidv7`", "uuid_v1_from_recipe"),
        "uuid_generate_v1": ("uuid-ossp `uuid_generate_v1`", "uuid_v1_from_recipe"),
        "uuid_v1": ("**`uuid_v1`**", "uuid_generate_v1"),
        "uuid_v1_from_recipe": ("PL/pgSQL `form_uuid_v1`", "uuid_v1_from_recipe"),
        "uuid_v1_from": ("**`uuid_v1_from`**", "uuid_v1_from_recipe"),
        "uuid_v1_timestamp_recipe": ("SQL `uuid_v1_timestamp`", "uuid_v1_timestamp_recipe"),
        "uuid_v1_timestamp": ("**`uuid_v1_timestamp`**", "uuid_v1_timestamp_recipe"),
    }),
    ("One row per transaction, the id by DEFAULT", "insert_no_id", {
        "insert_no_id": ("no id", None),
        "insert_by_nextval": ("`nextval`", "insert_by_recipe"),
        "insert_by_nextval_cache_100": ("`nextval`, CACHE 100", "insert_by_recipe"),
        "insert_by_recipe": ("PL/pgSQL recipe", "insert_by_recipe"),
        "insert_by_next_id": ("**`next_id`**", "insert_by_recipe"),
    }),
    ("1,000 rows per transaction, the id by DEFAULT", "insert_1000_no_id", {
        "insert_1000_no_id": ("no id", None),
        "insert_1000_by_nextval": ("`nextval`", "insert_1000_by_recipe"),
        "insert_1000_by_nextval_cache_100": ("`nextval`, CACHE 100", "insert_1000_by_recipe"),
        "insert_1000_by_recipe": ("PL/pgSQL recipe", "insert_1000_by_recipe"),
        "insert_1000_by_next_id": ("**`next_id`**", "insert_1000_by_recipe"),
        "insert_1000_by_next_ids": ("**`next_ids`**, in the select list", "insert_1000_by_recipe"),
    }),
    ("One row per transaction, primary key; the recipe is `nextval`", "insert_no_id", {
        "insert_key_by_nextval": ("`nextval`", "insert_key_by_nextval"),
        "insert_key_by_next_id": ("**`next_id`**", "insert_key_by_nextval"),
        "insert_key_by_gen_random_uuid": ("`gen_random_uuid`", "insert_key_by_nextval"),
        "insert_key_by_uuidv7": ("`uuidv7`", "insert_key_by_nextval"),
    }),
    ("1,000 rows per transaction, primary key; the recipe is `nextval`", "insert_1000_no_id", {
        "insert_1000_key_by_nextval": ("`nextval`", "insert_1000_key_by_nextval"),
        "insert_1000_key_by_next_id": ("**`next_id`**", "insert_1000_key_by_nextval"),
        "insert_1000_key_by_gen_random_uuid": ("`gen_random_uuid`", "insert_1000_key_by_nextval"),
        "insert_1000_key_by_uuidv7": ("`uuidv7`", "insert_1000_key_by_nextval"),
    }),
    ("1,000 values per transaction; the recipe is `nextval`", "select_1", {
        "values_1000_by_nextval": ("`nextval`, 1,000 times", "values_1000_by_nextval"),
        "values_1000_by_setval": ("`setval(s, nextval(s) + 999)`, which repeats values",
                                  "values_1000_by_nextval"),
        "values_1000_by_nextval_range": ("**`nextval_range`**", "values_1000_by_nextval"),
    }),
]

# Contender: (label, call, calls per loop, the contender that it is compared with). A call with COUNT returns a
# set of this size, and replaces the loop's generate_series.
LOOP_FLOOR = "pg_backend_pid()"
SET_FLOOR = "generate_series(1, COUNT)"
LOOPS = {
    "nextval": ("`nextval`", "nextval('plain')", 1000000, "recipe"),
    "nextval_cache_100": ("`nextval`, CACHE 100", "nextval('cached')", 1000000, "recipe"),
    "recipe": ("PL/pgSQL recipe", "baseline.next_id()", 100000, "recipe"),
    "next_id": ("**`next_id`**, room in the layout (20 bits of sequence)",
                "next_id(generator => 'roomy', shard_bits => 3, sequence_bits => 20)", 1000000, "recipe"),
    "next_id_default": ("**`next_id`**, default layout (at most 1,024,000/s)", "next_id()", 1000000,
                        "recipe"),
    "next_ids": ("**`next_ids`**, room in the layout",
                 "next_ids(5, COUNT, 'roomy', shard_bits => 3, sequence_bits => 20)", 1000000, "recipe"),
    "next_ids_default": ("**`next_ids`**, default layout", "next_ids(5, COUNT)", 1000000, "recipe"),
    "gen_random_uuid": ("`gen_random_uuid`", "gen_random_uuid()", 200000, "uuid_v1_from_recipe"),
    "uuidv7": ("`uuidv7`", "uuidv7()", 200000, "uuid_v1_from_recipe"),
    "uuid_generate_v1": ("uuid-ossp `uuid_generate_v1`", "uuid_generate_v1()", 50000,
                         "uuid_v1_from_recipe"),
    "uuid_v1": ("**`uuid_v1`**, to `uuid_generate_v1`", "uuid_v1()", 1000000, "uuid_generate_v1"),
    "objectid": ("**`objectid`**", "objectid()", 1000000, "recipe"),
    "uuid_v1_from_recipe": ("PL/pgSQL `form_uuid_v1`", "baseline.form_uuid_v1(ts, 666, mac)", 100000,
                            "uuid_v1_from_recipe"),
    "uuid_v1_from": ("**`uuid_v1_from`**", "uuid_v1_from(ts, 666, mac)", 1000000,
                     "uuid_v1_from_recipe"),
    "uuid_v1_timestamp_recipe": ("SQL `uuid_v1_timestamp`", "baseline.uuid_v1_timestamp(u)", 100000,
                                 "uuid_v1_timestamp_recipe"),
    "uuid_v1_timestamp": ("**`uuid_v1_timestamp`**", "uuid_v1_timestamp(u)", 1000000,
                          "uuid_v1_timestamp_recipe"),
    "uuid_v1_to_v6": ("**`uuid_v1_to_v6`**", "uuid_v1_to_v6(u)", 1000000, "uuid_v1_from_recipe"),
}

CEILING = 1024000

# ns per call, net; smaller values cannot be distinguished from the loop's own time, and have no ratio.
SMALLEST = 2

# Ways to take 1,000 values, used by 16 sessions at once, each of which records its values.
NOTED = {"setval": "`setval(s, nextval(s) + 999)`", "nextval_range": "`nextval_range`"}

COPY_ROWS = 500000
COPY_TABLES = {"by_nextval": "`nextval`", "by_recipe": "PL/pgSQL recipe", "by_next_id": "**`next_id`**",
               "by_gen_random_uuid": "`gen_random_uuid`", "by_uuidv7": "`uuidv7`"}

# PostgreSQL's UUID of version 7, which not every server has.
UUIDV7 = "uuidv7"

# The medians that the sentence below the tables compares, if both exist: kind, ours, its alternatives.
RIVALS = [
    ("pgbench", "next_id", ["nextval", "nextval_cache_100"]),
    ("pgbench", "uuid_v1", ["gen_random_uuid", "uuidv7", "uuid_generate_v1"]),
    ("pgbench", "insert_by_next_id", ["insert_by_nextval", "insert_by_nextval_cache_100"]),
    ("pgbench", "insert_1000_by_next_id", ["insert_1000_by_nextval", "insert_1000_by_nextval_cache_100"]),
    ("pgbench", "insert_key_by_next_id", ["insert_key_by_nextval", "insert_key_by_gen_random_uuid", "insert_key_by_uuidv7"]),
    ("pgbench", "insert_1000_key_by_next_id",
     ["insert_1000_key_by_nextval", "insert_1000_key_by_gen_random_uuid", "insert_1000_key_by_uuidv7"]),
    ("pgbench", "values_1000_by_nextval_range", ["values_1000_by_nextval", "values_1000_by_setval"]),
    ("loop", "next_id", ["nextval", "nextval_cache_100"]),
    ("loop", "next_id_default", ["nextval", "nextval_cache_100"]),
    ("loop", "next_ids", ["nextval", "nextval_cache_100"]),
    ("loop", "next_ids_default", ["nextval", "nextval_cache_100"]),
    ("loop", "uuid_v1", ["gen_random_uuid", "uuidv7", "uuid_generate_v1"]),
    ("loop", "objectid", ["gen_random_uuid", "uuidv7"]),
    ("copy", "by_next_id", ["by_nextval", "by_gen_random_uuid", "by_uuidv7"]),
]


def leave_out_uuidv7():
    for contenders in [group[2] for group in PGBENCH] + [LOOPS, COPY_TABLES]:
        for name in [name for name in contenders if name.endswith(UUIDV7)]:
            del contenders[name]


def empty_tables():
    """Empties the tables, except those whose duplicates are counted at the end."""
    psql("TRUNCATE no_id, key_by_nextval, key_by_next_id, key_by_gen_random_uuid, by_gen_random_uuid")
    if has_uuidv7():
        psql("TRUNCATE key_by_uuidv7, by_uuidv7")
    psql("CHECKPOINT")


def run_pgbench(script, seconds):
    command = ["pgbench", *CLIENTS, "-T", str(seconds), "-f", f"bench/pgbench/{script}.sql"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def loop(call, count):
    """ns per call, net of the floor, both in one session one after the other."""
    is_set = "COUNT" in call

    def statement(called):
        result, rows = ("n", called) if is_set else (called, SET_FLOOR)
        rows = rows.replace("COUNT", str(count))
        return f"SELECT count({result}) FROM (SELECT o.*, {rows} AS n FROM one_of_each o) s"

    floor, own = milliseconds([statement(c) for c in (SET_FLOOR if is_set else LOOP_FLOOR, call)])
    return (own - floor) * 1e6 / count, own * 1e6 / count


def wal_of_a_million(call):
    return int(psql(f"""
CREATE TEMPORARY TABLE start AS SELECT pg_current_wal_insert_lsn() AS lsn;
SELECT {call} FROM (SELECT generate_series(1, 1000000)) s \\g /dev/null
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), lsn) FROM start;
""").split()[-1])


def copy_rows(table):
    """ns per row of COPY with the id by DEFAULT."""
    return milliseconds([f"COPY {table} (n) FROM PROGRAM 'seq {COPY_ROWS}'"])[0] * 1e6 / COPY_ROWS


def measure(rounds, seconds):
    results = Results()
    for number in range(rounds):
        for title, _, contenders in PGBENCH:
            for name in rotated(contenders, number):
                tps = run_pgbench(name, seconds)
                results.add(("pgbench", name), tps)
                progress(number, rounds, f"{name}: {tps:.0f}/s")
            empty_tables()
        for name in rotated(LOOPS, number):
            net, gross = loop(LOOPS[name][1], LOOPS[name][2])
            results.add(("loop", name), net)
            results.add(("gross", name), gross)
            progress(number, rounds, f"{name}: {net:.1f} ns")
        for table in rotated(COPY_TABLES, number):
            results.add(("copy", table), copy_rows(table))
        progress(number, rounds, "COPY")
        for way in NOTED:
            run_pgbench(f"noted_1000_by_{way}", seconds)
        progress(number, rounds, "noted ranges")
        results.add(("wal", "nextval"), wal_of_a_million("nextval('plain')"))
        results.add(("wal", "next_id"), wal_of_a_million("next_id()"))
    return results


def duplicates(contender):
    """Duplicates among all rows of a table so far, by single rows, bulk and COPY."""
    table = re.sub(r"^insert_(1000_)?", "", contender)
    if table == "no_id":
        return "", 0
    rows, ids = psql(f"SELECT count(*), count(DISTINCT id) FROM {table}").strip().split("|")
    return f"{int(rows) - int(ids):,} of {int(rows):,}", int(rows) - int(ids)


def given_twice(way):
    """(how many duplicates 16 sessions received, how many values they received)."""
    given, different = psql(f"""
SELECT (SELECT sum(last - first + 1) FROM taken_by_{way}),
       (SELECT sum(upper(r) - lower(r))
        FROM (SELECT unnest(range_agg(int8range(first, last, '[]'))) AS r FROM taken_by_{way}) s)
""").strip().split("|")
    return int(given) - int(different), int(given)


def titled(kind, name):
    """The contender's label, with the name of its table."""
    if kind == "pgbench":
        title, contenders = next((group[0], group[2]) for group in PGBENCH if name in group[2])
        return f"{contenders[name][0]} ({title.split(';')[0].lower()})"
    return f"{LOOPS[name][0]} (in a loop)" if kind == "loop" else f"{COPY_TABLES[name]} (COPY)"


def behind(results):
    for kind, own, rivals in RIVALS:
        for rival in rivals:
            if (kind, rival) in results.values:
                if kind == "loop" and min(results.median((kind, own)), results.median((kind, rival))) < SMALLEST:
                    continue
                times = results.ratio((kind, own), (kind, rival))
                yield titled(kind, own), titled(kind, rival).split(" (")[0], 1 / times if kind == "pgbench" else times


def share_of_next_id(results):
    """The time per id of next_ids, in words."""
    if results.median(("loop", "next_ids")) < SMALLEST:
        return f"less than {SMALLEST} ns"
    return f"{results.ratio(('loop', 'next_ids'), ('loop', 'next_id')):.2f} of the time of `next_id`"


def report(results, rounds, seconds):
    lines = []
    for title, floor, contenders in PGBENCH:
        inserts = "insert_1000_by_recipe" in contenders
        rows = []
        for name, (label, recipe) in contenders.items():
            key = ("pgbench", name)
            row = [label, f"{results.median(key):,.0f}", f"{results.spread(key):.0%}",
                   f"{results.ratio(key, ('pgbench', floor)):.2f}",
                   f"{results.ratio(key, ('pgbench', recipe)):.2f}" if recipe else ""]
            rows.append(row + [duplicates(name)[0]] if inserts else row)
        headings = [title, "tps", "spread", "to the floor", "to the recipe"]
        lines += table(headings + (["duplicates"] if inserts else []), rows) + [""]

    rows = []
    for name, (label, _, _, recipe) in LOOPS.items():
        key = ("loop", name)
        measured = [f"{results.median(key):,.1f}", f"{results.spread(key):.0%}",
                    f"{results.ratio(key, ('loop', 'nextval')):.2f}",
                    f"{1 / results.ratio(key, ('loop', recipe)):,.1f}"]
        rows.append([label, *([f"< {SMALLEST}", "", "", ""] if results.median(key) < SMALLEST else measured)])
    lines += table(["In a loop, one session", "ns per call, net", "spread", "to `nextval`",
                    "times the recipe's speed"], rows) + [""]

    rows = [[label, f"{results.median(('copy', name)):,.0f}", f"{results.spread(('copy', name)):.0%}",
             f"{results.ratio(('copy', name), ('copy', 'by_nextval')):.2f}"]
            for name, label in COPY_TABLES.items()]
    lines += table([f"COPY of {COPY_ROWS:,} rows, the id by DEFAULT", "ns per row", "spread",
                    "to `nextval`"], rows) + [""]

    rate = 1e9 / results.median(("gross", "next_id_default"))
    lines += [
        f"One generator in one session: {rate:,.0f} ids/s, {rate / CEILING:.1%} of the layout's "
        f"{CEILING:,}/s.",
        f"Per id, `next_ids` takes {share_of_next_id(results)}, net, where the layout has room; in the default layout it gives "
        f"{1e9 / results.median(('gross', 'next_ids_default')):,.0f} ids/s.",
        "Duplicates among values that 16 sessions took at the same time, 1,000 per call: " + ", ".join(
            "{} {:,} of {:,}".format(label, *given_twice(way)) for way, label in NOTED.items()) + ".",
        f"WAL of a million ids in one statement: `next_id` {results.median(('wal', 'next_id')):,.0f} "
        f"bytes, `nextval` {results.median(('wal', 'nextval')):,.0f} bytes.",
        slower(behind(results)),
        "",
        f"{rounds} rounds, {seconds} s for each pgbench run (`pgbench {' '.join(CLIENTS)}`); "
        f"{conditions('bench', ROUNDS=rounds, SECONDS=seconds)}",
    ]
    return lines


def main():
    arguments = options(__doc__, rounds=5, seconds=3)

    if not has_uuidv7():
        leave_out_uuidv7()
    results = measure(arguments.rounds, arguments.seconds)
    write_report(f"{arguments.out}/bench.md", report(results, arguments.rounds, arguments.seconds))
    draw(f"{arguments.out}/bench.md")

    wrong = [name for name in ("by_next_id", "by_next_ids", "by_nextval") if duplicates(name)[1]]
    wrong += [way for way in ("nextval_range",) if given_twice(way)[0]]
    sys.exit(f"duplicates in {', '.join(wrong)}" if wrong else 0)


main()
