"""The limits of the rule alone: leads by restarts, and a registry that has lost commits."""
from copy import copy

from lease_judge import Broken, Judge
from lease_rules import Ask, Row, Space, grant

START = 10_000_000
RENEWS_AFTER = 15_000
ORIGIN, PLACE, ELSEWHERE = "origin", 0, 1


def first_grant(space, row, incarnation, clock, last=0):
    """The clock's time at which the incarnation gets its window, if it asks every 100 ms."""
    while grant(space, row, Ask(ORIGIN, PLACE, incarnation, max(clock, last)), clock):
        clock += 100
    return clock


def leads(times, spacing, rate=0.0):
    """After this number of restarts at equal intervals, each just after a renewal: the lead of the first id, the
    longest wait for a window, and how long a copy elsewhere waits if the server then dies."""
    space, row = Space(), Row()
    clock = first_grant(space, row, 0, START)
    last, longest = clock, 0
    for number in range(1, times + 1):
        asked = clock + spacing
        while True:
            step = min(RENEWS_AFTER, asked - clock)
            clock += step
            last = max(last, min(row.until - 1, int(last + rate * step)))
            grant(space, row, Ask(ORIGIN, PLACE, number - 1, max(clock, last)), clock)
            if clock == asked:
                break
        clock = first_grant(space, row, number, asked, last)
        longest = max(longest, clock - asked)
        last = max(clock, row.start)
    return last - clock, longest, row.until - clock


def restored(is_loose, lose, then):
    """A registry restored to its state before lose(), after was_restored(): None, or the windows that overlap."""
    space, row, judge = Space(is_loose=is_loose), Row(), Judge(holder_stays=False)

    def given(rows, clock, incarnation, place, takes_over=False):
        ask = Ask(ORIGIN, place, incarnation, clock, takes_over)
        if grant(space, rows, ask, clock) is None:
            judge.note("shard", ask, rows.start, rows.until, clock)

    given(row, START, 0, PLACE)
    lost = copy(row)
    clock = lose(lambda *ask: given(lost, *ask))
    space.was_restored(clock)
    try:
        for later in range(clock, clock + 2 * space.max_ahead, 10_000):
            given(row, later, *then)
    except Broken as broken:
        return str(broken)
    return None


def lost_takeover(given):
    """A copy has taken the shard over, and the old holder still runs."""
    given(START + 1000, 1, ELSEWHERE, True)
    return START + 2000


def lost_restarts(given):
    """Restarts have moved a window as far ahead as the rule allows."""
    for number in range(1, 80):
        given(START + 1000, number, PLACE)
    return START + 1000


# What was lost, and which incarnation asks afterwards.
LOST = {"a take-over; the old holder goes on": (lost_takeover, (0, PLACE)),
        "80 restarts within a second; a copy takes over": (lost_restarts, (100, ELSEWHERE, True))}
