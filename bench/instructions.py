#!/usr/bin/env python3
"""Instructions per call, counted by valgrind in a single-user server.

Unlike times, counts are the same in each run. Each call is counted in a loop of 10,000 and in one of 30,000; the
difference is that of 20,000 calls, net of the same loop around a function that does nothing. A set-returning function
replaces generate_series, and is compared with it. First calls of a transaction are in a loop of PL/pgSQL that commits.
"""
import os
import re
import subprocess
import sys

from common import SHOP, conditions, create_databases, has_uuidv7, options, psql, table, write_report

DATA = os.environ["SANDBOX"] + "/data"
FEW, MANY = 10000, 30000
ROOMY = "'{}'::regclass, shard_bits => 3, sequence_bits => 20"
FLOOR, FLOOR_OF_SETS = "pg_backend_pid()", "n"
NEXT_ID, LEASED = (f"next_id({ROOMY.format(name)})" for name in ("roomy", "leased"))
NEXT_IDS = f"next_ids(5, COUNT, {ROOMY.format('roomy')})"

# Label: call, compared with nextval; with COUNT a set.
CALLS = {
    "`nextval`": "nextval('plain')",
    "`nextval`, CACHE 100": "nextval('cached')",
    "**`next_id`**": NEXT_ID,
    "**`next_id`**, leased generator": LEASED,
    "**`next_ids`**, per id": NEXT_IDS,
    "**`nextval_range`**, 1,000 values": "nextval_range('in_ranges', 1000)",
    "`setval(s, nextval(s) + 999)`": "setval('set_on', nextval('set_on') + 999)",
    "Instagram's function": "baseline.next_id()",
    "`gen_random_uuid`": "gen_random_uuid()",
    "`uuidv7`": "uuidv7()",
    # Functions around next_id, as users write them: docs/clients.md, docs/migrating.md, examples/citus.
    "**`next_id`** in `LANGUAGE sql RETURN`": "by_return()",
    "the same with `SET search_path`": "with_path()",
    "the same, `SECURITY DEFINER`": "of_owner()",
    "the same in `LANGUAGE plpgsql`": "in_plpgsql()",
    "**`next_shop_id`** of Citus": "next_shop_id()",
}
# Each in a transaction of its own.
FIRST_CALLS = {
    "**`next_id`**, first of a transaction": NEXT_ID,
    "the same, generator with CACHE 2": f"next_id({ROOMY.format('noted')})",
}
# All other functions, in the order of docs/reference.md.
OTHERS = (
    "id_generator_status()", "id_timestamp(id)", "id_shard(id)", "id_sequence(id)", "id_parts(id)",
    "id_from_parts(ts, 5, 7)", "id_lower_bound(ts)", "uuid_v1()", "uuid_v1_from(ts, 666, mac)", "uuid_v1_timestamp(u)",
    "uuid_v1_hundred_ns(u)", "uuid_v1_clock_seq(u)", "uuid_v1_node(u)", "uuid_v6_from(ts, 666, mac)",
    "uuid_v6_timestamp(u6)", "uuid_v6_hundred_ns(u6)", "uuid_v6_clock_seq(u6)", "uuid_v6_node(u6)",
    "uuid_v1_to_v6(u)", "uuid_v6_to_v1(u6)", "uuid_v7_lower_bound(ts)", "uuid_v7_timestamp(u7)", "scatter_digits(id)", "gather_digits(digits)", "scatter_bits(id, 5)",
    "gather_bits(bits, 5)", "id_to_text(id)", "id_from_text(short)", "objectid()", "objectid_from(ts, 1, 2, 3)",
    "objectid_timestamp(oid)")

# Arguments that are not constant: with constants a function would be computed once.
ARGUMENTS = """
CREATE TABLE one_of_each AS
SELECT u, uuid_v1_to_v6(u) AS u6, uuid_v7_lower_bound('2026-11-21 12:00:00+00') AS u7,
       timestamptz '2026-11-21 12:00:00.123456+00' AS ts, macaddr '44:88:99:36:57:32' AS mac,
       id, scatter_digits(id) AS digits, scatter_bits(id, 5) AS bits, id_to_text(id) AS short,
       '\\x507f1f77bcf86cd799439011'::bytea AS oid
FROM (VALUES ('6b54058a-a413-11e6-b501-a0999b048337'::uuid, 4030000000000005127)) v (u, id);
VACUUM ANALYZE one_of_each;
"""
LEASE = """
CREATE EXTENSION shardid_lease CASCADE;
SELECT format('CREATE SERVER here FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host %L, dbname %L)', :'HOST', :'DBNAME')
    \\gexec
CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user 'postgres');
CREATE SEQUENCE leased;
SELECT shardid_lease.create_id_space('bench', shard_bits => 3, sequence_bits => 20);
SELECT shardid_lease.lease_shard('bench', 'here', generator => 'leased', shard => 5);
SELECT next_id('leased'::regclass, shard_bits => 3, sequence_bits => 20);
"""
# A window of a day: a single-user server has no background worker that could request one.
GIVE_WINDOW = """UPDATE shardid_lease.lease_window
    SET family = (shardid_lease.page_of('leased'::regclass)).family, moved_at = '0/0', from_ms = t - 1000, until_ms = t + 86400000,
        lease_ms = 86400000
    FROM (SELECT shardid_lease.now_ms(epoch) AS t FROM shardid_lease.id_space) clock"""


def loop(call, count):
    rows = call.replace("COUNT", str(count)) if "COUNT" in call else f"generate_series(1, {count})"
    return f"SELECT count({'n' if 'COUNT' in call else call}) FROM (SELECT o.*, {rows} AS n FROM one_of_each o) s\n"


def transactions(call, count):
    return f"DO $$ BEGIN FOR n IN 1..{count} LOOP PERFORM {call}; COMMIT; END LOOP; END $$\n"


def collected(call, query):
    profile = f"{os.environ['SANDBOX']}/callgrind.out"
    before = GIVE_WINDOW.replace("\n", " ") + "\n" if call == LEASED else ""
    server = ["postgres", "--single", "-D", DATA, "-c", "jit=off", "-c", "search_path=public,ids",
              "-c", "shardid.shard_id=5", SHOP]
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *server]
    ran = subprocess.run(command, input=before + query, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=True)
    if "ERROR:  " in ran.stderr:
        sys.exit(ran.stderr)
    return int(re.search(r"Collected : (\d+)", ran.stderr)[1])


def per_call(call, form=loop):
    return (collected(call, form(call, MANY)) - collected(call, form(call, FEW))) // (MANY - FEW)


def main():
    arguments = options(__doc__, rounds=0, seconds=0)
    create_databases()
    psql(ARGUMENTS + LEASE + "CREATE SEQUENCE noted CACHE 2")
    psql("\\i t/clients/wrappers.sql")
    wanted = CALLS if has_uuidv7() else {label: call for label, call in CALLS.items() if "uuidv7" not in call}
    wanted = {**wanted, **{f"**`{call.split('(')[0]}`**": call for call in OTHERS}}
    end = conditions("bench-instructions", arguments)
    subprocess.run(["pg_ctl", "-D", DATA, "-m", "fast", "-w", "stop"], stdout=subprocess.DEVNULL, check=True)

    floor, floor_of_sets = per_call(FLOOR), per_call(FLOOR_OF_SETS)
    net = {}
    for label, call in wanted.items():
        net[label] = per_call(call) - (floor_of_sets if "COUNT" in call else floor)
        print(f"{label}: {net[label]}", file=sys.stderr, flush=True)
    floor_of_first = per_call(FLOOR, transactions)
    for label, call in FIRST_CALLS.items():
        net[label] = per_call(call, transactions) - floor_of_first
        print(f"{label}: {net[label]}", file=sys.stderr, flush=True)
    nextval = net["`nextval`"]
    rows = [[label, f"{n:,}", f"{n / nextval:.2f}"] for label, n in net.items()]
    lines = table(["Instructions", "net", "to `nextval`"], rows)
    lines += ["", f"Less the {floor} of `pg_backend_pid()` in the same loop; {end}"]
    write_report(f"{arguments.out}/instructions.md", lines)

    next_id, leased = net["**`next_id`**"], net["**`next_id`**, leased generator"]
    if net["**`next_ids`**, per id"] * 3 > next_id:
        sys.exit("an id of next_ids costs more than a third of one of next_id")
    if not 0 < leased * 100 <= next_id * 102:
        sys.exit("a leased next_id generates nothing, or costs more than 2% above one that is not")


main()
