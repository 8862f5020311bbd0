#!/usr/bin/env python3
"""Checks which way the includes of src/ go: functions -> engine -> core. What is in core/ sees neither PostgreSQL
nor the others, .hpp is pure and .h sees PostgreSQL, and storage knows no kind of id.
"""
import glob
import os
import re
import sys

SEES = {
    "core": {"core"},
    "engine": {"core", "engine", "compat.h"},
    "functions": {"core", "engine", "functions", "compat.h"},
    "module.cpp": {"core", "engine", "compat.h"},
    "compat.h": set(),
}
# What keeps a page gets the value to keep.
STORAGE = {"engine/sequence_page.h", "engine/sequence_page.cpp"}
KINDS_OF_ID = {"core/objectid.hpp", "core/uuid_ticks.hpp", "core/uuid_v1.hpp", "core/uuid_v6.hpp"}


def own_includes(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^#include "([^"]+)"', file.read(), re.M)


def complaints(root="src"):
    for path in sorted(glob.glob(f"{root}/**/*.*", recursive=True)):
        name = os.path.relpath(path, root)
        room = name.split("/")[0]
        if not re.search(r"\.(h|hpp|cpp)$", name):
            continue
        if room not in SEES:
            yield f"{path}: no such room"
            continue
        if (room == "core") != name.endswith(".hpp"):
            yield f"{path}: .hpp is for core/, and core/ for .hpp"
        for include in own_includes(path):
            target = include.split("/")[0]
            # PostgreSQL's own headers lie in folders, too: catalog/pg_type.h.
            ours = os.path.exists(f"{root}/{include}")
            if ours and target not in SEES[room]:
                yield f"{path}: sees {include}"
            if room == "core" and not ours:
                yield f"{path}: sees {include}, which is none of the project's"
            if name in STORAGE and include in KINDS_OF_ID:
                yield f"{path}: storage sees a kind of id, {include}"


found = list(complaints())
print("\n".join(found))
sys.exit(1 if found else 0)
