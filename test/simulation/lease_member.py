"""A member: a database that draws for its leased shards, and asks the registry for windows.

Ids are not drawn one by one. Only the time of the next id is computed: that of the clock; or, if the last id was ahead
of the clock, the last id's time plus the part of each millisecond that the draws use up.
"""
from lease_rules import Ask

# A renewal is asked for this part of a lease before its end, or up to ASK_SPREAD of a lease earlier.
ASK_BEFORE = 1 / 2
ASK_SPREAD = 1 / 16


class Lease:
    """One leased shard as the member has it. last: the time of the last id when the clock showed settled."""

    __slots__ = ("space", "shard", "origin", "start", "until", "last", "settled")

    def __init__(self, space, shard, origin):
        self.space, self.shard, self.origin = space, shard, origin
        self.start = self.until = 0  # no window
        self.last = self.settled = 0

    def next_time(self, clock, rate):
        return max(clock, self.start, self.last + rate * (clock - self.settled))

    def settle(self, clock, rate):
        """Computes last at this time of the clock: before until."""
        if self.until:
            self.last = max(self.last, min(int(self.next_time(clock, rate)), self.until - 1))
        self.settled = clock

    def reaches(self, time, rate):
        """The clock's time when the next id has this time."""
        ahead = max(self.last, self.start)
        if rate <= 0 or ahead <= self.settled:
            return time
        return min(time, self.settled + (time - ahead) / rate)


class Member:
    """gap: mean time between calls, 0: continuous; rate: the part of a millisecond's numbers that is used."""

    __slots__ = ("offset", "gap", "rate", "leases", "place", "boot", "state", "number", "is_asking", "reason", "since",
                 "takes_over", "gives_up_at", "failures", "blocked_at", "copies")

    def __init__(self, number, gap, rate, offset, place, boot):
        self.number, self.gap, self.rate, self.offset, self.place, self.boot = number, gap, rate, offset, place, boot
        self.leases = []
        self.state = 0  # counts up when events that were planned for the member become void
        self.is_asking = self.takes_over = False
        self.reason = "first lease"
        self.since = None  # when the first waiting call began
        self.gives_up_at = None
        self.failures = 0
        self.blocked_at = None  # the number of the outage
        self.copies = 0  # its copies that draw at the same time; for a copy, its original

    def clock(self, now):
        return int(now + self.offset)

    def has_windows(self, now):
        clock = self.clock(now)
        return all(lease.until and lease.next_time(clock, self.rate) < lease.until for lease in self.leases)

    def begin(self, place, boot, now, reason, takes_over=False):
        """Begins another incarnation, which holds nothing."""
        self.place, self.boot, self.reason, self.takes_over = place, boot, reason, takes_over
        for lease in self.leases:
            lease.start = lease.until = 0
            lease.settled = self.clock(now)

    def stop(self, now):
        """From now on it draws nothing and waits for no answer."""
        self.state += 1
        self.is_asking = False
        self.since = self.gives_up_at = self.blocked_at = None
        self.failures = 0
        for lease in self.leases:
            lease.settle(self.clock(now), self.rate)

    def asks(self, now):
        clock = self.clock(now)
        found = []
        for lease in self.leases:
            lease.settle(clock, self.rate)
            found.append((lease, Ask(lease.origin, self.place, self.boot, max(clock, lease.last), self.takes_over)))
        return found

    def ask_at(self, length, share):
        """When the next renewal is asked for, if there is a call then; share: earlier by this part of the lease."""
        before = length * (ASK_BEFORE + share)
        return min(lease.reaches(lease.until - before, self.rate) for lease in self.leases) - self.offset

    def ends_at(self):
        """When the first of the windows is used up."""
        return min(lease.reaches(lease.until, self.rate) for lease in self.leases) - self.offset

    def lead(self, now):
        """The next id's lead over true time."""
        clock = self.clock(now)
        return max(lease.next_time(clock, self.rate) for lease in self.leases) - now

    def is_ahead(self, now):
        clock = self.clock(now)
        return any(max(lease.start, lease.last) > clock for lease in self.leases)
