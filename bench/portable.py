#!/usr/bin/env python3
"""The SQL-only version, compared with Instagram's function, sequences and the extension."""
from functools import partial

from common import (SQL_ONLY, Contender, calls, create_databases, inserts, loop, measure, options, summary,
                    table_of, write_report)

SESSIONS = {f"{sessions} sessions": sessions for sessions in (4, 16, 64)}
LOOP, INSERT = "loop: ns per id", "INSERT"
HEADINGS = (LOOP, *SESSIONS, INSERT)
CONTENDERS = {
    "new_id": Contender("SQL-only `ids.new_id()`", "ids.new_id()", HEADINGS, database=SQL_ONLY, calls=100000),
    "next_ids": Contender("SQL-only `ids.next_ids`", "ids.next_ids(5, COUNT)", (LOOP,), database=SQL_ONLY),
    "recipe": Contender("Instagram's function", "baseline.next_id()", HEADINGS, calls=100000),
    "nextval": Contender("`nextval`", "nextval('plain')", HEADINGS),
    "next_id": Contender("the extension's `next_id()`", "next_id()", HEADINGS),
}


def main():
    arguments = options(__doc__, rounds=3, seconds=3)
    create_databases()
    columns = {heading: partial(calls, sessions=sessions) for heading, sessions in SESSIONS.items()}
    results = measure(CONTENDERS, {LOOP: loop, **columns, INSERT: inserts}, arguments)
    lines = [*table_of(CONTENDERS, results, HEADINGS), "",
             summary(results, HEADINGS, "bench-portable", arguments, "synchronous_commit off")]
    write_report(f"{arguments.out}/portable.md", lines)


main()
