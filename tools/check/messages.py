#!/usr/bin/env python3
"""Checks that each message of docs/troubleshooting.md is one of the tree, raised with the SQLSTATEs that the page has."""
import glob
import re

PAGE = "docs/troubleshooting.md"
NOT_OURS = "\n## Messages of PostgreSQL itself\n"
SQLSTATES = {
    "check_violation": "23514", "invalid_parameter_value": "22023", "cannot_connect_now": "57P03", "object_in_use": "55006",
    "object_not_in_prerequisite_state": "55000", "query_canceled": "57014", "data_corrupted": "XX001", "internal_error": "XX000"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def of_tree():
    """The sources, with each string in one piece, and three dots for what is filled in."""
    paths = glob.glob("src/**/*.cpp", recursive=True) + glob.glob("*.sql") + glob.glob("contrib/*/src/*.cpp") + glob.glob("contrib/*/*.sql")
    text = "\n;".join(re.sub(r"""(?<!\\)(["'])\s+\1""", "", read(path)) for path in paths)
    return re.sub(r"%\d*\$?(?:ll)?[a-zA-Z]", "...", text.replace(r"\"", '"').replace("''", "'"))


def of_page():
    """Each message with its SQLSTATEs: in entries those in the parentheses after it, in tables those of the second column."""
    page = read(PAGE).split(NOT_OURS)[0]
    for entry in re.findall(r"^- (\*\*`.*?)(?=\n\n|\n- |\Z)", page, re.M | re.S):
        for message, behind in re.findall(r"\*\*`(.+?)`\*\*(?: \((.*?)\))?", " ".join(entry.split())):
            yield message, behind
    for first, second in re.findall(r"^\| (`.*?) \| (.*?) \|", page, re.M):
        for message in re.findall(r"`(.+?)`", first):
            yield message, second


def wrong_with(message, listed, tree):
    pattern = re.escape(message).replace(r"\.\.\.", r"[^;\n]+?")
    found = [tree[:start.start()].rpartition(";")[2] for start in re.finditer(pattern, tree)]
    if not found:
        return "nothing raises this"
    codes = set(re.findall(r"\b[0-9X][0-9A-Z]{4}\b", listed))
    names = re.findall(r"(?:ERRCODE(?:_| = ')|RAISE (?!EXCEPTION|WARNING|NOTICE))(\w+)", " ".join(found))
    raised = {SQLSTATES.get(name.lower(), name) for name in names}
    return f"it is raised with {sorted(raised)}, not {sorted(codes)}" if raised and codes and raised != codes else ""


tree = of_tree()
wrong = [f"{PAGE}: {message}: {why}" for message, listed in of_page() if (why := wrong_with(message, listed, tree))]
if wrong or not list(of_page()):
    raise SystemExit("\n".join(wrong) or f"{PAGE}: no message is found")
