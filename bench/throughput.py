#!/usr/bin/env python3
"""The scripts of bench/pgbench in turn: functions of shardid against the published ones, ids against other ids, four to 64
sessions, and INSERTs that wait for a synchronous standby. bench/publish.py draws docs/throughput.svg from its first table."""
import contextlib
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from common import Results, conditions, has_uuidv7, options, progress, psql, rotated, table, write_report

# Calls per transaction: 1 where the call generates an id.
COMPARED = {
    "next_id()": ("next_id", "next_id_plpgsql", 1),
    "INSERT with next_id()": ("insert_next_id", "insert_next_id_plpgsql", 1),
    "uuid_v1_from": ("uuid_v1_from", "uuid_v1_from_plpgsql", 1000),
    "uuid_v1_timestamp": ("uuid_v1_timestamp", "uuid_v1_timestamp_sql", 1000),
}
OTHERS = {"shardid": "next_id", "Instagram's function": "next_id_plpgsql", "nextval": "nextval", "uuidv7": "uuidv7",
          "gen_random_uuid": "gen_random_uuid"}
# One session is not shown: it mostly waits for a virtual machine to wake up its processes.
SESSIONS = (4, 16, 64)
WITH_STANDBY = {"shardid": "insert_next_id", "nextval": "insert_nextval"}
RATE, MEDIAN, WORST = "rate", "median", "99%"


def run(script, sessions, seconds):
    """Transactions per second, and latencies in ms from a sample of them."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["pgbench", "-n", "-M", "prepared", "-c", str(sessions), "-j", "2", "-T", str(seconds), "-l", "--log-prefix",
                   f"{folder}/log", "--sampling-rate", "0.1", "-f", f"bench/pgbench/{script}.sql", "shop"]
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        times = []
        for path in glob.glob(f"{folder}/log*"):
            with open(path, encoding="ascii") as log:
                times += [int(line.split()[2]) / 1000 for line in log]
    cuts = statistics.quantiles(times, n=100)
    return {RATE: float(re.search(r"tps = ([\d.]+)", out)[1]), MEDIAN: cuts[49], WORST: cuts[98]}


def measure(arguments, others):
    scripts = [(name, 16) for pair in COMPARED.values() for name in pair[:2]]
    scripts += [(prefix + name, 16) for name in others.values() for prefix in ("", "insert_")]
    scripts += [(name, sessions) for name in ("next_id", "nextval") for sessions in SESSIONS]
    scripts = list(dict.fromkeys(scripts))
    results = Results()
    for number in range(arguments.rounds):
        for script in rotated(scripts, number):
            for key, value in run(*script, arguments.seconds).items():
                results.add(script, key, value)
            progress(number, arguments.rounds, f"{script[0]}, {script[1]} sessions: {results.values[script, RATE][-1]:,.0f} tps")
    return results


@contextlib.contextmanager
def synchronous_standby():
    folder = f"{os.environ['SANDBOX']}/standby"
    subprocess.run(["pg_basebackup", "-D", folder, "-R", "-c", "fast"], check=True)
    subprocess.run(["pg_ctl", "-D", folder, "-l", f"{folder}.log", "-o", "-p 5433", "-w", "start"], stdout=subprocess.DEVNULL, check=True)
    try:
        psql("ALTER SYSTEM SET synchronous_standby_names = '*';\nSELECT pg_reload_conf()")
        while psql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").strip() == "0":
            time.sleep(0.1)
        yield
    finally:
        psql("ALTER SYSTEM RESET synchronous_standby_names;\nSELECT pg_reload_conf()")
        subprocess.run(["pg_ctl", "-D", folder, "-w", "stop"], stdout=subprocess.DEVNULL, check=True)


def measure_with_standby(arguments, results):
    with synchronous_standby():
        for number in range(arguments.rounds):
            for script in rotated(list(WITH_STANDBY.values()), number):
                for key, value in run(script, 16, arguments.seconds).items():
                    results.add(f"{script}, standby", key, value)
                progress(number, arguments.rounds, f"{script} beside a standby: {results.values[f'{script}, standby', RATE][-1]:,.0f} tps")


def compared(results):
    for label, (own, published, calls) in COMPARED.items():
        yield label, results.median((own, 16), RATE) * calls, results.median((published, 16), RATE) * calls


def main():
    arguments = options(__doc__, rounds=9, seconds=2)
    if os.getloadavg()[0] > 1:
        print(f"warning: the load of this machine is {os.getloadavg()[0]:.1f}; the figures will be those of a busy one", file=sys.stderr)
    psql("CREATE DATABASE shop", "postgres")
    psql("\\i bench/pgbench/setup.sql")
    others = {label: name for label, name in OTHERS.items() if name != "uuidv7" or has_uuidv7()}
    results = measure(arguments, others)
    measure_with_standby(arguments, results)
    lines = table(["calls per second", "shardid", "published function", "ratio"],
                  [[f"`{label}`" if " " not in label else label, f"{own:,.0f}", f"{published:,.0f}", f"{own / published:.2f}"]
                   for label, own, published in compared(results)])
    lines += ["", *table(["one id per transaction", "SELECT: tps", "INSERT: tps", "median ms", "99% ms"],
                         [[label, f"{results.median((name, 16), RATE):,.0f}", f"{results.median(('insert_' + name, 16), RATE):,.0f}",
                           *(f"{results.median(('insert_' + name, 16), key):.2f}" for key in (MEDIAN, WORST))]
                          for label, name in others.items()])]
    lines += ["", *table(["SELECT: tps", *(f"{sessions} sessions" for sessions in SESSIONS)],
                         [[label, *(f"{results.median((name, sessions), RATE):,.0f}" for sessions in SESSIONS)]
                          for label, name in (("`next_id()`", "next_id"), ("`nextval`", "nextval"))])]
    lines += ["", *table(["INSERT, with a synchronous standby", "tps", "median ms", "99% ms"],
                         [[label, f"{results.median(f'{name}, standby', RATE):,.0f}",
                           *(f"{results.median(f'{name}, standby', key):.2f}" for key in (MEDIAN, WORST))]
                          for label, name in WITH_STANDBY.items()])]
    lines += ["", "16 sessions where none are named; latencies of the INSERTs. Medians of the rounds, which in half of the rows "
              f"differ by at most {results.spread(RATE):.0%}: a smaller difference is none. Layout: the default, 1,024 ids a millisecond. "
              f"{conditions('bench', arguments)}"]
    write_report(f"{arguments.out}/throughput.md", lines)


main()
