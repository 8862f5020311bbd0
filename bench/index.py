#!/usr/bin/env python3
"""Measures what a primary key costs, by the kind of its values.

By one session: the keys are made before and read from a table in the order in which they were made, so that
what is timed is the insertion of rows into the table and the index, not the generator. The same rows go into a
table without an index just before; the difference is the index's. Then a checkpoint, after which the first
change of a page writes the whole page into WAL, and some more rows.

By 16 sessions at once: the keys are drawn by DEFAULT. Then the rows of a time in the midst are read, which is a
hundredth of them: by the key where it has a time, else by a second column that has one, and its own index.
"""
import re
import statistics
import subprocess

from chart import draw
from common import Results, conditions, has_uuidv7, options, progress, psql, rotated, slower, table, write_report

# RFC 9562, section 6.2, method 3, as PostgreSQL 18's uuidv7() has it: 48 bits of milliseconds, 12 bits of
# their fraction, the rest random. Of a number of microseconds.
UUID_V7_OF = """overlay(overlay(gen_random_uuid()::text
    placing substr(lpad(to_hex({us} / 1000), 12, '0'), 1, 8) || '-'
         || substr(lpad(to_hex({us} / 1000), 12, '0'), 9, 4) || '-7' from 1 for 15)
    placing lpad(to_hex(({us} % 1000) * 4096 / 1000), 3, '0') from 16 for 3)::uuid"""

# The smallest of a millisecond.
UUID_V7_BOUND = """overlay(overlay('00000000-0000-7000-8000-000000000000'
    placing substr(lpad(to_hex({ms}), 12, '0'), 1, 8) from 1 for 8)
    placing substr(lpad(to_hex({ms}), 12, '0'), 9, 4) from 10 for 4)::uuid"""
MS_OF = "(extract(epoch FROM {at}) * 1000)::bigint"


class Contender:
    """What it is, its type, an expression that makes one, n being the number of the key, and its DEFAULT; the
    smallest key of a time, where it has one."""

    def __init__(self, label, kind, made, default=None, bound=None):
        self.label, self.kind, self.made, self.default, self.bound = label, kind, made, default or made, bound


CONTENDERS = {
    "next_id": Contender("**`next_id`**", "bigint", "next_id(5)", bound="id_lower_bound({at})"),
    "nextval": Contender("`nextval`", "bigint", "nextval('plain')"),
    "uuid_v7": Contender("`uuidv7`", "uuid", "uuidv7()", bound=UUID_V7_BOUND.format(ms=MS_OF)),
    "uuid_v4": Contender("`gen_random_uuid`", "uuid", "gen_random_uuid()"),
}

MORE_ROWS = 20000
SESSIONS = 16
ROWS_A_STATEMENT = 100
READS = 5


def make_uuidv7():
    """One key a microsecond."""
    psql(f"""CREATE FUNCTION made_v7() RETURNS uuid LANGUAGE sql AS $$
        SELECT {UUID_V7_OF.format(us="us")} FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) s $$""")
    CONTENDERS["uuid_v7"].label = "UUID version 7, made in SQL"
    CONTENDERS["uuid_v7"].made = UUID_V7_OF.format(us="(1790000000000000 + n)")
    CONTENDERS["uuid_v7"].default = "made_v7()"


def make_keys(rows):
    for name, contender in CONTENDERS.items():
        psql(f"""
CREATE UNLOGGED TABLE keys_{name} (key {contender.kind});
CREATE UNLOGGED TABLE more_{name} (key {contender.kind});
INSERT INTO keys_{name} SELECT {contender.made} FROM (SELECT generate_series(1, {rows}::bigint) AS n) s;
INSERT INTO more_{name}
SELECT {contender.made} FROM (SELECT generate_series({rows} + 1, {rows} + {MORE_ROWS}::bigint) AS n) s;
VACUUM ANALYZE keys_{name}, more_{name};
""")


def insert(into, keys):
    """Milliseconds, bytes of WAL and full-page images of one INSERT ... SELECT."""
    out = psql(f"""
SET synchronize_seqscans = off;
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT wal_fpi AS images FROM pg_stat_wal \\gset
SELECT pg_current_wal_insert_lsn() AS start \\gset
\\timing on
INSERT INTO {into} SELECT key FROM {keys};
\\timing off
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'start');
SELECT pg_stat_force_next_flush() \\g /dev/null
SELECT wal_fpi - :images FROM pg_stat_wal;
""")
    wal, images = out.split()[-2:]
    return float(re.search(r"^Time: ([\d.]+) ms", out, re.M)[1]), int(wal), int(images)


def measure_one_session(name, rows):
    """One round of a contender, the share of the index in each where it says index."""
    kind = CONTENDERS[name].kind
    psql(f"""
CREATE TABLE bare (key {kind});
CREATE TABLE keyed (key {kind} PRIMARY KEY);
CHECKPOINT;
""")
    bare_ms, bare_wal, _ = insert("bare", f"keys_{name}")
    psql("CHECKPOINT")
    keyed_ms, keyed_wal, _ = insert("keyed", f"keys_{name}")
    size = int(psql("SELECT pg_relation_size('keyed_pkey')"))
    psql("CHECKPOINT")
    more_bare_ms, more_bare_wal, _ = insert("bare", f"more_{name}")
    more_keyed_ms, more_keyed_wal, images = insert("keyed", f"more_{name}")
    psql("DROP TABLE bare, keyed")
    return {
        "size": size / rows,
        "us": keyed_ms * 1000 / rows,
        "index us": (keyed_ms - bare_ms) * 1000 / rows,
        "wal": keyed_wal / rows,
        "index wal": (keyed_wal - bare_wal) / rows,
        "more us": (more_keyed_ms - more_bare_ms) * 1000 / MORE_ROWS,
        "more wal": (more_keyed_wal - more_bare_wal) / MORE_ROWS,
        "more images": images * 1000 / MORE_ROWS,
    }


def insert_together(rows, script):
    """us per row and bytes of WAL a row, of all sessions."""
    with open(script, "w", encoding="ascii") as file:
        file.write(f"INSERT INTO together (n) SELECT generate_series(1, {ROWS_A_STATEMENT});\n")
    times = max(1, rows // (SESSIONS * ROWS_A_STATEMENT))
    start = psql("SELECT pg_current_wal_insert_lsn()").strip()
    out = subprocess.run(["pgbench", "-n", "-M", "prepared", "-c", str(SESSIONS), "-j", "2", "-t", str(times), "-f", script],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    wal = int(psql(f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{start}')"))
    inserted = times * SESSIONS * ROWS_A_STATEMENT
    return 1e6 / (float(re.search(r"tps = ([\d.]+)", out)[1]) * ROWS_A_STATEMENT), wal / inserted, inserted


def read_by_time(contender):
    """(ms, rows) of a hundredth of the time in the midst of all inserts."""
    column, bound = ("key", contender.bound) if contender.bound else ("at", "{at}")
    low, high = (bound.format(at=f":'{end}'::timestamptz") for end in ("since", "until"))
    read = f"SELECT count(n) FROM together WHERE {column} >= :'low' AND {column} < :'high';\n"
    out = psql(f"""
SELECT date_trunc('milliseconds', first + (last - first) * 0.495) AS since,
       date_trunc('milliseconds', first + (last - first) * 0.505) AS until
FROM (SELECT min(at) AS first, max(at) AS last FROM together) s \\gset
SELECT {low} AS low, {high} AS high \\gset
{read}
\\timing on
{read * READS}""")
    times = [float(t) for t in re.findall(r"^Time: ([\d.]+) ms", out, re.M)]
    return statistics.median(times), int(out.split()[0])


def measure_together(name, rows, script):
    contender = CONTENDERS[name]
    psql(f"""
CREATE TABLE together (key {contender.kind} DEFAULT {contender.default} PRIMARY KEY, at timestamptz DEFAULT clock_timestamp(),
                       n int);
CHECKPOINT;
""")
    us, wal, inserted = insert_together(rows, script)
    size = int(psql("SELECT pg_relation_size('together_pkey')"))
    second = 0
    if not contender.bound:
        psql("CREATE INDEX together_at ON together (at)")
        second = int(psql("SELECT pg_relation_size('together_at')"))
    psql("VACUUM ANALYZE together")
    ms, found = read_by_time(contender)
    psql("DROP TABLE together")
    return {"size": size / inserted, "second": second / inserted, "us": us, "wal": wal, "read us": ms * 1000 / max(1, found)}


def measure(rounds, rows, script):
    results = Results()
    for number in range(rounds):
        for way, one in (("one", lambda name: measure_one_session(name, rows)),
                         ("together", lambda name: measure_together(name, rows, script))):
            for name in rotated(CONTENDERS, number):
                values = one(name)
                for key, value in values.items():
                    results.add((way, name, key), value)
                progress(number, rounds, f"{way}, {name}: " + ", ".join(f"{k} {v:.2f}" for k, v in values.items()))
    return results


# What of the two tables is compared for the sentence below them.
COMPARED = [("one", "size", "size of the index"), ("one", "us", "time of an insert"), ("one", "wal", "WAL"),
            ("one", "more us", "index's time after a checkpoint"), ("one", "more wal", "index's WAL after a checkpoint"),
            ("together", "size", "size of the index, 16 sessions"), ("together", "us", "time of an insert, 16 sessions"),
            ("together", "wal", "WAL, 16 sessions"), ("together", "read us", "read by time")]


def behind(results):
    for way, key, what in COMPARED:
        for rival in ("nextval", "uuid_v7", "uuid_v4"):
            yield (f"{CONTENDERS['next_id'].label} ({what})", CONTENDERS[rival].label,
                   results.ratio((way, "next_id", key), (way, rival, key)))


def report(results, rounds, rows):
    one, together = [], []
    for name, contender in CONTENDERS.items():
        def of(way, key, form=".2f"):
            return f"{results.median((way, name, key)):{form}}"

        one.append([contender.label, of("one", "size", ".1f"), of("one", "us"), of("one", "index us"),
                    f"{results.spread(('one', name, 'index us')):.0%}", of("one", "wal", ".0f"), of("one", "index wal", ".0f"),
                    of("one", "more us"), of("one", "more wal", ",.0f"), of("one", "more images", ",.0f")])
        second = "" if contender.bound else of("together", "second", ".1f")
        together.append([contender.label, of("together", "size", ".1f"), of("together", "us"),
                         f"{results.spread(('together', name, 'us')):.0%}", of("together", "wal", ".0f"), second,
                         of("together", "read us", ".3f")])
    lines = table(
        [f"Primary key, {rows:,} rows", "index, bytes per row", "insert, us per row", "of it the index", "spread",
         "WAL bytes per row", "of them the index", "after a checkpoint: index, us per row", "WAL bytes per row",
         "full-page images, 1,000 rows"], one) + [""]
    lines += table(
        [f"{rows:,} rows by {SESSIONS} sessions at once", "index, bytes per row", "insert, us per row", "spread",
         "WAL bytes per row", "second index for the time, bytes per row", "read by time, us per row"], together) + [""]
    memory = psql("SHOW shared_buffers").strip()
    return lines + [
        slower(behind(results)),
        "",
        f"Medians of {rounds} rounds; after the checkpoint {MORE_ROWS:,} rows more; {ROWS_A_STATEMENT} rows per statement of the "
        f"{SESSIONS}, with a column of the time; "
        f"{conditions('bench-index', f'shared_buffers {memory}, no autovacuum', ROUNDS=rounds, ROWS=rows)}",
    ]


def main():
    arguments = options(__doc__, rounds=3, rows=5000000)

    psql("CREATE EXTENSION shardid; CREATE SEQUENCE plain;")
    if not has_uuidv7():
        make_uuidv7()
    make_keys(arguments.rows)
    results = measure(arguments.rounds, arguments.rows, f"{arguments.out}/../together.sql")
    write_report(f"{arguments.out}/index.md", report(results, arguments.rounds, arguments.rows))
    draw(f"{arguments.out}/index.md")


main()
