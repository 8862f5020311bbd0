#!/usr/bin/env python3
"""Whether anything grows: 64 databases that lease their shards from a registry, which is stopped in each quarter of the
time. A session in each database inserts two rows per second and reads all partitions, of which there are always five.
Each minute they are maintained, and the metrics of examples/monitoring are read. The first quarter warms up; the last
is compared with the second, and the exit status is 1 if something has grown."""
import os
import re
import statistics
import subprocess
import sys
import time

from common import conditions, options, progress, psql, table, write_report

DATABASES = [f"member_{n:02}" for n in range(64)]
LEASE, OUTAGE, EVERY = 20, 40, 60  # seconds
# How much more a level, and a rate per hour, may be in the last quarter: a part of it, and some.
MORE_LEVEL, MORE_RATE = (0.05, 5), (0.25, 50)
SANDBOX = os.environ["SANDBOX"]
MEMBERS, MEMBERS_DATA = "postgres", f"{SANDBOX}/data"
REGISTRY_DATA = f"{SANDBOX}/registry"
REGISTRY = f"host={SANDBOX} port=5433 dbname=postgres"

OF_REGISTRY = f"""
CREATE ROLE member LOGIN;
CREATE EXTENSION shardid_lease CASCADE;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO member;
SELECT shardid_lease.create_id_space('shop', lease => '{LEASE} s');
"""
OF_MEMBER = f"""
CREATE SCHEMA ids;
SET search_path = public, ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_lease CASCADE;
CREATE EXTENSION shardid_admin;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '{SANDBOX}', port '5433', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'member');
SELECT shardid_lease.lease_shard('shop', 'registry');
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT next_id(), what text) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('events', '1 hour', since => now() - interval '2 hours');
"""
INSERT = """
DO $$ BEGIN
    INSERT INTO events (what) VALUES ('one');
EXCEPTION WHEN cannot_connect_now THEN
END $$;
SELECT max(id) FROM events;
"""
# The newest partition is of some hours later, and empty. The oldest is dropped an hour after its end.
MAINTAIN = r"""
SELECT format('DROP TABLE %s', max(inhrelid::regclass::text)) FROM pg_inherits WHERE inhparent = 'events'::regclass
\gexec
CALL shardid_admin.maintain_id_partitions('events', '1 hour', keep => '1 hour');
"""
WAL_KB = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint / 1024"


def registry_ctl(*words):
    subprocess.run(["pg_ctl", "-D", REGISTRY_DATA, "-l", f"{SANDBOX}/registry.log", "-w", *words],
                   stdout=subprocess.DEVNULL, check=True)


def create_registry():
    command = ["initdb", "-D", REGISTRY_DATA, "-U", "postgres", "-A", "trust"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with open(f"{MEMBERS_DATA}/postgresql.conf", encoding="utf-8") as members:
        with open(f"{REGISTRY_DATA}/postgresql.conf", "a", encoding="utf-8") as conf:
            conf.write(members.read() + "port = 5433\n")
    registry_ctl("start")
    psql("SET client_min_messages = warning;" + OF_REGISTRY, REGISTRY)


def in_each(sql, role="postgres"):
    return psql("".join(f"\\connect {name} {role}\n{sql};\n" for name in DATABASES), MEMBERS)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def processes(data, database):
    """The server's processes that last, not lease workers, their sessions in the registry, and pgbench's first ones."""
    lasting = psql("SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench' AND query LIKE '%events%' OR "
                   "backend_type IN ('background writer', 'checkpointer', 'walwriter')", database)
    return [read(f"{data}/postmaster.pid").split("\n", maxsplit=1)[0], *lasting.split()]


def own_memory(pid):
    return int(re.search(r"^RssAnon:\s+(\d+)", read(f"/proc/{pid}/status"), re.M)[1])


def lines_of(log):
    return read(log).count("\n")


LEVELS = {
    "memory of 64 sessions and their server, kB": lambda: sum(map(own_memory, processes(MEMBERS_DATA, MEMBERS))),
    "memory of the registry's server, kB": lambda: sum(map(own_memory, processes(REGISTRY_DATA, REGISTRY))),
    "file descriptors of both servers": lambda: sum(
        len(os.listdir(f"/proc/{pid}/fd"))
        for pid in processes(MEMBERS_DATA, MEMBERS) + processes(REGISTRY_DATA, REGISTRY)),
    "size of the registry, kB": lambda: int(psql("SELECT pg_database_size('postgres') / 1024", REGISTRY)),
    "segments of shared memory of the members": lambda: len(os.listdir(f"{MEMBERS_DATA}/pg_dynshmem")),
}
# Counters, of which the table has the growth per hour.
COUNTERS = {
    "lines in the members' log": lambda: lines_of(f"{SANDBOX}/server.log"),
    "lines in the registry's log": lambda: lines_of(f"{SANDBOX}/registry.log"),
    "WAL of the members, kB": lambda: int(psql(WAL_KB, MEMBERS)),
    "WAL of the registry, kB": lambda: int(psql(WAL_KB, REGISTRY)),
}


def sampled():
    return {name: ask() for name, ask in [*LEVELS.items(), *COUNTERS.items()]}


def maintain():
    in_each(MAINTAIN)
    for query in re.findall(r"query: \|\n((?: {10}.*\n)+)", read("examples/monitoring/sql_exporter.yml")):
        in_each(query, "shardid_monitor")


def quarter(number, seconds):
    """Samples of a quarter, at equal distances, without those of the outage in its middle."""
    start, samples, outage = time.monotonic(), [sampled()], True
    while (left := start + seconds - time.monotonic()) > 0:
        if outage and left < seconds / 2:
            outage = False
            registry_ctl("stop", "-m", "immediate")
            time.sleep(OUTAGE)
            registry_ctl("start")
        else:
            time.sleep(min(left, EVERY, seconds / 8))
            maintain()
            samples.append(sampled())
        progress(number, 4, f"{left:.0f} s left")
    values = {name: statistics.median(sample[name] for sample in samples) for name in LEVELS}
    hours = (time.monotonic() - start) / 3600
    return values | {name: (samples[-1][name] - samples[0][name]) / hours for name in COUNTERS}


def has_grown(name, before, now):
    part, some = MORE_RATE if name in COUNTERS else MORE_LEVEL
    return now > before * (1 + part) + some


def row(name, quarters):
    values = [values[name] for values in quarters[1:]]
    return [f"{name}, per hour" if name in COUNTERS else name, *(f"{value:,.0f}" for value in values),
            "yes" if has_grown(name, values[0], values[-1]) else "no"]


def load():
    """A session in each database, without an end."""
    script = f"{SANDBOX}/insert.sql"
    with open(script, "w", encoding="utf-8") as file:
        file.write(INSERT)
    return [subprocess.Popen(["pgbench", "-n", "-c", "1", "-R", "2", "-T", "1000000", "-f", script, name],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for name in DATABASES]


def main():
    arguments = options(__doc__, rounds=1, seconds=3600)
    create_registry()
    psql("".join(f"CREATE DATABASE {name};\n" for name in DATABASES), MEMBERS)
    in_each("SET client_min_messages = warning;" + OF_MEMBER)
    in_each("SET client_min_messages = warning;" + read("examples/monitoring/role.sql"))
    clients = load()
    quarters = [quarter(number, arguments.seconds / 4) for number in range(4)]
    failed = [client.stderr.read() for client in clients if client.poll() is not None]
    for client in clients:
        client.kill()
    inserted = sum(map(int, in_each("SELECT count(*) FROM events").split()))
    wrong = [f"{name} has grown" for name in quarters[3] if has_grown(name, quarters[1][name], quarters[3][name])]
    wrong += [f"a client failed: {error}" for error in failed]
    lines = table(["", "second quarter", "third quarter", "last quarter", "has grown"],
                  [row(name, quarters) for name in quarters[0]])
    lines += ["", f"{inserted:,} rows inserted in {arguments.seconds / 60:g} minutes. A lease has {LEASE} s, each quarter an "
              f"outage of {OUTAGE} s. "
              f"{'; '.join(wrong) or 'Nothing has grown'}. "
              f"{conditions('soak', arguments, MINUTES=arguments.seconds // 60)}"]
    write_report(f"{arguments.out}/soak.md", lines)
    sys.exit(1 if wrong else 0)


main()
