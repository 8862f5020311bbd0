#!/usr/bin/env python3
"""Measures what a primary key adds to inserting rows, by the kind of its values.

The keys are made before and read from a table in the order in which they were made, so that what is
timed is the insertion of rows into the table and the index, not the generator. The same rows go into a
table without an index just before; the difference is the index's. Then a checkpoint, after which the
first change of a page writes the whole page into WAL, and some more rows.
"""
import argparse
import datetime
import os
import re
import statistics
import subprocess

# What it is, its type, an expression that makes one; n is the number of the key.
CONTENDERS = {
    "next_id": ("**`next_id`**", "bigint", "next_id(5)"),
    "nextval": ("`nextval`", "bigint", "nextval('plain')"),
    "uuid_v7": ("UUID version 7", "uuid", None),
    "uuid_v4": ("UUID version 4", "uuid", "gen_random_uuid()"),
}

# RFC 9562, section 6.2, method 3, as PostgreSQL 18's uuidv7() has it: 48 bits of milliseconds, 12 bits of
# their fraction, the rest random. One key a microsecond.
UUID_V7_BEFORE_18 = """overlay(overlay(gen_random_uuid()::text
    placing substr(lpad(to_hex(1790000000000 + n / 1000), 12, '0'), 1, 8) || '-'
         || substr(lpad(to_hex(1790000000000 + n / 1000), 12, '0'), 9, 4) || '-7' from 1 for 15)
    placing lpad(to_hex((n % 1000) * 4096 / 1000), 3, '0') from 16 for 3)::uuid"""

MORE_ROWS = 20000


def psql(sql):
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    return subprocess.run(command, input=sql, capture_output=True, text=True, check=True).stdout


def make_keys(rows):
    psql("CREATE EXTENSION shardid; CREATE SEQUENCE plain;")
    has_v7 = psql("SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'").strip() != "0"
    for name, (_, kind, expression) in CONTENDERS.items():
        expression = expression or ("uuidv7()" if has_v7 else UUID_V7_BEFORE_18)
        psql(f"""
CREATE UNLOGGED TABLE keys_{name} (key {kind});
CREATE UNLOGGED TABLE more_{name} (key {kind});
INSERT INTO keys_{name} SELECT {expression} FROM (SELECT generate_series(1, {rows}::bigint) AS n) s;
INSERT INTO more_{name}
SELECT {expression} FROM (SELECT generate_series({rows} + 1, {rows} + {MORE_ROWS}::bigint) AS n) s;
VACUUM ANALYZE keys_{name}, more_{name};
""")
    return "uuidv7()" if has_v7 else "made in SQL as uuidv7() of PostgreSQL 18 makes them"


def insert(table, keys):
    """Milliseconds and bytes of WAL of one INSERT ... SELECT."""
    out = psql(f"""
SET synchronize_seqscans = off;
SELECT pg_current_wal_insert_lsn() AS start \\gset
\\timing on
INSERT INTO {table} SELECT key FROM {keys};
\\timing off
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'start');
""")
    return float(re.search(r"^Time: ([\d.]+) ms", out, re.M)[1]), int(out.split()[-1])


def measure(name, rows):
    """One round of a contender: what is measured, each a row."""
    kind = CONTENDERS[name][1]
    psql(f"""
DROP TABLE IF EXISTS bare, keyed;
CREATE TABLE bare (key {kind});
CREATE TABLE keyed (key {kind} PRIMARY KEY);
CHECKPOINT;
""")
    bare_ms, bare_wal = insert("bare", f"keys_{name}")
    psql("CHECKPOINT")
    keyed_ms, keyed_wal = insert("keyed", f"keys_{name}")
    size = int(psql("SELECT pg_relation_size('keyed_pkey')"))
    psql("CHECKPOINT")
    more_bare_ms, more_bare_wal = insert("bare", f"more_{name}")
    more_keyed_ms, more_keyed_wal = insert("keyed", f"more_{name}")
    return {
        "size": size / rows,
        "us": keyed_ms * 1000 / rows,
        "index us": (keyed_ms - bare_ms) * 1000 / rows,
        "index wal": (keyed_wal - bare_wal) / rows,
        "more us": (more_keyed_ms - more_bare_ms) * 1000 / MORE_ROWS,
        "more wal": (more_keyed_wal - more_bare_wal) / MORE_ROWS,
    }


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return f"{os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}"


def report(results, rounds, rows, v7):
    lines = [
        f"| Primary key, {rows:,} rows | index, bytes a row | insert, us a row | of it the index | spread "
        "| index, WAL bytes a row | after a checkpoint: index, us a row | WAL bytes a row |",
        "| --- |" + " ---: |" * 7,
    ]
    for name, (label, _, _) in CONTENDERS.items():
        values = {key: [r[key] for r in results[name]] for key in results[name][0]}
        median = {key: statistics.median(v) for key, v in values.items()}
        spread = (max(values["index us"]) - min(values["index us"])) / median["index us"]
        lines.append(
            f"| {label} | {median['size']:.1f} | {median['us']:.2f} | {median['index us']:.2f} | {spread:.0%} "
            f"| {median['index wal']:.0f} | {median['more us']:.2f} | {median['more wal']:,.0f} |")
    version = psql("SHOW server_version").strip().split(" ")[0]
    return "\n".join(lines + [
        "",
        f"Medians of {rounds} rounds; after the checkpoint {MORE_ROWS:,} rows more; UUIDs of version 7: {v7}; "
        f"{machine()}; PostgreSQL {version}, shared_buffers {psql('SHOW shared_buffers').strip()}, no autovacuum; "
        f"{datetime.date.today().isoformat()}; `make bench-index ROUNDS={rounds} ROWS={rows}`.",
    ]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000000)
    parser.add_argument("--out", required=True, help="folder for index.md")
    arguments = parser.parse_args()

    v7 = make_keys(arguments.rows)
    results = {name: [] for name in CONTENDERS}
    for number in range(arguments.rounds):
        names = list(CONTENDERS)
        for name in names[number % len(names):] + names[:number % len(names)]:
            results[name].append(measure(name, arguments.rows))
            print(f"round {number + 1} of {arguments.rounds}: {name}: " +
                  ", ".join(f"{key} {value:.2f}" for key, value in results[name][-1].items()), flush=True)
    text = report(results, arguments.rounds, arguments.rows, v7)
    with open(f"{arguments.out}/index.md", "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


main()
