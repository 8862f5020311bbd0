"""The registry as a server: connections, a queue, outages; and its rows."""
import random
from collections import Counter

from lease_rules import Row, grant


class Costs:
    """The registry's processor time in ms: for each window, request, and refused connection."""

    def __init__(self, capacity=2000, request=0.0, refusal=0.0, connections=100):
        self.window, self.request, self.refusal, self.connections = 1000 / capacity, request, refusal, connections


class Registry:
    def __init__(self, spaces, costs, judge, seed, without=""):
        self.spaces, self.costs, self.judge, self.without = spaces, costs, judge, without
        self.rows = {}
        self.random = random.Random(f"registry {seed}")
        self.starts = -1
        self.up = False
        self.start(0)
        # By second: requests that arrived, that were refused without a free connection, that were answered; windows.
        self.came, self.turned_away, self.answered, self.windows = Counter(), Counter(), Counter(), Counter()
        self.refused = Counter()
        self.longest_queue = self.longest_wait = 0

    def start(self, now):
        """Starts, perhaps on another server, with a clock of its own."""
        self.up = True
        self.starts += 1
        self.offset = self.random.uniform(-1000, 1000)
        self.free_at = now
        self.queued = 0

    def stop(self):
        self.up = False

    def came_at(self, now):
        self.came[int(now // 1000)] += 1

    def admit(self, now, windows):
        """When the request will have been answered; None if no connection is free."""
        self.free_at = max(self.free_at, now)
        if self.queued >= self.costs.connections:
            self.turned_away[int(now // 1000)] += 1
            self.free_at += self.costs.refusal
            return None
        self.queued += 1
        self.free_at += self.costs.request + self.costs.window * windows
        self.longest_queue = max(self.longest_queue, self.queued)
        self.longest_wait = max(self.longest_wait, self.free_at - now)
        return self.free_at

    def answer(self, asks, now):
        """asks: (lease, ask) each. Returns for each the row's (start, until), or None."""
        self.queued -= 1
        clock = int(now + self.offset)
        second = int(now // 1000)
        self.answered[second] += 1
        self.windows[second] += len(asks)
        answers = []
        for lease, ask in asks:
            shard = (lease.space, lease.shard)
            row = self.rows.get(shard)
            if row is None:
                row = self.rows[shard] = Row()
            why = grant(self.spaces[lease.space], row, ask, clock, self.without)
            if why:
                self.refused[why] += 1
                answers.append(None)
            else:
                self.judge.note(shard, ask, row.start, row.until, clock)
                answers.append((row.start, row.until))
        return answers
