"""The registry's rule: what a request for a window of one shard gets. No clock, no randomness, no messages.

Times are milliseconds. An incarnation is what may use a window: a start of a server. A place is where it runs; an
origin is what copies and dumps have in common with what they were made from.
"""

NEVER_HELD = 0
AHEAD = "the time wanted is too far ahead"
HELD = "held by another"
# What can be left out, to see that it is missed.
RULES = ("from", "holder", "stay")


class Space:
    """An id space, of which all shards have one lease."""

    __slots__ = ("lease", "max_ahead", "reclaim_after", "not_before", "is_loose")

    def __init__(self, lease=60_000, max_ahead=3_600_000, reclaim_after=30 * 86_400_000, is_loose=False):
        self.lease, self.max_ahead, self.reclaim_after = lease, max_ahead, reclaim_after
        self.not_before = 0
        self.is_loose = is_loose  # as first designed; see lease_limits.py

    def was_restored(self, now):
        self.not_before = max(now, self.not_before) + self.max_ahead + self.lease

    def horizon(self, now):
        """No window begins later."""
        if self.is_loose:
            return now + self.max_ahead + self.lease
        return max(now, self.not_before) + self.max_ahead


class Row:
    """One shard: the window that was given last, and to whom."""

    __slots__ = ("holder", "origin", "place", "start", "until")

    def __init__(self):
        self.holder, self.origin, self.place = None, None, None
        self.start = self.until = NEVER_HELD


class Ask:
    """Who wants a window of one shard."""

    __slots__ = ("origin", "place", "incarnation", "wanted", "takes_over")

    def __init__(self, origin, place, incarnation, wanted, takes_over=False):
        self.origin, self.place, self.incarnation, self.wanted = origin, place, incarnation, wanted
        self.takes_over = takes_over


def may_take(space, row, ask, now, without):
    """Rule 3."""
    if row.holder is None or now - row.until > space.reclaim_after:
        return True
    if row.origin != ask.origin:
        return False
    return ask.takes_over or row.until < now or row.place == ask.place or without == "stay"


def extends(space, row, ask, without):
    """Rule 2."""
    if not space.is_loose and row.start < space.not_before:
        return False
    return row.holder == ask.incarnation or (without == "holder" and row.origin == ask.origin)


def grant(space, row, ask, now, without=""):
    """None, and the row has the window; or why not. By the registry's clock it is now."""
    if ask.wanted > (now + space.max_ahead if space.is_loose else space.horizon(now)):
        return AHEAD
    if extends(space, row, ask, without):
        row.until = max(row.until, ask.wanted + space.lease)
        return None
    if not may_take(space, row, ask, now, without):
        return HELD
    start = ask.wanted if without == "from" else max(row.until, ask.wanted, space.not_before)
    if start > space.horizon(now):
        return AHEAD
    row.holder, row.origin, row.place = ask.incarnation, ask.origin, ask.place
    row.start, row.until = start, start + space.lease
    return None
