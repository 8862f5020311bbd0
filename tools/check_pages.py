#!/usr/bin/env python3
"""Checks that the pages of docs/ show what the tests run: each block of SQL on a page stands, line for
line, in its regress topic, and each block of text in what that topic is expected to answer. Each block of
docs/clients.md stands in a file of t/clients, and each row of its table in a test.
"""
import glob
import os
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


def unindented(text):
    return "".join(f"{line.strip()}\n" for line in text.splitlines())


def missing_of_clients(path):
    """What the page shows and no program has, and the clients in its table that no test asks."""
    page = read(path)
    programs = ["\n" + unindented(read(name)) for name in glob.glob("t/clients/**", recursive=True) if os.path.isfile(name)]
    tests = "".join(read(name) for name in glob.glob("t/*_clients.pl"))
    shown = re.findall(r"^```\w+\n(.*?)^```$", page, re.M | re.S)
    clients = re.findall(r"^\| \[(.+?)\]\(#", page, re.M)
    if not shown or not clients or page.count("\n```") != 2 * len(shown):
        return [f"{path}: no blocks or no clients on it, or a block without a language"]
    return ([f"{path}: in no file of t/clients:\n{block}" for block in shown
             if not any("\n" + unindented(block) in program for program in programs)] +
            [f"{path}: asked by no test: {client}" for client in clients
             if f"'{client}'" not in tests and f"q({client})" not in tests])


complaints = [line for path, topic in PAGES.items() for line in missing(path, topic)]
complaints += missing_of_clients("docs/clients.md")
print("\n".join(complaints))
sys.exit(1 if complaints else 0)
