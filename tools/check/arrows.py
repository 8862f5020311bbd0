#!/usr/bin/env python3
"""Checks the direction of the includes of src/: functions -> engine -> core, and lease -> engine; that no sources, each
with its header, include each other in a circle; that core/ includes only the standard library and core/; that .hpp is
for core/; that storage knows no kind of id and no generator. With --itself it first tests that it detects wrong includes.
"""
import os
import re
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
SEES = {
    "core": {"core"},
    "engine": {"core", "engine", "compat.h"},
    "functions": {"core", "engine", "functions", "compat.h"},
    "lease": {"core", "engine", "lease", "compat.h"},
    "module.cpp": {"engine", "lease/keeper.h", "compat.h"},
    "compat.h": set(),
}
STANDARD_OF_CORE = {"bit", "cstddef", "cstdint", "limits"}
# The storage's files: they store a value without knowing what it is.
STORAGE = {"engine/sequence_page.h", "engine/sequence_page.cpp", "engine/page_pin.h", "engine/page_pin.cpp"}
NOT_FOR_STORAGE = {"engine/generator.h", "core/objectid.hpp", "core/uuid_ticks.hpp", "core/uuid_v1.hpp", "core/uuid_v6.hpp", "core/identity.hpp"}


def includes(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', file.read(), re.M)


def resolved(root, name, include):
    """The file of src/ that the compiler finds, next to the including file or by -Isrc; otherwise None."""
    for folder in (os.path.dirname(name), ""):
        path = os.path.normpath(os.path.join(folder, include))
        if os.path.isfile(os.path.join(root, path)):
            return path
    return None


def seen_from(root, name, found):
    for include in includes(root, name):
        path = resolved(root, name, include)
        if path and path not in found:
            found.add(path)
            seen_from(root, path, found)
    return found


def circles(root, names):
    """Takes away, again and again, what includes nothing that is left: what stays leads to a circle."""
    left = {}
    for name in names:
        room = left.setdefault(os.path.splitext(name)[0], set())
        room.update(os.path.splitext(path)[0] for include in includes(root, name) if (path := resolved(root, name, include)))
    for room, seen in left.items():
        seen.discard(room)
    while ends := {room for room, seen in left.items() if not seen & left.keys()}:
        left = {room: seen for room, seen in left.items() if room not in ends}
    yield from (f"{room}: in a circle, or above one" for room in sorted(left))


def sources(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".h", ".hpp", ".cpp")):
                yield os.path.relpath(os.path.join(folder, name), root)


def complaints(root):
    names = list(sources(root))
    if not names:
        yield "no sources"
    for name in names:
        room = name.split("/")[0]
        if room not in SEES:
            yield f"{name}: no such room"
            continue
        if (room == "core") != name.endswith(".hpp"):
            yield f"{name}: .hpp is for core/, and core/ for .hpp"
        for include in includes(root, name):
            path = resolved(root, name, include)
            if path and not {path, path.split("/")[0]} & SEES[room]:
                yield f"{name}: sees {path}"
            if room == "core" and not path and include not in STANDARD_OF_CORE:
                yield f"{name}: sees {include}"
        if name in STORAGE:
            yield from (f"{name}: storage sees {kind}" for kind in sorted(seen_from(root, name, set()) & NOT_FOR_STORAGE))
    yield from circles(root, names)


WRONG = {
    "engine/x.cpp": ['#include "functions/y.h"', '#include "../functions/y.h"', '#  include "functions/y.h"',
                     "#include <functions/y.h>", '#include "lease/y.h"'],
    "core/x.hpp": ['#include "engine/z.h"', '#include "postgres.h"', "#include <postgres.h>"],
    "functions/x.hpp": [""],
    "functions/x.cpp": ['#include "lease/y.h"'],
    "lease/x.cpp": ['#include "functions/y.h"'],
    "module.cpp": ['#include "lease/y.h"'],
    "elsewhere/x.cpp": [""],
    "engine/sequence_page.h": ['#include "core/identity.hpp"', '#include "engine/z.h"', '#include "engine/generator.h"'],
    "engine/w.cpp": ['#include "engine/v.h"'],
}


def sees_itself():
    """Each of these lines must be reported."""
    for name, lines in WRONG.items():
        for line in lines:
            with tempfile.TemporaryDirectory() as root:
                for path, text in {"functions/y.h": "", "lease/y.h": "", "core/identity.hpp": "", "engine/z.h": '#include "core/identity.hpp"',
                                   "engine/generator.h": "", "engine/v.h": '#include "engine/w.h"', "engine/w.h": "",
                                   name: line}.items():
                    os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                        file.write(text + "\n")
                if not any(complaint.startswith(os.path.splitext(name)[0]) for complaint in complaints(root)):
                    yield f"blind to {line or 'the name'} in {name}"


found = (list(sees_itself()) if "--itself" in sys.argv else []) + list(complaints(ROOT))
print("\n".join(found))
sys.exit(1 if found else 0)
