#!/usr/bin/env python3
"""Writes test/README.md, the map of the tests, from test/promises.txt, the heads of the tests, the mutants and, as its
end, test/results.md. With --check it only compares. A test without a promise, or a name without a test, is an error.
"""
import glob
import re
import sys

MAP = "test/README.md"
END = "test/results.md"

# Steps without a file that convict mutants.
STEPS = {"ubsan": "pg_regress, isolation and two loads on a build with UBSan and the library's own assertions"}


def head(path):
    """The first sentence of the comment at its beginning."""
    if path in STEPS:
        return STEPS[path]
    with open(path) as file:
        lines = []
        for line in file:
            if not re.match(r"(#|--)(?!!)", line):
                break
            lines.append(line.lstrip("#-").strip())
    text = " ".join(lines)
    return re.split(r"(?<=[a-z)`])\. (?=[A-Z(])", text)[0].rstrip(".").replace("|", "\\|")


def tests():
    found = {step: step for step in STEPS}
    for pattern in ("t/*/*.pl", "sql/*.sql", "specs/*.spec"):
        for path in glob.glob(pattern):
            found[path.rsplit(".", 1)[0]] = path
    return found


def mutants_of(known):
    """By the test that convicts them, as a mutant names it: t/a/b.pl, or the name of a topic."""
    by_test = {}
    names = {path: test for test, path in known.items()} | {test.split("/")[-1]: test for test in known if not test.startswith("t/")}
    for path in sorted(glob.glob("test/mutants/*.patch")):
        with open(path) as file:
            named = re.search(r"^Convicted by: (.*)$", file.read(), re.M)[1].split()
        for name in named:
            if name not in names:
                sys.exit(f"{path}: there is no test {name}")
            by_test.setdefault(names[name], []).append(path[13:-6])
    return by_test


def promises(known):
    groups = []
    with open("test/promises.txt") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            if re.match(rf"(t|sql|specs)/|({'|'.join(STEPS)})\b", line):
                groups[-1][1].extend(line.split())
            else:
                groups.append((line.strip(), []))
    named = {test for _, listed in groups for test in listed}
    if named != set(known):
        sys.exit(f"test/promises.txt: no such test: {sorted(named - set(known))}; not in it: {sorted(set(known) - named)}")
    return groups


def text_of_map():
    known = tests()
    by_test = mutants_of(known)
    count = len(glob.glob("test/mutants/*.patch"))
    lines = ["# Which test shows what", "",
             "Made by `tools/suite/test_map.py` from `test/promises.txt`, the heads of the tests, the mutants and `test/results.md`;",
             f"do not edit. A mutant is a build that is broken on purpose (`test/mutants/NAME.patch`, {count} of them). It is convicted if the",
             "test in its row fails, which `make test-full` checks. There are also models ([model](model/README.md)), brute force and",
             "fuzzing of the pure headers (`unit`), and the judge, a program that checks the ids",
             "that clients received (`judge`). `make test TEST=t/generator/load.pl` runs one test.", ""]
    for promise, listed in promises(known):
        lines += [f"## {promise}", "", "| test | what it shows | mutants that it convicts |", "| --- | --- | --- |"]
        lines += [f"| {test} | {head(known[test])} | {', '.join(by_test.get(test, []))} |" for test in listed]
        lines.append("")
    with open(END) as file:
        return "\n".join(lines) + "\n" + file.read()


def main():
    text = text_of_map()
    if sys.argv[1:] != ["--check"]:
        with open(MAP, "w") as out:
            out.write(text)
        return
    with open(MAP) as file:
        if file.read() != text:
            sys.exit(f"{MAP} is not what tools/test_map.py makes; run it")


main()
