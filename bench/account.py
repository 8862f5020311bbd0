#!/usr/bin/env python3
"""Accounts for the instructions of one next_id, next to one nextval, by what they are for.

valgrind counts each in loops of two lengths, function by function; the difference is that of the calls alone.
Net: less the same of a function that does nothing. Static functions of PostgreSQL, whose names are unknown
without debug symbols, count as the function that valgrind names instead.
"""
import argparse
import re
import subprocess

from common import table, write_report

FEW, MANY = 10000, 30000
FLOOR = "pg_backend_pid()"
CALLS = {"next_id": "next_id(generator => 'roomy', shard_bits => 3, sequence_bits => 20)", "nextval": "nextval('plain')"}

# Purpose: a pattern of the file and function. The first match counts.
PURPOSES = [
    ("lock on the page", r":(LWLock\w*|LockBuffer|ConditionalLockBuffer|UnlockReleaseBuffer|BufferLock\w*|Unlock\w*Buffer)\b"),
    ("marking it dirty", r":MarkBufferDirty\b"),
    ("whether a checkpoint began", r":GetRedoRecPtr\b"),
    ("the clock", r":(GetCurrentTimestamp|__?gettimeofday\w*|__vdso\w*|clock_gettime\w*)"),
    ("the page: where it is, what it says, the new state", r"sequence_page\.(h|cpp):|page_pin\.(h|cpp):"),
    ("the rule and the bits of the id", r"(advance|worked_widths|layout|count|draw)\.(hpp|cpp):"),
    ("checks: generator, lock, privileges, layout, shard", r"(generator|known|arguments|draw)\.(h|cpp):|compat\.h:shardid::use_generator|:(IsInParallelMode|GetUserId)\b"),
    ("whether it is durable", r"durable\.(h|cpp):|compat\.h:"),
    ("arguments and result", r"next_id\.cpp:"),
    ("the page: finding, pinning and releasing it", r":(ReadBuffer\w*|ReleaseBuffer|BufTable\w*|hash_\w+|ResourceOwner\w*|smgr\w*|PinBuffer\w*|StartReadBuffer\w*|WaitReadBuffers)\b"),
    ("the sequence: opening it, its lock and parameters", r":(relation_\w+|sequence_\w+|Relation\w+|Lock\w+|SearchSysCache\w*|SearchCatCache\w*|ReleaseSysCache|ReleaseCatCache\w*|pg_class_acl\w+|object_acl\w+|Catalog\w*|try_relation_open)\b"),
    ("WAL", r":(XLog\w*|XLOG\w*|GetXLog\w*|WAL\w*|pg_comp_crc32c\w*|GetTopTransactionId\w*|Prefetch\w*)"),
]
REST = "everything else in core"


def profile(call, count, folder):
    """Instructions by file and function."""
    out = f"{folder}/callgrind"
    query = f"SELECT count({call}) FROM (SELECT o.*, generate_series(1, {count}) AS n FROM one_of_each o) s\n"
    server = ["postgres", "--single", "-D", f"{folder}/data", "-c", "jit=off", "-c", "shardid.shard_id=5", "postgres"]
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *server], input=query, text=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    text = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no", out], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    counts = {}
    for number, name in re.findall(r"^\s*([\d,]+)\s+(\S+:.*?)(?: \[.*)?$", text, re.M):
        counts[name] = counts.get(name, 0) + int(number.replace(",", ""))
    return counts


def per_call(call, folder):
    few, many = (profile(call, count, folder) for count in (FEW, MANY))
    return {name: (many.get(name, 0) - few.get(name, 0)) / (MANY - FEW) for name in {*few, *many}}


def by_purpose(net):
    sums = {}
    for name, count in net.items():
        purpose = next((p for p, pattern in PURPOSES if re.search(pattern, name)), REST)
        sums[purpose] = sums.get(purpose, 0) + count
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="of the sandbox, with a cluster that is stopped")
    arguments = parser.parse_args()

    floor = per_call(FLOOR, arguments.folder)
    accounts = {}
    for name, call in CALLS.items():
        counts = per_call(call, arguments.folder)
        net = {function: counts.get(function, 0) - floor.get(function, 0) for function in {*counts, *floor}}
        accounts[name] = by_purpose(net)

    rows = []
    for purpose in [p for p, _ in PURPOSES] + [REST]:
        numbers = [round(accounts[name].get(purpose, 0)) for name in CALLS]
        if any(numbers):
            rows.append([purpose] + [str(n) if n else "" for n in numbers])
    totals = [round(sum(accounts[name].values())) for name in CALLS]
    rows.append(["together"] + [str(t) for t in totals])
    lines = table(["Net instructions per call"] + [f"`{name}`" for name in CALLS], rows)
    lines += ["", f"`next_id` takes {totals[0] / totals[1]:.3f} of what `nextval` does."]
    write_report(f"{arguments.folder}/out/account.md", lines)


main()
