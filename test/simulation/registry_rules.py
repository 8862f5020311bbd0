"""A registry's answers to members about the shards of an id space, and its owner's calls. No randomness, no messages.

Times are milliseconds. registry_world.py leaves out rules by their names.
"""
from collections import namedtuple
from copy import deepcopy
from itertools import count

LEASE, AHEAD, RECLAIM = 20, 100, 300
HELD, RELEASED, RESERVED = "held", "released", "reserved"

Here = namedtuple("Here", "place system timeline")
# Only the id space's secret can make a receipt and check it.
Receipt = namedtuple("Receipt", "secret shard branch serial until")
new_number = count(1).__next__


class Refused(Exception):
    pass


class Row:
    def __init__(self):
        self.state, self.origin, self.incarnation, self.here = RELEASED, None, None, None
        self.start = self.until = self.serial = self.tenure = 0

    def __str__(self):
        return f"{self.state} [{self.start}, {self.until}) serial {self.serial} {self.incarnation}"


class Space:
    def __init__(self, here, not_before):
        self.identity = self.secret = self.branch = new_number()
        self.confirmed, self.not_before, self.was_set_back, self.rows = here, not_before, False, {}

    def row(self, shard):
        return self.rows.get(shard) or Row()

    def last(self):
        return max((row.until for row in self.rows.values()), default=0)


class Registry:
    """A registry: its tables (space, dropped), its place, and its clock's time."""

    def __init__(self, rules, here):
        self.rules, self.here, self.now, self.dropped = rules, here, 0, 0
        self.create()

    def has(self, rule):
        return rule in self.rules

    def save(self):
        return deepcopy((self.space, self.dropped))

    def load(self, saved):
        self.space, self.dropped = deepcopy(saved)

    def is_confirmed(self):
        told, here = self.space.confirmed, self.here
        return ((here.place == told.place or not self.has("place"))
                and (here.timeline == told.timeline or not self.has("timeline")) and not self.space.was_set_back)

    def check_confirmed(self):
        if not self.is_confirmed():
            raise Refused("not confirmed")

    # Calls of the owner.

    def was_restored(self, newest_grant=0):
        space = self.space
        known = (self.now, space.not_before * self.has("kept"), space.last() * self.has("known"), newest_grant * self.has("newest"))
        space.not_before = max(known) + (AHEAD + LEASE) * self.has("margin")
        space.confirmed, space.was_set_back = self.here, False
        if self.has("branch"):
            space.branch = new_number()

    def was_moved(self):
        told, here = self.space.confirmed, self.here
        is_next = here.timeline - told.timeline in (0, 1) if here.system == told.system else here.timeline == 1
        if self.space.was_set_back or not (is_next or not self.has("successor")):
            raise Refused("call registry_was_restored")
        self.space.confirmed = here

    def check_owner(self):
        if self.has("owner too"):
            self.check_confirmed()

    def create(self):
        self.space = Space(self.here, self.dropped)

    def drop(self):
        space = self.space
        self.check_owner()
        is_early = (space.last() > self.now and self.has("drop waits")) or (space.not_before > self.now and self.has("drop after"))
        if is_early or any(row.state == RESERVED for row in space.rows.values()):
            raise Refused("a window runs")
        self.dropped = max(self.dropped, space.last() * self.has("drop keeps"), space.not_before * self.has("drop keeps"))

    def reserve(self, shard):
        row = self.space.row(shard)
        self.check_owner()
        is_early = (row.until > self.now and self.has("reserve waits")) or (
            self.space.not_before > self.now and self.has("reserve after"))
        if row.state != RELEASED or is_early:
            raise Refused("a window runs")
        self.space.rows[shard] = row
        row.state = RESERVED

    def unreserve(self, shard):
        self.check_owner()
        row = self.space.rows[shard]
        row.state, row.serial = RELEASED, row.serial + 1
        row.until = max(row.until, (self.now + AHEAD) * self.has("unreserved"))

    def evict(self, shard):
        self.check_owner()
        row = self.space.row(shard)
        if row.state != HELD:
            raise Refused("not held")
        row.state, row.serial = RELEASED, row.serial + 1

    # Requests of members.

    def check(self, ask):
        """Returns the serial that the request's receipt has for its shard."""
        space, receipt = self.space, ask.receipt
        if ask.identity not in (None, space.identity):
            if ask.kind not in ("joins", "takes over"):
                raise Refused("another id space")
            if self.has("forgotten"):
                receipt = None
        self.check_confirmed()
        if receipt is None:
            return 0
        if receipt.secret != space.secret:
            raise Refused("receipt")
        if receipt.branch == space.branch:
            is_lost = receipt.serial > space.row(receipt.shard).serial and self.has("serial")
        else:
            is_lost = receipt.until > space.not_before and self.has("other branch")
        if is_lost:
            space.was_set_back = True
            space.not_before = max(space.not_before, receipt.until * self.has("until"))
            raise Refused("set back")
        return receipt.serial if receipt.shard == ask.shard else 0

    def is_of_lost_history(self, ask, row, seen):
        return self.has("lost") and ask.receipt and seen > row.serial and ask.receipt.branch != self.space.branch

    def grant(self, ask):
        seen = self.check(ask)
        space, row = self.space, self.space.row(ask.shard)
        not_before = space.not_before if self.has("committed") else ask.not_before
        horizon = max(self.now, not_before) + AHEAD
        if ask.clock > (self.now + AHEAD if self.has("clock") else horizon) or ask.tick > horizon:
            raise Refused("too far ahead")
        own, wanted = row.origin == ask.origin, max(ask.clock, ask.tick)
        serial = max(row.serial, seen * self.has("seen")) + 1
        if row.state == RESERVED and self.has("reserved"):
            raise Refused("reserved")
        if row.state == RELEASED:
            if own and ask.kind != "takes over" and seen < row.serial and self.has("late"):
                raise Refused("released since")
            if ask.kind == "renews" and not self.is_of_lost_history(ask, row, seen) and self.has("renewal"):
                raise Refused("released")
        same = row.incarnation == ask.incarnation or not self.has("incarnation")
        is_old = row.start < not_before and self.has("old window")
        if row.state == HELD and own and same and ask.kind != "joins" and not is_old:
            row.until = max(row.until, wanted + LEASE)
        elif self.may_take(ask, row, own, same):
            start = max(row.until * self.has("from"), wanted, not_before)
            if start > horizon:
                raise Refused("too far ahead")
            row.state, row.origin, row.incarnation, row.here = HELD, ask.origin, ask.incarnation, ask.here
            row.start, row.until, row.tenure = start, start + LEASE, serial
        else:
            raise Refused("held")
        row.serial = serial
        space.rows[ask.shard] = row
        return Receipt(space.secret, ask.shard, space.branch, serial, row.until)

    def may_take(self, ask, row, own, same):
        if row.state != HELD:
            return True
        is_promoted = ask.here.system == row.here.system and ask.here.timeline > row.here.timeline
        if own and (same or row.here.place == ask.here.place or ask.kind == "takes over" or not self.has("holder")):
            return True
        if own and row.until < self.now and (is_promoted or not self.has("promotion")):
            return True
        return ask.kind == "joins" and row.until + RECLAIM < self.now

    def give_back(self, ask):
        """Returns a receipt, and whether the shard is released. No receipt: the shard is certainly another holder's."""
        seen = self.check(ask)
        space, row = self.space, self.space.row(ask.shard)
        is_here = row.here and row.here.place == ask.here.place
        if row.origin != ask.origin or (row.state == HELD and not is_here and self.has("place of return")):
            return None, True
        if row.state == HELD and (seen >= row.tenure or not self.has("tenure")):
            if row.incarnation == ask.incarnation or not self.has("returned by"):
                row.until = min(row.until, max(row.start, ask.tick))
            row.state = RELEASED
        if row.state == RELEASED:
            row.serial = max(row.serial, seen * self.has("seen")) + 1
        # Still held: the member has not received its last window, or sent this before that. It must ask again.
        return Receipt(space.secret, ask.shard, space.branch, row.serial, row.until), row.state == RELEASED
