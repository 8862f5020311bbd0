"""The results of a simulation, as Markdown and as columns for the charts."""

import lease_limits
from lease_world import BEGIN

ORDER = ["restart", "failover with take-over", "failover", "window over"]
NAMES = {"window over": "call after a long pause", "failover": "failover, without a take-over",
         "failover with take-over": "failover, with a take-over", "restart": "restart"}
SHARES = [n / 200 for n in range(200)] + [0.999, 1.0]


def quantile(values, share):
    """The value below which this share of the sorted values is."""
    return values[min(len(values) - 1, int(share * len(values)))]


def span(ms):
    """With three digits."""
    if ms < 1000:
        return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"
    return f"{ms / 1000:.1f} s" if ms < 100_000 else f"{ms / 60_000:.1f} min"


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def of_seconds(counter, first, last):
    """The counts of these seconds of the simulation."""
    return [counter[BEGIN // 1000 + second] for second in range(first, last)]


def length_of(outage):
    seconds = outage[1]
    return f"{seconds} s" if seconds < 300 else f"{seconds // 60} min"


def mean(values):
    return sum(values) / max(1, len(values))


def load_rows(world):
    registry, plan = world.registry, world.plan
    rows = []

    def row(name, first, last):
        came, turned, windows = (of_seconds(c, first, last) for c in (registry.came, registry.turned_away, registry.windows))
        busy = [(w * plan.costs.window + of * plan.costs.request) / 1000
                for w, of in zip(windows, of_seconds(registry.answered, first, last))]
        rows.append([name, f"{mean(came):,.0f}", f"{max(came):,}", f"{max(turned):,}", f"{mean(windows):,.0f}",
                     f"{max(windows):,}", f"{mean(busy):.0%}"])

    first_outage = plan.outages[0][0]
    row("before the outages", 60, first_outage)
    for number, (start, length) in enumerate(plan.outages):
        after = start + length
        before_next = plan.outages[number + 1][0] if number + 1 < len(plan.outages) else plan.seconds
        row(f"{length_of(plan.outages[number])} away", start, after)
        row("the 30 s after", after, min(before_next, after + 30))
        row("then, up to the next" if number + 1 < len(plan.outages) else "then, up to the end", after + 30, before_next)
    return rows


def outage_rows(world):
    rows = []
    for number, outage in enumerate(world.plan.outages):
        went_on = sorted(world.went_on.get(number, []))
        back = sorted(world.back_after.get(number, []))
        rows.append([length_of(outage), f"{len(back):,}", span(went_on[0]) if went_on else "",
                     *(span(quantile(back, share)) if back else "" for share in (0.5, 0.99, 1))])
    return rows


def wait_rows(world):
    rows = []
    for is_away in (False, True):
        for reason in ORDER:
            waits = sorted(world.waits.get((reason, is_away), []))
            if waits:
                rows.append([NAMES[reason] + (", within an outage or the 30 s after" if is_away else ""), f"{len(waits):,}",
                             *(span(quantile(waits, share)) for share in (0.5, 0.99, 1))])
    return rows


RESTARTS = [1, 2, 3, 5, 10, 30, 60, 61, 62, 100]


def limit_rows():
    rows = []
    for times in RESTARTS:
        at_once = lease_limits.leads(times, 0)
        rows.append([times, span(at_once[0]), span(lease_limits.leads(times, 60_000 // times)[0]),
                     span(lease_limits.leads(times, 300_000)[0]), span(lease_limits.leads(times, 300_000, 1)[0]),
                     span(at_once[1]) if at_once[1] else "none", span(at_once[2])])
    return rows


def lost_rows():
    """The windows of a restored registry, by the rules as first designed, and as they are."""
    return [[what] + ["meet" if lease_limits.restored(is_loose, *how) else "disjoint" for is_loose in (True, False)]
            for what, how in lease_limits.LOST.items()]


def variant_rows(variants):
    rows = []
    for name, world in variants:
        start, length = world.plan.outages[0]
        end = start + length
        back = sorted(world.back_after.get(0, []))
        swing = of_seconds(world.registry.windows, world.plan.seconds - 60, world.plan.seconds)
        waiting = sum(member.blocked_at is not None for member in world.members)
        rows.append([name, f"{max(of_seconds(world.registry.came, start, end + 60)):,}", span(quantile(back, 0.5)),
                     span(quantile(back, 0.99)), f"{len(back) / (len(back) + waiting):.1%}", f"{max(swing):,}"])
    return rows


def lead_rows(world):
    worst = max(lead[2] for lead in world.leads)
    return [["worst of all", span(worst)], ["worst 99th percentile of all members", span(max(lead[1] for lead in world.leads))],
            ["most members that were more than 2 s ahead at once", f"{max(lead[3] for lead in world.leads):.2%}"]]


def report(world, variants, about):
    lines = table(["Load on the registry", "requests a second, mean", "most", "turned away, most", "windows a second, mean",
                   "most", "busy"], load_rows(world))
    lines += table(["Outage", "members whose window ended", "went on for at least", "back after it: half of them", "99%", "all"],
                   outage_rows(world))
    lines += table(["From the first call to its id", "number", "half of them within", "99%", "all"], wait_rows(world))
    lines += table(["Lead of ids over true time, clocks up to 1 s wrong", "simulated"], lead_rows(world))
    lines += table(["Restarts, each just after a renewal", "lead, all at once", "lead, evenly in 60 s", "lead, one in 5 minutes",
                    "the same at the layout's ceiling", "longest wait for a window, all at once",
                    "a copy then waits, without a take-over"], limit_rows())
    lines += table(["Lost by a registry that was told so", "windows, by the rules first designed", "by the rules as they are"], lost_rows())
    if variants:
        lines += table(["An outage of 120 s, and", "requests a second, most", "back after it: half of them", "99%", "back at all",
                        "windows a second at the end, most"], variant_rows(variants))
    return lines + [about]


def load_columns(world, step=5):
    counters = (world.registry.came, world.registry.turned_away, world.registry.windows)
    yield "second", "requests", "turned_away", "windows"
    for first in range(0, world.plan.seconds, step):
        yield (first, *(f"{mean(of_seconds(counter, first, first + step)):.1f}" for counter in counters))


def lead_columns(world):
    yield "second", "p99", "worst"
    for second, p99, worst, _ in world.leads:
        yield second, f"{p99 / 1000:.3f}", f"{worst / 1000:.3f}"


def recover_columns(world):
    """In how many seconds this share drew again."""
    kinds = [("restart", world.waits[("restart", False)]), ("take_over", world.waits[("failover with take-over", False)]),
             ("failover", world.waits[("failover", False)])]
    kinds += [(f"outage_{length}", world.back_after[number]) for number, (_, length) in enumerate(world.plan.outages)
              if number in world.back_after and len(world.back_after[number]) > 100]
    yield ("share", *(name for name, _ in kinds))
    kinds = [sorted(values) for _, values in kinds]
    for share in SHARES:
        yield (f"{share:g}", *(f"{quantile(values, share) / 1000:.4f}" for values in kinds))
