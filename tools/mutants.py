#!/usr/bin/env python3
"""The mutants of proof/mutants: builds without a rule, each of which a test has to detect.

    mutants.py list WORD...            those that the words name: proof/mutants, a file there, or FILE/NAME
    mutants.py apply FILE/NAME TREE    changes the source in TREE, and prints the test
    mutants.py check                   whether each can be applied, and its test exists

A mutant is a paragraph: its name, the file of the source, and the test; the reason, what the build does wrong; and the
change: lines with "-" are replaced by lines with "+", others stay. Indentation apart, those with "-" and those that stay
are in the file exactly once, one after the other. After "@@" another place follows.
"""
import glob
import itertools
import os
import re
import sys


def mutants():
    for path in sorted(glob.glob("proof/mutants/*")):
        for paragraph in read(path).strip("\n").split("\n\n"):
            first, _reason, *change = paragraph.split("\n")
            name, source, test = first.split()
            yield f"{path}/{name}", source, test, change


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def changed(text, change):
    for is_separator, place in itertools.groupby(change, lambda line: line == "@@"):
        if is_separator:
            continue
        place = list(place)
        sought = re.compile("".join(rf"^([ \t]*){re.escape(line[1:].lstrip())}\n" for line in place if line[0] != "+"), re.M)
        found = list(sought.finditer(text))
        if len(found) != 1:
            raise ValueError(f"is in {len(found)} places:\n" + "\n".join(place))
        by = "".join(f"{found[0][1]}{line[1:]}".rstrip() + "\n" for line in place if line[0] != "-")
        text = text[: found[0].start()] + by + text[found[0].end() :]
    return text


def apply(wanted, tree):
    for name, source, test, change in mutants():
        if name == wanted:
            path = os.path.join(tree, source)
            text = changed(read(path), change)
            if source.startswith("src/core/"):
                # The test must detect it, not the compiler.
                text = re.sub(r"^static_assert\(.*?\);\n", "", text, flags=re.M | re.S)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(test)


def list_named(*words):
    for name, *_ in mutants():
        if any(f"{name}/".startswith(f"{word.rstrip('/')}/") for word in words):
            print(name)


def check():
    names = set()
    for name, source, test, change in mutants():
        try:
            changed(read(source), change)
        except (OSError, ValueError) as error:
            sys.exit(f"{name} cannot be applied to {source}: {error}")
        if name in names or not any(
                glob.glob(form.format(test)) for form in ("{}", "t/suite/{}.sh", "sql/{}.sql", "specs/{}.spec", "contrib/*/s*/{}.s*")):
            sys.exit(f"{name}: its name is another's, too, or there is no test {test}")
        names.add(name)


if __name__ == "__main__":
    {"list": list_named, "apply": apply, "check": check}[sys.argv[1]](*sys.argv[2:])
