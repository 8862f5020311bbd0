"""The switch: from the seal of the source to the opening of the target, or back."""
import time

import psycopg2

from sealing import Sealing
from server import Trouble, words_of


class Switching(Sealing):
    # --- The switch.

    def switch(self):
        if self.options.dry_run:
            self.show_switch()
            return
        begun = time.monotonic()
        try:
            if self.state() == "copying":
                self.check_replication()
                self.checks.definitions()
                begun = self.seal_source()
            self.check_replication()
            self.await_marker()
            # Again: a quiet table that was altered meanwhile has not stopped the copy.
            self.checks.definitions()
            self.compare_tables()
            self.hand_over_sequences()
            self.open_target()
        except BaseException:
            self.give_up()
            raise
        self.say("switched", f"the target is open, {1000 * (time.monotonic() - begun):.0f} ms after the seal was asked for")

    def await_marker(self):
        """The source's seal has written the last row that the subscription applies: waits for it."""
        seal = self.sealed(self.source)["seal"]
        end = time.monotonic() + self.options.patience
        while not self.target.one("SELECT EXISTS (SELECT FROM shard_move.marker WHERE seal = %s)", seal):
            if time.monotonic() > end:
                raise Trouble(f"the source's last write has not come within {self.options.patience} s; "
                              f"the subscription has met {self.worker_errors()} errors, see the target's log")
            time.sleep(0.002)
        self.say("caught up", "the target has every write of the source")

    def compare_tables(self):
        what = {"count": "count(*)", "rows": "(count(*), sum(hashtextextended(t::text, 0)))::text", "none": None}[self.options.compare]
        if not what:
            return
        for table in self.shard.tables(self.source, "r"):
            here, there = (server.one(f"SELECT {what} FROM ONLY {self.shard.qualified(table)} t") for server in (self.source, self.target))
            if here != there:
                raise Trouble(f"{table} differs: {here} on the source, {there} on the target ({self.options.compare})")
        self.say("compared", f"the {'number of ' if self.options.compare == 'count' else ''}rows of each table")

    def hand_over_sequences(self):
        """Each continues from the source's position, which includes ids of rows that were rolled back."""
        leases = self.sealed(self.source)["notes"]["leases"]
        for sequence in self.shard.sequences(self.source):
            name = self.shard.in_seal(sequence)
            if sequence not in leases or self.state_on_target(sequence) in (None, "joining"):
                self.raise_target(sequence, name)
            if sequence in leases:
                self.hand_over_lease(sequence, leases[sequence])

    def raise_target(self, sequence, name):
        if self.shard.is_generator(self.source, name):
            if (last := self.source.one(f"SELECT {self.shard.last_id(self.source)}", name)) is not None:
                first = self.target.one(f"SELECT {self.shard.raise_generator(self.target)}", name, last)
                self.say("raised", f"{sequence}: no id of the target is below {first}")
        else:
            value, is_called = self.source.rows(f"SELECT last_value, is_called FROM {name}")[0]
            self.target.one("SELECT setval(%s, %s, %s)", name, value, is_called)
        here, there = (server.one(f"SELECT last_value FROM {name}") for server in (self.source, self.target))
        if there < here:
            raise Trouble(f"{sequence} stands at {there} on the target, below the source's {here}")

    def state_on_target(self, sequence):
        """The state of the lease there; None without a lease."""
        return self.shard.leases(self.target).get(sequence, {}).get("state")

    def hand_over_lease(self, sequence, lease):
        """The registry grants the target a window that begins after all ids of the source."""
        name = self.shard.in_seal(sequence)
        if self.shard.state_of_lease(self.source, sequence) != "released":
            self.source.rows("SELECT shardid_lease.release_shard(%s)", name)
            if self.shard.state_of_lease(self.source, sequence) != "released":
                raise Trouble(f"the registry has not taken back the lease of {sequence}")
        self.lease(self.target, sequence, lease)
        self.say("leased", f"{sequence}: shard {lease['shard']} of {lease['space']} is the target's")

    def lease(self, server, sequence, lease):
        """Leases in a transaction of its own, as lease_shard needs: not in one that created or used the sequence."""
        server.rows("SELECT shardid_lease.lease_shard(%s, %s, %s, %s)", lease["space"], lease["server"],
                    self.shard.in_seal(sequence), lease["shard"])

    def open_target(self):
        """With its commit the shard is the target's, and only another move can undo it."""
        self.target.transaction(("SELECT shard_move.open(%s, %s)", self.shard.name, self.sealed(self.target)["seal"]),
                                ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name))

    def give_up(self):
        """Opens the source again, if it is certain that the target is not open."""
        try:
            if self.state() == "sealed":
                self.unseal()
        except (Trouble, psycopg2.Error) as error:
            if self.source.session.closed or self.target.session.closed:
                self.say("trouble", "the source stays as it is, and if it is sealed, nobody can write")
                return
            self.say("trouble", f"the source could not be opened again: {words_of(error)}")

    def unseal(self):
        row = self.sealed(self.source)
        for sequence, lease in row["notes"]["leases"].items():
            if self.state_on_target(sequence):
                self.release_from_target(sequence, lease)
            if self.shard.state_of_lease(self.source, sequence) in ("released", "sealed"):
                self.lease(self.source, sequence, lease)
        self.source.transaction(("SELECT shard_move.open(%s, %s)", self.shard.name, row["seal"]),
                                ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name),
                                ("DELETE FROM shard_move.marker WHERE move = %s", row["move"]))
        self.has_done("unsealed", "the source takes writes again; the target is not open")

    def release_from_target(self, sequence, lease):
        """If the registry's answer was lost, the target may hold the shard. A second request is granted the same shard,
        which is then released. If the registry does not answer, the request is forgotten."""
        if self.state_on_target(sequence) == "joining":
            try:
                self.lease(self.target, sequence, lease)
            except psycopg2.Error as error:
                self.say("lease", f"{sequence}: {words_of(error)}")
        self.target.do("SELECT shardid_lease.release_shard(%s)", self.shard.in_seal(sequence))

    def show_switch(self):
        print(f"          source: SELECT shard_move.seal('{self.shard.name}', ...) and a row into shard_move.marker, in one transaction")
        print("          wait until the target has that row")
        print(f"          compare the tables: {self.options.compare}")
        for sequence in self.shard.sequences(self.source):
            leased = sequence in self.shard.leases(self.source)
            print(f"          {sequence}: set the target's to where the source's stands{', release its lease, take it for the target' if leased else ''}")
        print(f"          target: SELECT shard_move.open('{self.shard.name}')")
