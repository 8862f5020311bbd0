#!/usr/bin/env python3
"""Puts what is in bench/results into docs/benchmark.md: each file between the two lines that name it."""
import os
import re
import sys

PAGE = "docs/benchmark.md"
BLOCK = re.compile(r"^<!-- (bench/results/\S+) -->\n(.*?)^<!-- end -->$", re.M | re.S)


def published(block):
    """With the file's content; as it was where there is no such file."""
    path = block[1]
    if not os.path.exists(path):
        print(f"{path} is not there: left as it is", file=sys.stderr)
        return block[0]
    with open(path, encoding="utf-8") as file:
        return f"<!-- {path} -->\n\n{file.read().strip()}\n\n<!-- end -->"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(BLOCK.sub(published, page))


main()
