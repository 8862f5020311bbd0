#!/usr/bin/env python3
"""What a call of next_id waits for with a leased generator. Registry and member are databases of one server."""
import os

from common import conditions, create_databases, milliseconds, options, psql, table, write_report

REGISTRY = """
CREATE ROLE member LOGIN PASSWORD 'secret';
CREATE EXTENSION shardid_lease CASCADE;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO member;
SELECT shardid_lease.create_id_space('short', lease => '1 second', max_ahead => '5 hours');
"""
MEMBER = f"""
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '{os.environ["PGHOST"]}', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'member', password 'secret');
SELECT shardid_lease.lease_shard('short', 'registry');
"""
# The state that each call of a cycle finds, with a lease of 1 s, and how long to wait before it.
CYCLE = (("its window has expired: it waits for the next one", 2.2), ("within its window", 0.0),
         ("at half the window: it has the lease renewed, and does not wait", 0.7))
CYCLES = 10


def main():
    arguments = options(__doc__, rounds=3, seconds=0)
    create_databases()
    psql(REGISTRY, "postgres")
    psql(MEMBER)
    statements = ["SELECT next_id()"]
    for _ in range(CYCLES * arguments.rounds):
        for _, wait in CYCLE:
            statements += [f"SELECT pg_sleep({wait})", "SELECT next_id()"]
    times = milliseconds(statements)[2::2]
    rows = []
    for n, (label, _) in enumerate(CYCLE):
        own = sorted(times[n::len(CYCLE)])
        rows.append([label, f"{own[len(own) // 2]:,.1f}", f"{own[0]:,.1f}", f"{own[-1]:,.1f}"])
    lines = table(["`next_id`, leased, ms", "median", "min", "max"], rows)
    lines += ["", f"{CYCLES * arguments.rounds} calls each; registry and member on one server; "
              f"{conditions('bench-leases', arguments)}"]
    write_report(f"{arguments.out}/leases.md", lines)


main()
