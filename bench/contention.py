#!/usr/bin/env python3
"""Sessions that generate ids by one generator, and by one each. The layout has room: no session waits for the clock."""
from common import Results, create_databases, options, progress, psql, summary, table, tps, write_report

SESSIONS = (4, 16, 64)
IDS = 1000
CALLS = {"next_id": "next_id(g, shard_bits => 3, sequence_bits => 20)", "nextval": "nextval(g)"}
EACH = {"one generator": 0, "one generator each": 1}


def main():
    arguments = options(__doc__, rounds=3, seconds=3)
    create_databases()
    psql("".join(f"CREATE SEQUENCE g_{n};\n" for n in range(max(SESSIONS))))
    results = Results()
    for number in range(arguments.rounds):
        for sessions in SESSIONS:
            for heading, each in EACH.items():
                for name, call in CALLS.items():
                    statement = ("WITH own AS MATERIALIZED"
                                 " (SELECT ('g_' || :each::int * :client_id::int)::regclass AS g) "
                                 f"SELECT count({call}) FROM own, generate_series(1, {IDS})")
                    rate = tps(statement, arguments.seconds, sessions, each=each) * IDS
                    results.add((name, sessions), heading, rate)
                    progress(number, arguments.rounds, f"{sessions} sessions, {name}, {heading}: {rate:,.0f}/s")
    rows = []
    for sessions in SESSIONS:
        row = [f"**`next_id`**, {sessions} sessions"]
        for heading in EACH:
            own, other = ("next_id", sessions), ("nextval", sessions)
            row += [f"{results.median(own, heading):,.0f}", f"{results.ratio(own, other, heading):.2f}"]
        rows.append(row)
    headings = [f"ids per second, {IDS:,} per statement", *(cell for each in EACH for cell in (each, "to `nextval`"))]
    lines = [*table(headings, rows), "", "Layout: 3 bits of shard, 20 of sequence. " + summary(results, EACH, "bench-contention", arguments)]
    write_report(f"{arguments.out}/contention.md", lines)


main()
