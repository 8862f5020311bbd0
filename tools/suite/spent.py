#!/usr/bin/env python3
"""Runs a command and writes its seconds and CPU seconds into a file: spent.py FILE COMMAND...

The command's servers leave its process group and tree, so this adopts them (PR_SET_CHILD_SUBREAPER), with their time.
"""
import ctypes
import os
import resource
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def cpu_of_the_living():
    """The time of running descendants, with that of children for which they have waited."""
    spent, parents = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(pid)] = int(fields[1])
        spent[int(pid)] = sum(map(int, fields[11:15]))
    ours, added = {os.getpid()}, True
    while added:
        added = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= added
    return sum(spent[pid] for pid in ours - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
    status = None
    while status is None:
        ended, how = os.wait()
        status = how if ended == child else None
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(sys.argv[1], "w") as out:
        print(f"{time.monotonic() - start:.1f} {used.ru_utime + used.ru_stime + cpu_of_the_living():.1f}", file=out)
    sys.exit(os.waitstatus_to_exitcode(status) & 255)


main()
