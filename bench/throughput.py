#!/usr/bin/env python3
"""The scripts of bench/pgbench in turn: functions of shardid against the published ones, and ids against other ids.
bench/publish.py draws docs/throughput.svg from the first table."""
import statistics

from common import Results, conditions, has_uuidv7, latencies, options, progress, psql, rotated, table, write_report

# Calls per transaction: 1 where the call generates an id.
COMPARED = {
    "next_id()": ("next_id", "next_id_plpgsql", 1),
    "INSERT with next_id()": ("insert_next_id", "insert_next_id_plpgsql", 1),
    "uuid_v1_from": ("uuid_v1_from", "uuid_v1_from_plpgsql", 1000),
    "uuid_v1_timestamp": ("uuid_v1_timestamp", "uuid_v1_timestamp_sql", 1000),
}
OTHERS = {"shardid": "next_id", "Instagram's function": "next_id_plpgsql", "nextval": "nextval", "uuidv7": "uuidv7",
          "gen_random_uuid": "gen_random_uuid"}
RATE, MEDIAN, WORST = "rate", "median", "99%"


def run(script, seconds):
    rate, times = latencies(script, seconds, 0.1)
    cuts = statistics.quantiles(times, n=100)
    return {RATE: rate, MEDIAN: cuts[49], WORST: cuts[98]}


def measure(arguments, others):
    scripts = [name for pair in COMPARED.values() for name in pair[:2]]
    scripts += [prefix + name for name in others.values() for prefix in ("", "insert_")]
    scripts = list(dict.fromkeys(scripts))
    results = Results()
    for number in range(arguments.rounds):
        for script in rotated(scripts, number):
            for key, value in run(script, arguments.seconds).items():
                results.add(script, key, value)
            progress(number, arguments.rounds, f"{script}: {results.values[script, RATE][-1]:,.0f} tps")
    return results


def compared(results):
    for label, (own, published, calls) in COMPARED.items():
        yield label, results.median(own, RATE) * calls, results.median(published, RATE) * calls


def main():
    arguments = options(__doc__, rounds=9, seconds=2)
    psql("CREATE DATABASE shop", "postgres")
    psql("\\i bench/pgbench/setup.sql")
    others = {label: name for label, name in OTHERS.items() if name != "uuidv7" or has_uuidv7()}
    results = measure(arguments, others)
    lines = table(["calls per second", "shardid", "published function", "ratio"],
                  [[f"`{label}`" if " " not in label else label, f"{own:,.0f}", f"{published:,.0f}", f"{own / published:.2f}"]
                   for label, own, published in compared(results)])
    lines += ["", *table(["one id per transaction", "SELECT: tps", "INSERT: tps", "median ms", "99% ms"],
                         [[label, f"{results.median(name, RATE):,.0f}", f"{results.median('insert_' + name, RATE):,.0f}",
                           *(f"{results.median('insert_' + name, key):.2f}" for key in (MEDIAN, WORST))]
                          for label, name in others.items()])]
    lines += ["", "16 sessions; latencies of the INSERTs. Medians of the rounds, which in half of the rows "
              f"differ by at most {results.spread(RATE):.0%}: a smaller difference is none. Layout: the default, 1,024 ids a millisecond. "
              f"{conditions('bench', arguments)}"]
    write_report(f"{arguments.out}/throughput.md", lines)


main()
