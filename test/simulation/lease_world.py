"""Members and a registry, event by event. Times are milliseconds of true time; each clock differs from it."""
import heapq
import itertools
import math
import random
from collections import Counter

from lease_judge import Judge
from lease_member import ASK_SPREAD, Lease, Member
from lease_registry import Costs, Registry
from lease_rules import Space

BEGIN = 10_000_000  # the time at the beginning
SHARDS = 8192
SPACES = 4
DRIFT = 1000
ONE_WAY = 0.5  # of a message
LOST = 0.001  # of the answers
RETRY_WAITING = 500
RETRY_AHEAD = 1000  # while the window lasts
LEASE_TIMEOUT = 5000
SAMPLE = 5000
HERD = 30_000  # how long after an outage its effects are counted

# (share of all, mean ms between calls, used part of a millisecond's numbers, name)
ACTIVITY = [(0.01, 0, 1.0, "at the layout's ceiling"), (0.69, 0, 0.1, "all the time"),
            (0.20, 2000, 0.0, "every 2 s"), (0.10, 300_000, 0.0, "every 5 minutes")]
# (share of all, leases of a database)
SIZES = [(0.90, 1), (0.08, 8), (0.02, 64)]


class Plan:
    """The events, and their numbers. Times in seconds."""

    def __init__(self, members, seconds, outages, restarts=0, failovers=0, looping=0, beside=0, backoff=1.0,
                 spread=ASK_SPREAD, costs=None, seed=1, without=""):
        self.members, self.seconds, self.outages = members, seconds, outages
        self.restarts, self.failovers, self.looping, self.beside = restarts, failovers, looping, beside
        self.backoff, self.spread = backoff, spread
        self.costs, self.seed, self.without = costs or Costs(), seed, without


class World:
    def __init__(self, plan):
        self.plan = plan
        self.random = random.Random(f"world {plan.seed}")
        self.now = BEGIN
        self.end = BEGIN + plan.seconds * 1000
        self.events, self.order = [], itertools.count()
        self.places, self.boots = itertools.count(1), itertools.count(1)
        self.spaces = [Space() for _ in range(SPACES)]
        self.judge = Judge()
        self.outages = [(BEGIN + start * 1000, BEGIN + (start + length) * 1000) for start, length in plan.outages]
        self.registry = Registry(self.spaces, plan.costs, self.judge, plan.seed, plan.without)
        self.members = []
        self.ahead = set()
        self.waits = {}  # by reason: ms from the first waiting call to its id
        self.went_on = {}  # by outage: ms from its start until members found their windows used up
        self.back_after = {}  # by outage: ms from its end until those members drew again
        self.leads = []  # (second, 99th percentile, worst, share of members that are ahead of true time by more than 2 s)
        self.given_up = 0
        self.happened = Counter()
        self.populate()
        self.schedule_faults()

    # Start

    def pick(self, shares):
        left = self.random.random()
        for share, *what in shares:
            left -= share
            if left < 0:
                break
        return what

    def populate(self):
        free = [0] * SPACES
        for number in range(self.plan.members):
            gap, rate, _ = self.pick(ACTIVITY)
            member = self.add_member(gap, rate)
            size, = self.pick(SIZES)
            space = min(range(SPACES), key=lambda s: free[s])
            for shard in range(free[space], free[space] + size):
                member.leases.append(Lease(space, shard, self.random.getrandbits(128)))
            free[space] += size
            # They do not all start at the same time.
            self.at(self.now + self.random.random() * 60_000, self.begin, member, member.state)
        if max(free) > SHARDS:
            raise SystemExit("more leases than shards")
        self.shards_held = sum(free)

    def add_member(self, gap, rate):
        member = Member(len(self.members), gap, rate, self.random.uniform(-DRIFT, DRIFT), next(self.places), next(self.boots))
        self.members.append(member)
        return member

    def schedule_faults(self):
        plan, rand = self.plan, self.random
        for start, end in self.outages:
            self.at(start, self.registry_stops)
            self.at(end, self.registry_starts)

        def some():
            return self.members[rand.randrange(plan.members)]

        def any_time():
            return BEGIN + 60_000 + rand.random() * (self.end - BEGIN - 90_000)

        for _ in range(plan.restarts):
            self.at(any_time(), self.crash, some())
        for _ in range(plan.looping):
            member, start, times = some(), any_time(), rand.randrange(2, 13)
            for number in range(times):
                self.at(start + number * 10_000, self.crash, member)
        for number in range(plan.failovers):
            self.at(any_time(), self.die, some(), number % 2 == 1)
        for _ in range(plan.beside):
            self.at(BEGIN + 100_000 + rand.random() * 60_000, self.copy_beside, some())
        self.at(BEGIN + SAMPLE, self.sample)

    # Events

    def at(self, time, what, *arguments):
        heapq.heappush(self.events, (time, next(self.order), what, arguments))

    def run(self):
        while self.events and self.events[0][0] <= self.end:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
        return self

    def registry_stops(self):
        self.registry.stop()

    def registry_starts(self):
        self.registry.start(self.now)

    def outage(self):
        """The number of the present outage, or of the last one."""
        return max((n for n, (start, _) in enumerate(self.outages) if start <= self.now), default=None)

    def crash(self, member):
        """The member's server starts again in its place."""
        member.stop(self.now)
        self.happened["restart"] += 1
        self.at(self.now + 2000 + self.random.random() * 8000, self.restarted, member, member.state)

    def restarted(self, member, state):
        if member.state == state:
            member.begin(member.place, next(self.boots), self.now, "restart")
            self.begin(member, state)

    def die(self, member, takes_over):
        """A copy of the member is promoted, a while later."""
        member.stop(self.now)
        self.happened["failover with take-over" if takes_over else "failover"] += 1
        self.at(self.now + 10_000 + self.random.random() * 30_000, self.promoted, member, member.state, takes_over)

    def promoted(self, member, state, takes_over):
        if member.state == state:
            member.offset = self.random.uniform(-DRIFT, DRIFT)
            member.begin(next(self.places), next(self.boots), self.now,
                         "failover with take-over" if takes_over else "failover", takes_over)
            self.begin(member, state)

    def copy_beside(self, original):
        """A copy that draws at the same time as its original."""
        copy = self.add_member(0, 0.01)
        copy.leases = [Lease(lease.space, lease.shard, lease.origin) for lease in original.leases]
        copy.reason = "copy beside"
        original.copies += 1
        copy.copies = original.copies
        self.begin(copy, copy.state)

    def begin(self, member, state):
        self.at(self.now + self.until_next_call(member), self.call, member, state)

    def until_next_call(self, member):
        return -math.log(1 - self.random.random()) * member.gap if member.gap else 0

    def call(self, member, state):
        """The first call that asks for a window."""
        if member.state != state or member.is_asking:
            return
        if member.since is None and not member.has_windows(self.now):
            member.since = self.now
            if member.gap > LEASE_TIMEOUT:
                member.gives_up_at = self.now + LEASE_TIMEOUT
        self.ask(member)

    def ask(self, member):
        self.registry.came_at(self.now)
        member.is_asking = True
        arrives = self.now + ONE_WAY
        done = self.registry.admit(arrives, len(member.leases)) if self.registry.up else None
        if done is None:
            self.failed(member, member.state)
        else:
            self.at(done, self.answer, member, member.state, member.asks(self.now), self.registry.starts)

    def answer(self, member, state, asks, starts):
        if not self.registry.up or self.registry.starts != starts:
            self.at(self.now, self.failed, member, state)
            return
        answers = self.registry.answer(asks, self.now)
        if self.random.random() < LOST:
            self.at(self.now + ONE_WAY, self.failed, member, state)
        else:
            self.at(self.now + ONE_WAY, self.told, member, state, answers)

    def told(self, member, state, answers):
        if member.state != state:
            return
        clock = member.clock(self.now)
        self.note_end(member)
        for lease, window in zip(member.leases, answers):
            lease.settle(clock, member.rate)
            if window:
                lease.start, lease.until = window
                if lease.start > clock:
                    lease.last = max(lease.last, lease.start)
        if None in answers or not member.has_windows(self.now):
            self.failed(member, state)
            return
        member.is_asking = member.takes_over = False
        member.failures = 0
        self.note_wait(member)
        if member.is_ahead(self.now):
            self.ahead.add(member)
        lease_length = self.spaces[member.leases[0].space].lease
        ask_at = max(self.now, member.ask_at(lease_length, self.plan.spread * self.random.random()))
        self.at(ask_at + self.until_next_call(member), self.call, member, state)

    def failed(self, member, state):
        """The member asks again after a while."""
        if member.state != state:
            return
        member.is_asking = False
        if member.since is None and not member.has_windows(self.now):
            self.note_end(member)
            member.since = self.now
        if member.since is None:
            self.at(self.now + RETRY_AHEAD, self.call, member, state)
            return
        if member.gives_up_at is not None and self.now >= member.gives_up_at:
            self.given_up += 1
            member.since = member.gives_up_at = None
            self.begin(member, state)
            return
        pause = min(RETRY_WAITING * self.plan.backoff ** member.failures, 8000)
        if self.plan.backoff > 1:
            pause *= 0.5 + self.random.random()
        member.failures += 1
        if self.registry.up or member.gives_up_at is not None or self.plan.backoff > 1:
            self.at(self.now + pause, self.call, member, state)
            return
        # The member has no other event before the registry is back: its requests until then are counted now.
        back = next(end for _, end in self.outages if end > self.now)
        times = max(1, math.ceil((back - self.now) / pause))
        self.at(self.now + times * pause, self.jumped, member, state, self.now, pause, times)

    def jumped(self, member, state, since, pause, times):
        if member.state == state:
            for number in range(1, times):  # the last one is that of this call
                self.registry.came_at(since + number * pause)
            self.call(member, state)

    # Records

    def shards_of_copies(self):
        """How many copies hold the shard with which they started, instead of their originals."""
        copies = self.members[self.plan.members:]
        rows = [self.registry.rows.get((copy.leases[0].space, copy.leases[0].shard)) for copy in copies]
        return sum(row is not None and row.place == copy.place for row, copy in zip(rows, copies))

    def note_end(self, member):
        """Records a window that was used up while the registry was down, of a member with many calls."""
        number = self.outage()
        if number is None or member.reason != "asks" or member.blocked_at is not None or member.gap > LEASE_TIMEOUT:
            return
        if member.copies or any(not lease.until for lease in member.leases):
            return
        start, end = self.outages[number]
        ended = member.ends_at()
        if start <= ended <= min(self.now, end + HERD):
            member.blocked_at = number
            if member.gap == 0 and ended < end:
                self.went_on.setdefault(number, []).append(ended - start)

    def note_wait(self, member):
        reason, since = member.reason, member.since
        member.reason, member.since, member.gives_up_at = "asks", None, None
        if member.blocked_at is not None:
            back = self.outages[member.blocked_at][1]
            self.back_after.setdefault(member.blocked_at, []).append(max(0, self.now - back))
            member.blocked_at = None
        elif since is not None:
            is_away = any(start - 1000 <= self.now and since < end + HERD for start, end in self.outages)
            reason = "copy beside" if member.copies else "window over" if reason == "asks" else reason
            self.waits.setdefault((reason, is_away), []).append(self.now - since)

    def sample(self):
        """The leads of members that draw, or could draw."""
        leads = []
        for member in list(self.ahead):
            if not member.is_ahead(self.now) and member.lead(self.now) <= DRIFT:
                self.ahead.discard(member)
        for member in self.members:
            if member in self.ahead:
                if member.has_windows(self.now):
                    leads.append(member.lead(self.now))
            elif member.leases[0].until:
                leads.append(member.offset)
        leads.sort()
        if leads:
            far = sum(lead > 2 * DRIFT for lead in leads) / len(leads)
            self.leads.append(((self.now - BEGIN) // 1000, leads[int(len(leads) * 0.99)], leads[-1], far))
        self.at(self.now + SAMPLE, self.sample)
