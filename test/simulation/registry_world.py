#!/usr/bin/env python3
"""Random events of a registry and its members: copies, restores, failovers, drops, wrong clocks.

For each rule, with the events that registry_mixes.py names, the promises hold, and are broken if the rule is left out.
The promises: L1, no time is used by two incarnations; L2, only an operator can end a running lease; R9, no late request
makes a released shard held again; and after registry_was_restored() the last holder of a shard gets it again.
"""
import argparse
import random
import sys
from copy import copy, deepcopy
from types import SimpleNamespace

from registry_mixes import MIXES
from registry_rules import AHEAD, HELD, LEASE, RELEASED, RESERVED, Here, Refused, Registry, new_number

STEPS = 150


class Broken(Exception):
    """A promise."""


def event(function):
    function.is_event = True
    return function


class Member:
    def __init__(self, registry, here, origin):
        self.registry, self.here, self.origin, self.boot, self.offset = registry, here, origin, new_number(), 0
        self.state, self.shard, self.identity, self.window, self.last = "joining", None, None, (0, 0), 0
        self.receipt = self.sent = None
        self.is_there, self.released = True, -1

    def __str__(self):
        return f"o{self.origin}/{self.here.place}/{self.boot}"


class Ask(SimpleNamespace):
    def __str__(self):
        return f"{self.incarnation} {self.kind} {self.shard}, sent {self.sent}, tick {self.tick}, {self.receipt}"


class World:
    def __init__(self, rules, events, seed):
        self.random, self.now, self.log = random.Random(seed), 1000, []
        self.shards = self.random.choice([(1,), (1, 2)])
        self.members, self.late, self.backups, self.clones = [], [], [], []
        self.used, self.by_hand, self.rightful = {}, set(), {}
        self.offset = self.newest = self.printed = 0
        self.is_lost = self.lost_by_last = self.is_unaware = False
        self.is_plain = True
        self.registry = Registry(rules, Here("R0", "S0", 1))
        self.stranger()
        some = [event for event in EVENTS if self.random.random() < 0.2]
        self.events = [getattr(self, event) for event in ["call"] * 30 + ["tell"] * 2 + some + [*events] * 2]

    def run(self):
        for _ in range(STEPS):
            self.now += self.random.choice([0, 1, 1, 2, 3])
            self.registry.now = self.now + self.offset
            for clone in self.clones:
                clone.now = self.now
            self.attempt(self.random.choice(self.events))
            for ask in [ask for ask in self.late if ask.due <= self.now]:
                self.late.remove(ask)
                self.attempt(self.answer, ask)
        self.end()

    def attempt(self, event, *what):
        try:
            return event(*what)
        except Refused as refused:
            self.note(f"{event.__name__} {' '.join(map(str, what))}: refused, {refused}")
            return refused

    def note(self, text):
        self.log.append(f"{self.now} {text}")

    def some(self, *states):
        members = [m for m in self.members if m.is_there and (not states or m.state in states)]
        if not members:
            raise Refused("nobody")
        return self.random.choice(members)

    # Members.

    def clock(self, member):
        return max(1, self.now + member.offset)

    def use(self, shard, time, who):
        if self.used.setdefault((shard, time), who) != who:
            raise Broken(f"L1: time {time} of shard {shard} is used by {self.used[shard, time]} and {who}")

    def call(self):
        member = self.some("joining", "leased", "sealed")
        time = max(self.clock(member), member.last + 1, member.window[0])
        if member.state == "leased" and time < member.window[1]:
            self.use(member.shard, time, str(member))
            member.last = time
            if time < member.window[1] - LEASE // 2:
                return
        self.send(member, {"joining": "joins", "leased": "renews", "sealed": "returns"}[member.state])

    def send(self, member, kind, due=None):
        """The member receives the answer to its last request, unless the answer is lost or late."""
        due = self.now + self.random.choice([0, 0, 0, 0, 2, 9, 60]) if due is None else due
        member.sent = Ask(
            member=member, kind=kind, incarnation=str(member), origin=member.origin, here=member.here, shard=member.shard,
            clock=self.clock(member), tick=member.last + 1, identity=member.identity, receipt=member.receipt, sent=self.now,
            due=due, not_before=member.registry.space.not_before, registry=member.registry, loss=self.is_lost)
        self.late.append(member.sent)

    def answer(self, ask):
        member, registry = ask.member, ask.registry
        if ask.shard is None:
            own = [shard for shard, row in registry.space.rows.items() if row.origin == ask.origin]
            ask.shard = self.random.choice(own or self.shards)
        before, stopped = copy(registry.space.row(ask.shard)), registry.space.was_set_back
        is_heard = member.sent is ask and str(member) == ask.incarnation and member.is_there and self.random.random() < 0.85
        try:
            receipt, is_over = registry.give_back(ask) if ask.kind == "returns" else (registry.grant(ask), False)
        finally:
            if registry.space.was_set_back and not stopped and not self.is_lost and registry is self.registry:
                raise Broken(f"stopped by {ask.receipt}, but nothing is lost since the owner has spoken")
        row = registry.space.row(ask.shard)
        self.note(f"{ask.incarnation} {ask.kind} {ask.shard} of {registry.here.place}: {row}, {'heard' if is_heard else 'lost'} {receipt}")
        self.judge(ask, before, row)
        if ask.kind == "returns":
            if is_heard and member.state == "sealed":
                member.receipt = receipt or member.receipt
                if is_over:
                    member.state, member.released = "released", self.now if receipt else -1
            return
        if registry is self.registry:
            self.newest = max(self.newest, registry.now)
            self.rightful.pop(ask.shard, None)
        if is_heard and member.state in ("joining", "leased"):
            member.state, member.shard, member.identity, member.receipt = "leased", ask.shard, registry.space.identity, receipt
            member.window = (row.start, row.until)
            self.compare(member)
            if registry is self.registry:
                self.rightful[ask.shard] = member

    def compare(self, member):
        """L1, before a time is used: no other member has used it or may use it."""
        mine = range(max(member.window[0], member.last + 1), member.window[1])
        for other in self.members:
            if other is not member and other.shard == member.shard and other.is_there:
                if max(mine.start, other.window[0], other.last + 1) < min(mine.stop, other.window[1]):
                    raise Broken(f"L1: {other} has {other.window}, {member} has {member.window}")
        for time in mine:
            if (member.shard, time) in self.used:
                raise Broken(f"L1: time {time} was used by {self.used[member.shard, time]}, {member} has {member.window}")

    def judge(self, ask, before, row):
        """L2, R9, and that only the registry's clock can lead to windows far ahead."""
        if before.state == HELD and row.here and ask.kind != "takes over":
            was_there = any(m.is_there and m.here.place == before.here.place and m.origin == before.origin and m.state == "leased"
                            and m.registry is ask.registry for m in self.members)
            is_taken = row.state == RELEASED or row.here.place != before.here.place
            is_idle = before.until <= ask.registry.now
            is_promoted = ask.here.timeline > before.here.timeline
            is_of_owner = ask.kind == "joins" and before.until + 300 < ask.registry.now
            if is_taken and ask.here.place != before.here.place and not (is_idle and (is_promoted or not was_there)) and not is_of_owner:
                raise Broken(f"L2: {before} is {ask.kind} by {ask.incarnation}")
        if before.state == RESERVED and row.state != RESERVED:
            raise Broken("a reserved shard is given")
        released = ask.member.released
        if before.state == RELEASED and before.origin == ask.origin and ask.kind in ("joins", "renews") and ask.sent <= released and ask.member.state == "released":
            raise Broken(f"R9: {ask.incarnation} {ask.kind} what it has released at {released}")
        is_known = ask.receipt and ask.receipt.branch == ask.registry.space.branch
        if before.state == RELEASED and row.state == HELD and ask.kind == "renews" and is_known:
            raise Broken(f"R9: {ask.incarnation} renews what is released or evicted: {row}")
        forced = max(before.until, ask.registry.space.not_before, ask.tick, ask.registry.now + AHEAD)
        if row.state == HELD and row.until > forced + LEASE and ask.kind != "returns":
            raise Broken(f"the clock of {ask.incarnation} leads to {row}")

    @event
    def stranger(self):
        if len(self.members) < 7:
            number = new_number()
            self.members.append(Member(self.registry, Here(f"p{number}", f"s{number}", 1), number))
            self.members[-1].shard = self.random.choice([None, 1])

    @event
    def lease(self):
        """lease_shard: repeats a join whose answer is unknown, with the same origin; or leases after a release."""
        member = self.some("joining", "released")
        member.state, member.window = "joining", (0, 0)
        self.send(member, "joins")

    @event
    def release(self):
        member = self.some("leased")
        member.state, member.window = "sealed", (0, 0)
        self.rightful = {shard: who for shard, who in self.rightful.items() if who is not member}
        self.send(member, "returns")

    @event
    def take_over(self):
        self.send(self.some("leased"), "takes over")

    @event
    def restart(self):
        member = self.some()
        member.boot, member.window, member.sent = new_number(), (0, 0), None
        member.last -= self.random.choice([0, 0, 5])

    @event
    def copy(self, member=None, registry=None):
        """A copy of a member's disk; the original continues."""
        member = member or self.some()
        if len(self.members) < 7:
            twin = Member(registry or member.registry, member.here._replace(place=f"p{new_number()}"), member.origin)
            for name in ("state", "shard", "identity", "receipt", "last", "offset"):
                setattr(twin, name, getattr(member, name))
            self.members.append(twin)

    @event
    def promote(self):
        member = self.some()
        member.here = member.here._replace(place=f"p{new_number()}", timeline=member.here.timeline + 1)
        member.boot, member.window, member.sent = new_number(), (0, 0), None

    @event
    def wrong_clock(self):
        self.some().offset = self.random.choice([0, 0, -40, 40, 170])

    # Owner and operator.

    @event
    def evict(self):
        self.registry.evict(shard := self.random.choice(self.shards))
        self.rightful.pop(shard, None)

    @event
    def reserve(self):
        shard = self.random.choice(self.shards)
        if shard in self.by_hand:
            if self.offset >= 0:
                self.registry.unreserve(shard)
                self.by_hand.discard(shard)
        else:
            self.registry.reserve(shard)
            self.by_hand.add(shard)
        self.note(f"reserved: {self.by_hand}")

    @event
    def hand(self):
        for shard in self.by_hand:
            self.use(shard, max(1, self.now + self.random.choice([0, 0, 3, 50])), "its reservation")

    @event
    def backup(self):
        self.backups.append(self.registry.save())

    @event
    def clone(self):
        """The registry is copied with members, and the copies run; no owner's call tells the copy so."""
        if not self.clones:
            self.clones.append(deepcopy(self.registry))
            self.clones[0].here = self.registry.here._replace(place="clone")
            for member in self.members[:2]:
                self.copy(member, self.clones[0])

    def leave(self, how):
        here = self.registry.here
        here = here._replace(place=f"R{new_number()}") if how != "in place" else here
        here = here._replace(timeline=here.timeline + 1) if how in ("in place", "failover") else here
        self.is_plain &= how in ("in place", "failover")
        self.registry.here = Here(here.place, f"S{new_number()}", 1) if how == "dump" else here

    @event
    def move(self):
        """The registry moves, and nothing is lost."""
        self.leave(self.random.choice(["failover", "failover", "dump", "disk"]))
        self.lost_by_last = False
        self.note(f"moved to {self.registry.here}")

    @event
    def fail_over_twice(self):
        """The first failover loses commits, and the owner does not know it."""
        if self.registry.is_confirmed() and not self.is_lost:
            self.load()
            self.leave("failover")
            self.leave("failover")
            self.lost_by_last = False
            self.note(f"failed over twice: {self.registry.here}")
            self.tell()

    @event
    def lose(self):
        """The registry is restored from a backup, in another place or on another timeline."""
        self.load()
        self.leave(how := self.random.choice(["failover", "in place", "dump", "disk"]))
        self.lost_by_last = True
        self.note(f"lost: {how}, {self.registry.here}")
        if self.random.random() < 0.5:
            self.tell()

    def load(self):
        if not self.backups:
            raise Refused("no backup")
        self.registry.load(self.random.choice(self.backups[-3:]))
        self.is_lost = self.lost_by_last = True
        for member in self.members:
            member.released = -1  # releases are lost, too

    @event
    def put_back(self):
        """A snapshot is restored in the same place, unknown to the owner; the first request proves a lost grant."""
        if not self.registry.is_confirmed() or self.is_lost:
            return
        saved = self.registry.save()
        self.load()
        space = self.registry.space
        mine = [m for m in self.members if m.state == "leased" and m.is_there and m.receipt and m.registry is self.registry]
        know = [m for m in mine if m.receipt.branch == saved[0].branch
                and (m.receipt.serial > space.row(m.receipt.shard).serial if m.receipt.branch == space.branch
                     else m.receipt.until > space.not_before and m.receipt.secret == space.secret)]
        if not know or space.confirmed != self.registry.here:
            self.registry.load(saved)
            self.is_lost = False
            return
        self.note("a snapshot is put back")
        member = self.random.choice(know)
        self.send(member, "renews", self.now)
        self.is_unaware = True
        self.late.remove(member.sent)
        self.attempt(self.answer, member.sent)
        self.tell()

    @event
    def told_at_once(self):
        """The owner restores a snapshot in the same place and confirms it, while requests are on their way."""
        if self.registry.is_confirmed() and not self.is_lost:
            self.load()
            if self.registry.space.confirmed == self.registry.here:
                self.send(self.some(), "joins", self.now + 1)
            self.tell(True)

    def tell(self, at_once=False):
        registry, space = self.registry, self.registry.space
        told = space.confirmed
        if not at_once and told == registry.here and not space.was_set_back:
            return
        is_taken_for_moved = not self.is_lost or (self.is_plain and not self.lost_by_last)
        if is_taken_for_moved and not space.was_set_back and self.random.random() < 0.7:
            try:
                registry.was_moved()
                self.is_plain = True
                self.note("registry_was_moved")
                return
            except Refused:
                pass
        newest = self.printed if self.printed > space.not_before and not self.is_unaware else 0
        if self.newest > max(registry.now, space.not_before, space.last()):
            newest = max(newest, self.newest)
        registry.was_restored(newest)
        self.printed = max(self.printed, space.not_before)
        self.is_lost = self.lost_by_last = self.is_unaware = False
        self.is_plain = True
        self.note(f"registry_was_restored({newest}): not_before {space.not_before}")
        for shard, row in space.rows.items():
            if row.state == RESERVED and shard not in self.by_hand:
                registry.unreserve(shard)
        for shard in self.by_hand:
            space.rows.setdefault(shard, space.row(shard)).state = RESERVED

    @event
    def drop(self):
        self.registry.drop()
        for member in self.members:
            if member.window[1] > self.registry.now and member.identity == self.registry.space.identity:
                raise Broken(f"L2: the space is dropped while {member} has {member.window}")
        self.registry.create()
        self.newest = max(self.newest, self.registry.space.not_before)
        self.note(f"dropped and made again: not_before {self.registry.space.not_before}")

    @event
    def registry_clock(self):
        self.offset = self.random.choice([0, 0, 3, -150])

    def end(self):
        """No dead end: after the owner's confirmation, the last holder of each shard generates ids again."""
        self.offset, self.late, space = 0, [], self.registry.space
        for member in self.members:
            member.offset = 0
        for shard, member in list(self.rightful.items()):
            if member.state == "leased" and member.shard == shard and shard not in self.by_hand:
                tries = [refused for again in range(4) if (refused := self.attempt(self.come_back, member, again))]
                if len(tries) == 4:
                    raise Broken(f"dead end: {member} gets shard {shard} never again: {tries[-1]}; {space.row(shard)}")

    def come_back(self, member, again):
        registry, space = self.registry, self.registry.space
        self.tell()
        self.now = registry.now = max(self.now, space.last(), space.not_before, member.last) + 1
        row = space.row(member.shard)
        if row.state == HELD and row.origin != member.origin:
            registry.evict(member.shard)
        by_itself = row.origin is None or (row.origin == member.origin and row.here.place == member.here.place and row.state == HELD)
        is_of_space = member.identity == space.identity
        self.send(member, "renews" if is_of_space and (by_itself or not again) else "takes over", self.now)
        self.answer(member.sent)


EVENTS = [name for name, what in vars(World).items() if getattr(what, "is_event", False)]


def first_broken(rules, events, worlds):
    for seed in range(worlds):
        world = World(rules, events.split(), seed)
        try:
            world.run()
        except Broken as broken:
            return world.log + [f"world {seed}: {broken}"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=int, nargs="?", default=15)
    parser.add_argument("--without", metavar="RULE", choices=MIXES, help="show how this one is missed")
    arguments = parser.parse_args()
    is_well = True
    for rule, (text, events) in MIXES.items():
        if arguments.without in (None, rule):
            broken = first_broken(set(MIXES), events, arguments.worlds)
            missed = first_broken(set(MIXES) - {rule}, events, 400)
            if arguments.without:
                print(*missed, sep="\n")
            if broken or not missed:
                is_well = False
                print(*broken[-60:], f"{rule} ({text}): " + ("the rules do not hold" if broken else "left out, and not missed"), sep="\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
