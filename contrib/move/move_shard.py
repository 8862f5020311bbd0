#!/usr/bin/env python3
"""Moves a shard - a schema with its tables and its generator - to another server by logical replication, while
applications write to it.

    move_shard.py [OPTION...] status|copy|switch|finish|undo SHARD --from CONNINFO --to CONNINFO

status  shows the state of the move and the next step; changes nothing
copy    copies the tables and keeps the copy up to date; writers continue
switch  stops the writers for a moment and opens the shard on the target
finish  drops the move's objects, and the shard's old rows on the source
undo    gives up, before the switch: the source is as before, the copy is dropped

Each command finds the state on the two servers and runs the missing steps: after an interruption run it again.
README.md in this directory says what each step does, and why.
"""
import argparse
import signal
import subprocess
import sys
import time

import psycopg2
from psycopg2 import errors

from server import Interruption, Trouble, words_of
from situation import address_of
from switching import Switching

NEXT = {
    "open": "copy: checks, makes the schema on the target and copies the tables; writers go on",
    "copying": "switch: when the copy is close behind, seals the source and opens the target; or undo: drops the copy",
    "sealed": "NOBODY CAN WRITE. switch: opens the target; or undo: opens the source",
    "switched": "finish: drops the subscription, and the old rows on the source; until then you can look at them",
    "moved": "nothing; finish drops what may be left of the move",
}
WITH_SEAL = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = '!sealed' AND tgrelid IN (SELECT shard_move.tables_of(%s))"
WITHOUT_SEAL = """
SELECT t::text FROM shard_move.tables_of(%s) t
WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND tgname = '!sealed' AND tgenabled = 'A')"""


class Move(Switching):
    # --- After the switch.

    def patiently(self, server, *statements):
        """Statements that wait for readers, and block new ones meanwhile: so they wait briefly, but several times."""
        for _ in range(self.options.tries):
            try:
                server.transaction("SET LOCAL deadlock_timeout = '50ms'",
                                   f"SET LOCAL lock_timeout = '{self.options.lock_wait}ms'", *statements)
                return
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                self.say("waiting", f"for who uses the shard's tables on the {server.label}")
                time.sleep(0.5)
        raise Trouble(f"transactions that use the shard's tables on the {server.label} did not end: try again later")

    def tidy(self, server):
        """If the shard is open on the server, drops what its seal has left."""
        if not server.has("shard_move.opened") or self.stands(server) != "open":
            return
        for table in server.names(WITH_SEAL, self.shard.name):
            self.patiently(server, f'DROP TRIGGER "!sealed" ON {table}')
        server.do("DELETE FROM shard_move.opened WHERE shard = %s", self.shard.name)

    def drop_shard(self, server):
        """Drops the shard that this move has sealed, if nothing else depends on it."""
        row = self.sealed(server)
        if not self.options.dry_run and (not row or row["role"] != server.label):
            raise Trouble(f"{self.shard.name} on the {server.label} is not sealed by this move")
        if hanging := self.checks.elsewhere(server):
            raise Trouble(f"dropping the shard on the {server.label} would drop more, temporary objects until their session ends:\n" + "\n".join(f"  - {each}" for each in hanging))
        self.patiently(server, f"DROP SCHEMA {self.shard.schema} CASCADE",
                       ("DELETE FROM shard_move.sealed WHERE shard = %s", self.shard.name),
                       ("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name))
        self.has_done("dropped", f"{self.shard.name} on the {server.label}")

    def retire_source(self):
        """Drops the source's shard, if it has been sealed ever since."""
        if not self.options.dry_run:
            if loose := self.source.names(WITHOUT_SEAL, self.shard.name):
                raise Trouble(f"somebody has taken the seal off {', '.join(loose)} on the source, and may have written there: "
                              "compare with the target, and drop the schema yourself")
        self.drop_shard(self.source)
        self.target.do("DELETE FROM shard_move.marker WHERE shard = %s", self.shard.name)

    # --- The commands.

    def status(self):
        state = self.state()
        for server in (self.source, self.target):
            print(f"{server.label}    {self.stands(server)}; PostgreSQL {server.version}, {address_of(server.conninfo)}")
        if state in ("copying", "sealed"):
            print(f"copy      {self.lag_as_text(self.lag())}; slot {self.slot(self.shard.publication)}; {self.worker_errors()} errors")
        print(f"state     {state}")

    def copy(self):
        if self.state() == "open":
            self.check()
            self.install()
            self.tidy(self.source)
            self.copy_schema()
        if self.options.dry_run or self.state() == "copying":
            self.publish()
            self.subscribe()
            self.await_copy()

    def copy_and_switch(self):
        if self.state() in ("open", "copying"):
            self.copy()
        if self.state() in ("copying", "sealed") or self.options.dry_run and self.state() == "open":
            self.switch()

    def finish(self):
        if self.state() in ("open", "copying", "sealed"):
            self.copy_and_switch()
        self.unsubscribe()
        if self.options.dry_run or self.state() == "switched":
            self.retire_source()
        self.tidy(self.target)

    def undo(self):
        state = self.state()
        if state in ("switched", "moved"):
            raise Trouble("the target is open, with rows that the source has not: finish, and move the shard back, "
                          "with --from and --to exchanged")
        if state == "sealed":
            self.unseal()
        self.unsubscribe()
        if state != "open":
            self.drop_shard(self.target)
        self.tidy(self.source)

    def run(self):
        if self.options.command != "status":
            for server in (self.source, self.target):
                server.lock(self.shard.name)
        {"status": self.status, "copy": self.copy, "switch": self.copy_and_switch, "finish": self.finish,
         "undo": self.undo}[self.options.command]()
        print(f"next      {NEXT[self.state()]}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("command", choices=("status", "copy", "switch", "finish", "undo"))
    add("shard", help="the schema")
    add("--from", dest="source", required=True, metavar="CONNINFO", help="where it is: as a superuser, not through a pooler")
    add("--to", dest="target", required=True, metavar="CONNINFO", help="where it shall be")
    add("--publisher", metavar="CONNINFO", help="how the target's server reaches the source (default: as --from)")
    add("--address", help="where late writers are sent (default: that of --to)")
    add("--dry-run", action="store_true", help="print the statements, and change nothing")
    add("--layout", help="of the generators, as next_id has it: \"epoch => '2020-01-01 00:00+00', shard_bits => 10\"")
    add("--compare", choices=("rows", "count", "none"), default="count",
        help="of the tables, in the pause, which it makes longer (default: count)")
    add("--max-lag", type=int, default=1 << 20, metavar="BYTES", help="seal when the target is no further behind (1 MB)")
    add("--report-after", type=float, default=30, metavar="S", help="say why, if the copy has not progressed for so long (30)")
    add("--lock-wait", type=int, default=500, metavar="MS", help="how long one try to seal keeps writers waiting (500)")
    add("--tries", type=int, default=60, help="to seal (60)")
    add("--patience", type=float, default=10, metavar="S", help="how long the pause may last before the source is opened again (10)")
    return parser.parse_args()


def main():
    options = parse()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, Interruption.ask)
    try:
        Move(options).run()
        return 0
    except (Trouble, psycopg2.Error, subprocess.CalledProcessError) as error:
        print(f"stopped   {words_of(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped   interrupted", file=sys.stderr)
    print("          status says where the move stands; run the same command again to go on", file=sys.stderr)
    return 1


sys.exit(main())
