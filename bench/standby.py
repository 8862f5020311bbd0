#!/usr/bin/env python3
"""Latencies of INSERTs, without a standby and next to a synchronous one at some distances: next_id and nextval in turn."""
import contextlib
import os
import queue
import shutil
import socket
import statistics
import subprocess
import threading
import time

from common import CLIENTS, Contender, Results, latencies, measure, options, psql, summary, table, write_report

SANDBOX = os.environ["SANDBOX"]
# ms for the way there and back.
DISTANCES = {"no standby": None, "standby, no delay": 0, "standby 5 ms away": 5, "standby 40 ms away": 40}
SCRIPTS = {"`next_id()`": "insert_next_id", "`nextval`": "insert_nextval"}
CUTS = {"median": 500, "95%": 950, "99%": 990, "99.9%": 999}
HEADINGS = (*CUTS, "greatest")


def delay(source, target, seconds):
    """Passes on each byte so much later, until the source disconnects."""
    under_way = queue.SimpleQueue()

    def deliver():
        with contextlib.suppress(OSError):
            due, data = under_way.get()
            while data:
                time.sleep(max(0, due - time.monotonic()))
                target.sendall(data)
                due, data = under_way.get()
            target.shutdown(socket.SHUT_WR)

    threading.Thread(target=deliver, daemon=True).start()
    data = True
    with contextlib.suppress(OSError):
        while data:
            data = source.recv(65536)
            under_way.put((time.monotonic() + seconds, data))


def socket_at_distance(ms):
    """A directory with a socket that leads to the server, half of the time in each direction."""
    folder = f"{SANDBOX}/{ms}ms"
    os.mkdir(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/.s.PGSQL.5432")
    listener.listen()

    def serve():
        while True:
            near, server = listener.accept()[0], socket.socket(socket.AF_UNIX)
            server.connect(f"{SANDBOX}/.s.PGSQL.5432")
            for pair in ((near, server), (server, near)):
                threading.Thread(target=delay, args=(*pair, ms / 2000), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return folder


@contextlib.contextmanager
def synchronous_standby(ms):
    if ms is None:
        yield
        return
    folder = f"{SANDBOX}/standby"
    subprocess.run(["pg_basebackup", "-D", folder, "-R", "-c", "fast"], check=True)
    if ms > 0:
        with open(f"{folder}/postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.write(f"primary_conninfo = 'host={socket_at_distance(ms)} port=5432 user=postgres'\n")
    ctl = ["pg_ctl", "-D", folder, "-l", f"{folder}.log", "-o", "-p 5433", "-w"]
    subprocess.run([*ctl, "start"], stdout=subprocess.DEVNULL, check=True)
    psql("ALTER SYSTEM SET synchronous_standby_names = '*';\nSELECT pg_reload_conf()")
    while psql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").strip() == "0":
        time.sleep(0.1)
    yield
    psql("ALTER SYSTEM RESET synchronous_standby_names;\nSELECT pg_reload_conf()")
    subprocess.run([*ctl, "stop"], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(folder)


def cuts(contender, seconds):
    times = latencies(contender.call, seconds, 1)[1]
    per_thousand = statistics.quantiles(times, n=1000, method="inclusive")
    return {**{name: per_thousand[cut - 1] for name, cut in CUTS.items()}, "greatest": max(times)}


def cell(results, row, name):
    own, other = (results.median((row[0], label), name) for label in SCRIPTS)
    return f"{own:.2f} ({own / other:.2f})" if row[1] == next(iter(SCRIPTS)) else f"{other:.2f}"


def main():
    arguments = options(__doc__, rounds=5, seconds=10)
    psql("CREATE DATABASE shop", "postgres")
    psql("\\i bench/pgbench/setup.sql")
    results = Results()
    for distance, ms in DISTANCES.items():
        contenders = {(distance, label): Contender(f"{distance}, {label}", script, ("cuts",)) for label, script in SCRIPTS.items()}
        with synchronous_standby(ms):
            results.values |= measure(contenders, {"cuts": cuts}, arguments).values
    lines = table(["INSERT: ms", *HEADINGS],
                  [[f"{distance}, {label}", *(cell(results, (distance, label), name) for name in HEADINGS)]
                   for distance in DISTANCES for label in SCRIPTS])
    lines += ["", f"{CLIENTS} sessions. In parentheses: compared with `nextval`. Distance: a "
              f"delay of all bytes, half of it in each direction. {summary(results, HEADINGS, 'bench-standby', arguments)}"]
    write_report(f"{arguments.out}/standby.md", lines)


main()
