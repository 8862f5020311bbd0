#!/usr/bin/env python3
"""Checks that the pages of docs/ show what the tests run: each block of SQL on a page stands, line for
line, in its regress topic, and each block of text in what that topic is expected to answer.
"""
import glob
import re
import sys

# Page: regress topic. docs/tickets.md is run as it stands, by t/016_tickets.pl.
PAGES = {
    "docs/layouts.md": "layouts_of_others",
    "docs/partitioning.md": "partitioning",
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


def missing(path, topic):
    """What the page shows and the topic has not."""
    page = read(path)
    ran = "\n" + read(f"sql/{topic}.sql")
    answers = ["\n" + read(name) for name in glob.glob(f"expected/{topic}*.out")]
    sql, text = blocks(page, "sql"), blocks(page, "text")
    if not sql or not text:
        return [f"{path}: no SQL or no answers on it"]
    return ([f"{path}: not in sql/{topic}.sql:\n{block}" for block in sql if "\n" + block not in ran] +
            [f"{path}: not in expected/{topic}.out:\n{block}" for block in text
             if not any("\n" + block in answer for answer in answers)])


complaints = [line for path, topic in PAGES.items() for line in missing(path, topic)]
print("\n".join(complaints))
sys.exit(1 if complaints else 0)
