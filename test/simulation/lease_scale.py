#!/usr/bin/env python3
"""Leased shards of 10,000 members, simulated: load on the registry, leads, times to recover. Needs nothing installed.

    lease_scale.py              writes bench/results/lease_simulation.md and the columns of its charts; 2 minutes
    lease_scale.py --check      fails if a run has other results
    lease_scale.py --quick      some minutes of 500 members, simulated in seconds; also without each rule, which must
                                be detected
    lease_scale.py --quick --without from|holder|stay   shows what happens without that rule

Every window that the registry grants is judged: windows of different incarnations are disjoint (L1), and while a place
has a lease of a shard, no other place gets it, except by a takeover (L2).
"""
import argparse
import os
import sys

import lease_report as report
from lease_charts import RESULTS, draw_all
from lease_judge import Broken
from lease_registry import Costs
from lease_rules import RULES
from lease_world import ACTIVITY, SHARDS, SIZES, SPACES, Plan, World

OUTAGES = [(300, 10), (600, 120), (1200, 600)]
SEED = 1


def full_plan(arguments):
    return Plan(10_000, 2700, OUTAGES, restarts=2000, failovers=600, looping=20, beside=20, costs=Costs(arguments.capacity),
                seed=arguments.seed, without=arguments.without)


def quick_plan(arguments, without):
    return Plan(500, 240, [(70, 5), (110, 70)], restarts=200, failovers=60, looping=5, beside=5, costs=Costs(arguments.capacity),
                seed=arguments.seed, without=without)


def variants(arguments):
    def run(**what):
        return World(Plan(10_000, 420, [(120, 120)], seed=arguments.seed, **what)).run()

    capacity = arguments.capacity
    yield "nothing else", run(costs=Costs(capacity))
    yield "10,000 connections", run(costs=Costs(capacity, connections=10_000))
    yield "0.5 ms a request", run(costs=Costs(capacity, request=0.5))
    yield "0.1 ms to turn one away", run(costs=Costs(capacity, refusal=0.1))
    yield "the same, and pauses that double up to 8 s", run(costs=Costs(capacity, refusal=0.1), backoff=2.0)
    yield "renewals spread over a quarter of the lease", run(costs=Costs(capacity), spread=1 / 4)


def shares(kinds, form):
    return ", ".join(form(share, *what) for share, *what in kinds)


def about(world):
    """The conditions of the simulation, and how to repeat it."""
    plan = world.plan
    activity = shares(ACTIVITY, lambda share, gap, rate, name: f"{share:.0%} {name}")
    sizes = shares(SIZES, lambda share, size: f"{share:.0%} {size}")
    happened = ", ".join(f"{number:,} {what}" for what, number in sorted(world.happened.items()))
    return (f"{plan.members:,} members with {world.shards_held:,} leases of 60 s in {SPACES} spaces of {SHARDS:,} shards; "
            f"{plan.seconds} s; they draw: {activity}; leases of a database: {sizes}. {happened}; of the restarts some in loops, "
            f"one in 10 s. {plan.beside} members have a copy beside them that draws all the time: at the end "
            f"{world.shards_of_copies()} copies have the original's shard. The registry gives "
            f"{1000 / plan.costs.window:,.0f} windows a second, assumed, to {plan.costs.connections} connections. "
            f"{world.judge.given:,} windows judged. Seed {plan.seed}; `test/simulation/lease_scale.py`.")


def columns(rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def full(arguments):
    """The contents of a run's files, by their names."""
    world = World(full_plan(arguments)).run()
    lines = report.report(world, list(variants(arguments)), about(world))
    return {"lease_simulation.md": "\n".join(lines) + "\n", "lease_load.dat": columns(report.load_columns(world)),
            "lease_lead.dat": columns(report.lead_columns(world)), "lease_recover.dat": columns(report.recover_columns(world))}


def quick(arguments):
    world = World(quick_plan(arguments, arguments.without)).run()
    print("\n".join(report.report(world, [], about(world))))
    if arguments.without:
        sys.exit(f"nobody notices that the rule is left out: {arguments.without}")
    for rule in RULES:
        try:
            World(quick_plan(arguments, rule)).run()
        except Broken as broken:
            print(f"without the rule \"{rule}\": {broken}")
        else:
            sys.exit(f"nobody notices that the rule is left out: {rule}")
    if len(world.waits) < 4 or not world.back_after.get(1):
        sys.exit("too little happens")


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--without", choices=RULES, default="")
    parser.add_argument("--capacity", type=int, default=2000, help="windows a second that the registry gives")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()

    try:
        if arguments.quick:
            quick(arguments)
            return
        files = full(arguments)
    except Broken as broken:
        sys.exit(str(broken))
    print(files["lease_simulation.md"])
    if arguments.check:
        old = [name for name, content in files.items() if read(f"{RESULTS}/{name}") != content]
        sys.exit(f"not what the simulation gives: {', '.join(old)}" if old else 0)
    for name, content in files.items():
        with open(f"{RESULTS}/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    draw_all()


if __name__ == "__main__":
    main()
