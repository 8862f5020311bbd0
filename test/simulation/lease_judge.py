"""Notes every window that a registry gives, and judges them without asking the rule that gave them."""


class Broken(Exception):
    """A promise."""


class Window:
    __slots__ = ("incarnation", "place", "start", "until")

    def __init__(self, incarnation, place, start, until):
        self.incarnation, self.place, self.start, self.until = incarnation, place, start, until

    def __str__(self):
        return f"[{self.start}, {self.until}) of {self.incarnation} at {self.place}"


class Judge:
    def __init__(self, holder_stays=True):
        self.holder_stays = holder_stays
        self.windows = {}  # by shard, in the order in which they were given
        self.given = 0

    def note(self, shard, ask, start, until, now):
        """The incarnation that asked may draw from start until just before until; by the registry's clock it is now."""
        self.given += 1
        windows = self.windows.setdefault(shard, [])
        last = windows[-1] if windows else None
        if last and last.incarnation == ask.incarnation and last.start == start:
            if until < last.until:
                raise Broken(f"shard {shard}: {last} is cut to {until}")
            last.until = until
            window = last
        else:
            window = Window(ask.incarnation, ask.place, start, until)
            windows.append(window)
        for other in windows:
            if other.incarnation != window.incarnation and start < other.until and other.start < until:
                raise Broken(f"L1: shard {shard}: {window} meets {other}")
        is_another = window is not last and last and last.place != ask.place and not ask.takes_over
        if self.holder_stays and is_another and last.until >= now:
            raise Broken(f"L2: shard {shard}: {window} is given at {now} while there is {last}")
