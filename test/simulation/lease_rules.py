"""The registry's rule: the answer to a request for a window of one shard. No clock, no randomness, no messages.

Times are milliseconds. An incarnation is the user of a window: one start of a server. A place is where it runs; copies
and dumps have the origin of their original.
"""

NEVER_HELD = 0
AHEAD = "the time wanted is too far ahead"
HELD = "held by another"
# Rules that can be left out, to test that the simulation detects it.
RULES = ("from", "holder", "stay")


class Space:
    """An id space: all its shards have leases of the same length."""

    __slots__ = ("lease", "max_ahead", "reclaim_after", "not_before", "is_loose")

    def __init__(self, lease=60_000, max_ahead=3_600_000, reclaim_after=30 * 86_400_000, is_loose=False):
        self.lease, self.max_ahead, self.reclaim_after = lease, max_ahead, reclaim_after
        self.not_before = 0
        self.is_loose = is_loose  # as first designed; see lease_limits.py

    def was_restored(self, now):
        self.not_before = max(now, self.not_before) + self.max_ahead + self.lease

    def horizon(self, now):
        """No window begins later than this."""
        if self.is_loose:
            return now + self.max_ahead + self.lease
        return max(now, self.not_before) + self.max_ahead


class Row:
    """One shard: its last window and its holder."""

    __slots__ = ("holder", "origin", "place", "start", "until")

    def __init__(self):
        self.holder, self.origin, self.place = None, None, None
        self.start = self.until = NEVER_HELD


class Ask:
    """A request for a window of one shard."""

    __slots__ = ("origin", "place", "incarnation", "wanted", "takes_over")

    def __init__(self, origin, place, incarnation, wanted, takes_over=False):
        self.origin, self.place, self.incarnation, self.wanted = origin, place, incarnation, wanted
        self.takes_over = takes_over


def may_take(space, row, ask, now, without):
    """Rule 3: who may get a new window."""
    if row.holder is None or now - row.until > space.reclaim_after:
        return True
    if row.origin != ask.origin:
        return False
    return ask.takes_over or row.until < now or row.place == ask.place or without == "stay"


def extends(space, row, ask, without):
    """Rule 2: whether the present window is extended."""
    if not space.is_loose and row.start < space.not_before:
        return False
    return row.holder == ask.incarnation or (without == "holder" and row.origin == ask.origin)


def grant(space, row, ask, now, without=""):
    """Returns None and changes the row, or returns the reason. now: by the registry's clock."""
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
