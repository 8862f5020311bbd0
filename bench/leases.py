#!/usr/bin/env python3
"""Measures the cost of leases: a registry under renewals of many members, a call that waits for its window, and a
renewal of one, 64 and 1,000 leases in one round trip. Prints tables and writes them.

The registry and the member are databases of one cluster.
"""
import os
import re
import subprocess

from common import Results, conditions, milliseconds, options, progress, psql, quantile, table, write_report

LEASES = 10000
ROLE = "member"
SECOND_SHARE = 30  # s between two requests of a busy database, at the default lease of 60 s

# Script: (label, leases per call, sessions).
RENEWALS = {
    "renew_1": ("1 lease per call, 16 sessions", 1, 16),
    "renew_64": ("64 leases per call, 4 sessions", 64, 4),
}

REGISTRY = f"""
CREATE ROLE {ROLE} LOGIN PASSWORD 'secret';
CREATE EXTENSION shardid_lease CASCADE;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO {ROLE};
SELECT shardid_lease.create_id_space('many', shard_bits => 14, sequence_bits => 8);
SELECT shardid_lease.create_id_space('few');
SELECT shardid_lease.create_id_space('short', lease => '1 second', max_ahead => '5 hours');
CREATE FUNCTION ms_now() RETURNS bigint LANGUAGE sql RETURN shardid_lease.ms_of(clock_timestamp());
CREATE TABLE requests (n int PRIMARY KEY, request jsonb);
INSERT INTO requests
SELECT n, jsonb_build_object('space', 'many', 'shard', n, 'origin', gen_random_uuid(), 'place', md5(n::text),
    'incarnation', md5(n::text) || '@0/0', 'tick', 0, 'host', 'host' || n, 'port', 5432, 'database', 'shop',
    'system_identifier', '7710838336622955181', 'timeline', 1)
FROM generate_series(1, {LEASES}) n;
GRANT SELECT ON requests TO {ROLE};
SET ROLE {ROLE};
-- Each new shard is locked until the commit.
DO $$
BEGIN
    FOR batch IN 0 .. {(LEASES - 1) // 500} LOOP
        PERFORM 1 / bool_and((a->>'ok')::boolean)::int
        FROM (SELECT jsonb_agg(request || jsonb_build_object('clock', ms_now(), 'joins', true)) AS all_requests
              FROM requests WHERE (n - 1) / 500 = batch) r,
            shardid_lease.grant_shards(all_requests) g, jsonb_array_elements(g) a;
        COMMIT;
    END LOOP;
END $$;
RESET ROLE;
VACUUM ANALYZE;
"""

MEMBER = f"""
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '{{host}}', dbname '{{registry}}');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user '{ROLE}', password 'secret');
SELECT shardid_lease.lease_shard('short', 'registry');
"""

DRAW = "SELECT next_id()"
# The state that each draw of a cycle finds, with a lease of 1 s, and how long to wait before it.
CYCLE = (("`next_id`, whose window has expired: it waits for the next one", 2.2),
         ("`next_id`, within its window", 0.0),
         ("`next_id`, at half the window: it has the lease renewed, and does not wait", 0.7))
CYCLES = 20

GENERATORS = (1, 64, 1000)
TIMES = 11


def cpu_us():
    """CPU time of the server's processes that have ended."""
    with open(psql("SHOW data_directory").strip() + "/postmaster.pid", encoding="ascii") as file:
        postmaster = file.readline().strip()
    with open(f"/proc/{postmaster}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[13:15])) * 1e6 / os.sysconf("SC_CLK_TCK")


def measure_renewals(rounds, seconds):
    """By script, calls per second; and by script and "cpu", the server's us per call."""
    results = Results()
    for number in range(rounds):
        for name, (label, leases, sessions) in RENEWALS.items():
            before = cpu_us()
            out = subprocess.run(
                ["pgbench", "-n", "-M", "prepared", "-U", ROLE, "-c", str(sessions), "-j", "2", "-T", str(seconds),
                 "-D", f"leases={LEASES}", "-f", f"bench/pgbench/{name}.sql"],
                stdout=subprocess.PIPE, text=True, check=True).stdout
            rate = float(re.search(r"tps = ([\d.]+)", out)[1]) * leases
            renewed = int(re.search(r"processed: (\d+)", out)[1]) * leases
            results.add(name, rate)
            results.add((name, "cpu"), (cpu_us() - before) / renewed)
            progress(number, rounds, f"{label}: {rate:,.0f} renewals a second")
    return results


def measure_draws():
    statements = [DRAW]
    for _ in range(CYCLES):
        for _, wait in CYCLE:
            statements += [f"SELECT pg_sleep({wait})", DRAW]
    times = milliseconds(statements)[2::2]
    return {label: times[n::len(CYCLE)] for n, (label, _) in enumerate(CYCLE)}


def measure_calls():
    """ms of renew_leases(), by the number of generators."""
    psql("SELECT shardid_lease.release_shard();\n" +
         "".join(f"CREATE SEQUENCE g{n};\n" for n in range(1, GENERATORS[-1] + 1)))
    calls, done = {}, 0
    for count in GENERATORS:
        psql(f"SELECT count(shardid_lease.lease_shard('few', 'registry', format('g%s', n)::regclass))"
             f" FROM generate_series({done + 1}, {count}) n")
        done = count
        assert psql("SELECT shardid_lease.renew_leases()").strip() == str(count)
        calls[count] = milliseconds(["SELECT shardid_lease.renew_leases()"] * TIMES)
    return calls


def cells_of(times):
    return [f"{len(times)}"] + [f"{value:,.1f}" for value in (quantile(times, 0.5), min(times), max(times))]


def main():
    arguments = options(__doc__, rounds=3, seconds=5)

    registry = os.environ["PGDATABASE"]
    psql(REGISTRY)
    renewals = measure_renewals(arguments.rounds, arguments.seconds)
    psql("CREATE DATABASE member")
    os.environ["PGDATABASE"] = "member"
    psql(MEMBER.format(host=os.environ["PGHOST"], registry=registry))
    draws = measure_draws()
    calls = measure_calls()

    lines = table([f"Renewals by a registry with {LEASES:,} leases", "leases per second", "spread", "us of processor per lease",
                   "databases at a lease of 60 s, on open connections"],
                  [[label, f"{renewals.median(name):,.0f}", f"{renewals.spread(name):.0%}",
                    f"{renewals.median((name, 'cpu')):,.0f}",
                    f"{renewals.median(name) / leases * SECOND_SHARE:,.0f}"]
                   for name, (label, leases, _) in RENEWALS.items()])
    lines += ["", *table(["A call of a member, ms", "times", "p50", "min", "max"],
                         [[label, *cells_of(times)] for label, times in draws.items()] +
                         [[f"`renew_leases`, {count:,} in one round trip", *cells_of(times)]
                          for count, times in calls.items()])]
    lines += ["", f"{arguments.rounds} rounds, {arguments.seconds} s for each run of pgbench; registry and member are databases of "
              f"one server; {conditions('bench-leases', ROUNDS=arguments.rounds, SECONDS=arguments.seconds)}"]
    write_report(f"{arguments.out}/leases.md", lines)


main()
