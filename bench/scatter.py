#!/usr/bin/env python3
"""Measures over how many of ten partitions inserts of consecutive ids are spread, plain and scattered, and the cost
of scattering and short text compared with SQL that does the same. Prints tables and writes them.
"""
import statistics

from common import conditions, options, psql, rotated, table, write_report

# Ten ranges: of the ids with one first digit, and of all numbers from 0 to 2^63.
SAME_DIGIT = "trunc(id, -18) FROM (SELECT id::numeric FROM one_id) s), 1e17"
ALL_NUMBERS = "0), 9223372036854775807 / 10.0"

# Table: (label, id, partitions).
SPREADS = {
    "plain_ranges": ("`next_id(5)`, 10 ranges", "{}", SAME_DIGIT),
    "digit_ranges": ("**`scatter_digits`**`(next_id(5))`, 10 ranges", "scatter_digits({})", SAME_DIGIT),
    "bits_4_ranges": ("**`scatter_bits`**`(next_id(5), 4)`, 10 ranges", "scatter_bits({}, 4)", ALL_NUMBERS),
    "bits_8_ranges": ("**`scatter_bits`**`(next_id(5), 8)`, 10 ranges", "scatter_bits({}, 8)", ALL_NUMBERS),
    "plain_hashes": ("`next_id(5)`, 10 hash partitions", "{}", None),
    "digit_hashes": ("**`scatter_digits`**`(next_id(5))`, 10 hash partitions", "scatter_digits({})", None),
}
IN_BULK = 100000
ONE_BY_ONE = 1000
WINDOW = 100

# Label, call, calls per loop, the row of SQL that it is compared with.
FLOOR = "pg_backend_pid()"
COSTS = {
    "scatter_text": ("`scatter_digits` by text, inlined SQL", "baseline.scatter_digits(id)", 200000, "scatter_text"),
    "scatter_digits": ("**`scatter_digits(id)`**", "scatter_digits(id)", 1000000, "scatter_text"),
    "gather_text": ("`gather_digits` by text, inlined SQL", "baseline.gather_digits(id)", 200000, "gather_text"),
    "gather_digits": ("**`gather_digits(id)`**", "gather_digits(id)", 1000000, "gather_text"),
    "operators": ("`(id & 15) << 59 \\| id >> 4`", "baseline.scatter_bits(id)", 1000000, "operators"),
    "scatter_bits": ("**`scatter_bits(id, 4)`**", "scatter_bits(id, 4)", 2000000, "operators"),
    "gather_bits": ("**`gather_bits(id, 4)`**", "gather_bits(id, 4)", 2000000, "operators"),
    "to_text_recipe": ("`id_to_text` by PL/pgSQL", "baseline.id_to_text(id)", 50000, "to_text_recipe"),
    "id_to_text": ("**`id_to_text(id)`**", "id_to_text(id)", 1000000, "to_text_recipe"),
    "decimal": ("`id::text`", "id::text", 1000000, "to_text_recipe"),
    "from_text_recipe": ("`id_from_text` by PL/pgSQL", "baseline.id_from_text('3R2D9G4WA5001' || left(id::text, 0))",
                         50000, "from_text_recipe"),
    "id_from_text": ("**`id_from_text(text)`**", "id_from_text('3R2D9G4WA5001' || left(id::text, 0))", 500000,
                     "from_text_recipe"),
}
# ns; smaller values cannot be distinguished from zero.
SMALLEST = 2
# The part of calls that read text which makes the text not constant.
TEXT_FLOOR = "'3R2D9G4WA5001' || left(id::text, 0)"


def create_tables():
    for name, (_, _, ranges) in SPREADS.items():
        psql(f"SELECT baseline.create_ranges('{name}', (SELECT {ranges})" if ranges
             else f"SELECT baseline.create_hashes('{name}')")


# The number of partitions with rows, the largest share of a partition, and the largest share within lots of
# consecutive rows: the median of all lots.
def shares(table):
    return [float(value) for value in psql(f"""
WITH lots AS (SELECT n / {WINDOW} AS lot, tableoid, count(*) AS rows FROM {table} GROUP BY 1, 2),
     most AS (SELECT max(rows)::float8 / sum(rows) AS share FROM lots GROUP BY lot),
     parts AS (SELECT count(*) AS rows FROM {table} GROUP BY tableoid)
SELECT count(*), max(rows) / sum(rows), (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY share) FROM most) FROM parts
""").strip().split("|")]


def spread(table, expression):
    bulk = f"INSERT INTO {table} SELECT {expression}, n FROM (SELECT generate_series(0, {IN_BULK - 1}) AS n) s;"
    slowly = f"""DO $$ BEGIN FOR n IN 0 .. {ONE_BY_ONE - 1} LOOP
        INSERT INTO {table} VALUES ({expression}, n); COMMIT; PERFORM pg_sleep(0.001); END LOOP; END $$;"""
    rows = []
    for statement in (bulk, slowly):
        psql(f"TRUNCATE {table};\n{statement}")
        rows.append(shares(table))
    return rows


# CPU time, as the kernel counts it for the backend: other load of the machine would hide calls of a
# nanosecond or two.
def cpu_of(statements):
    clock = "SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1);\n"
    out = psql(clock + "".join(f"{statement} \\g /dev/null\n{clock}" for statement in statements))
    read = [int(line) for line in out.split()]
    return [after - before for before, after in zip(read, read[1:])]


def loop(call, count):
    """ns per call, net of the floor, both in one session one after the other."""
    rows = f"(SELECT id + generate_series(1, {count}) AS id FROM one_id) s"
    floor_call = TEXT_FLOOR if TEXT_FLOOR in call else FLOOR
    floor, own = cpu_of([f"SELECT count({f}) FROM {rows}" for f in (floor_call, call)])
    return (own - floor) / count


def spread_table():
    rows = []
    for name, (label, expression, _) in SPREADS.items():
        bulk, slow = spread(name, expression.format("next_id(5)"))
        rows.append([label, f"{bulk[0]:.0f}", f"{bulk[1]:.1%}", f"{bulk[2]:.0%}", f"{slow[1]:.1%}", f"{slow[2]:.0%}"])
    return table([f"{IN_BULK:,} rows in bulk, {ONE_BY_ONE:,} one by one", "partitions", "busiest, in bulk",
                  f"of {WINDOW} in a row", "busiest, one by one", f"of {WINDOW} in a row"], rows)


def cost_table(rounds):
    results = {name: [] for name in COSTS}
    for number in range(rounds):
        for name in rotated(COSTS, number):
            results[name].append(loop(COSTS[name][1], COSTS[name][2]))
    net = {name: max(SMALLEST, statistics.median(times)) for name, times in results.items()}
    rows = []
    for name, (label, _, _, beside) in COSTS.items():
        less, times = net[name] == SMALLEST, results[name]
        rows.append([label, f"{'under ' if less else ''}{net[name]:,.0f}", f"{min(times):,.0f} to {max(times):,.0f}",
                     f"{'over ' if less else ''}{net[beside] / net[name]:,.0f}"])
    return table(["In a loop, one session", "ns of processor a call, net", "range", "times that SQL's speed"], rows)


def main():
    arguments = options(__doc__, rounds=5)

    create_tables()
    lines = spread_table() + [""] + cost_table(arguments.rounds)
    lines += ["", f"{arguments.rounds} rounds; {conditions('bench-scatter', ROUNDS=arguments.rounds)}"]
    write_report(f"{arguments.out}/scatter.md", lines)


main()
