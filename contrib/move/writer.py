#!/usr/bin/env python3
"""Clients of a shard that know the servers that may have it, and change to the next server when they are refused.

    writer.py [--sessions N] [--pause-ms N] [--statement SQL]... FILE CONNINFO CONNINFO...

Each session runs the statements in turn, repeatedly, until SIGTERM. A number in the first column of the result is an id
that the session received: FILE.N gets a line for it, with the times (in ns of the monotonic clock) at which the
statement began and ended, the clock (in us since 1970), and the server.
"""
import argparse
import signal
import sys
import threading
import time

import psycopg2

# SQLSTATEs of a shard that is sealed; of a table that is dropped or a sequence that is sealed; of a schema that is.
ELSEWHERE = {"25006", "42P01", "3F000"}
INSERT = """
WITH tally AS (UPDATE shard5.tallies SET photos = photos + 1 WHERE slot = pg_backend_pid() % 16 RETURNING photos),
     photo AS (INSERT INTO shard5.photos (name) SELECT 'number ' || photos FROM tally RETURNING id),
     event AS (INSERT INTO shard5.events (photo) SELECT id FROM photo)
SELECT id FROM photo"""


class Session(threading.Thread):
    def __init__(self, options, number, is_over):
        super().__init__()
        self.options, self.is_over = options, is_over
        self.file = open(f"{options.file}.{number}", "w", encoding="ascii")  # pylint: disable=consider-using-with
        self.servers = [self.connect(conninfo) for conninfo in options.conninfo]
        self.at = 0
        self.failure = None

    @staticmethod
    def connect(conninfo):
        connection = psycopg2.connect(conninfo)
        connection.autocommit = True
        return connection

    def run(self):
        try:
            while not self.is_over.is_set():
                self.turn()
                self.is_over.wait(self.options.pause_ms / 1000)
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error
            self.is_over.set()
        self.file.close()

    def turn(self):
        """Runs all statements on one server; if one is refused, begins again on the next server."""
        for statement in self.options.statement:
            try:
                self.note(statement)
            except psycopg2.Error as error:
                if error.pgcode not in ELSEWHERE:
                    raise
                self.servers[self.at].cursor().execute("ROLLBACK")
                self.at = (self.at + 1) % len(self.servers)
                self.is_over.wait(0.01)
                return

    def note(self, statement):
        begin = time.monotonic_ns()
        with self.servers[self.at].cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
        end = time.monotonic_ns()
        for row in rows:
            if isinstance(row[0], int):
                self.file.write(f"{row[0]} {begin} {end} {time.time_ns() // 1000} {self.at}\n")
                self.file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--pause-ms", type=int, default=10)
    parser.add_argument("--statement", action="append")
    parser.add_argument("file")
    parser.add_argument("conninfo", nargs="+")
    options = parser.parse_args()
    options.statement = options.statement or [INSERT]
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    sessions = [Session(options, number, is_over) for number in range(1, options.sessions + 1)]
    for session in sessions:
        session.start()
    while not is_over.wait(0.5):
        pass
    for session in sessions:
        session.join()
    # All sessions of a server that stops fail alike: each failure once, in one line.
    failures = {f"{getattr(session.failure, 'pgcode', None)} {str(session.failure).splitlines()[0]}"
                for session in sessions if session.failure}
    if failures:
        sys.exit("\n".join(sorted(failures)))


main()
