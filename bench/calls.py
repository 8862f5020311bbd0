#!/usr/bin/env python3
"""What an id costs, by each statement that a page teaches, compared with sequences and UUIDs."""
from common import (Contender, calls, create_databases, has_uuidv7, loop, measure, milliseconds, new_table, options,
                    psql, summary, table_of, write_report)

COPY_ROWS, MORE_ROWS = 500000, 20000
LOOP, CALL, COPY, KEYED, SIZE, WAL = HEADINGS = (
    "loop: ns per id", "call: tps", "COPY: ns per row", "COPY, key", "key: bytes", "WAL: bytes")
ALL = (LOOP, CALL, COPY, KEYED)
ROOMY = "'roomy'::regclass, shard_bits => 3, sequence_bits => 20"

CONTENDERS = {
    "next_id": Contender("**`next_id()`**", "next_id()", ALL),
    "borrow": Contender("`next_id()`, `max_borrow`", "next_id()", (COPY, KEYED),
                        options="SET shardid.max_borrow = '1h'"),
    "roomy": Contender("`next_id`, 20 bits of sequence", f"next_id({ROOMY})", ALL),
    "next_ids": Contender("**`next_ids`**, 20 bits of sequence", f"next_ids(5, COUNT, {ROOMY})", (LOOP,)),
    "citus": Contender("**`next_shop_id()`**", "next_shop_id()", ALL),
    "nextval": Contender("`nextval`", "nextval('plain')", ALL),
    "cached": Contender("`nextval`, CACHE 100", "nextval('cached')", (LOOP, CALL)),
    "uuidv7": Contender("`uuidv7`", "uuidv7()", ALL, "uuid"),
    "uuid_v4": Contender("`gen_random_uuid`", "gen_random_uuid()", ALL, "uuid"),
    "recipe": Contender("Instagram's function", "baseline.next_id()", ALL),
    "nothing": Contender("`SELECT 1`", "1", (CALL,)),
}


def copy(contender, key=False):
    new_table(contender, key)
    times = milliseconds([contender.options or "SELECT 1", f"COPY rows (n) FROM PROGRAM 'seq {COPY_ROWS}'"])
    return times[1] * 1e6 / COPY_ROWS


def copy_keyed(contender, _):
    """Also the size of the index, and the WAL of some more rows after a checkpoint, when the first change of a page
    writes the whole page."""
    time = copy(contender, key=True)
    size, wal = psql(f"""SELECT pg_relation_size('key'); CHECKPOINT; SELECT pg_current_wal_insert_lsn() AS start \\gset
        COPY rows (n) FROM PROGRAM 'seq {MORE_ROWS}';
        SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'start')""").split()
    found = {KEYED: time, SIZE: int(size) / COPY_ROWS, WAL: int(wal) / MORE_ROWS}
    return found if not contender.options else {KEYED: time}


def main():
    arguments = options(__doc__, rounds=3, seconds=3)
    create_databases()
    if not has_uuidv7():
        del CONTENDERS["uuidv7"]
    columns = {LOOP: loop, CALL: calls, COPY: lambda contender, _: copy(contender), KEYED: copy_keyed}
    results = measure(CONTENDERS, columns, arguments)
    lines = [*table_of(CONTENDERS, results, HEADINGS), "", summary(results, ALL, "bench-calls", arguments)]
    write_report(f"{arguments.out}/calls.md", lines)


main()
