#!/usr/bin/env python3
"""Puts what is in bench/results onto the pages, so that no page shows a number that was not measured:

- a file: all between <!-- bench/results/FILE --> and <!-- end -->;
- tables of it: the same with <!-- tables of bench/results/FILE: FIRST CELL; ... -->, each by what the first
  cell of its header begins with;
- a number: between <!-- FILE :: TABLE :: ROW :: COLUMN --> and <!-- end -->, where TABLE is what the first cell
  of the header begins with and "COLUMN (2)" the second of this name;
- words: between <!-- FILE :: regular expression with one group --> and <!-- end -->.

A number or words may not begin a line: Markdown would take that line for HTML.

With --check it writes nothing, and says which pages differ.
"""
import glob
import os
import re
import sys

RESULTS = "bench/results"
WHOLE = re.compile(r"<!-- bench/results/(\S+) -->\n(.*?)<!-- end -->", re.S)
TABLES = re.compile(r"<!-- tables of bench/results/(\S+): (.*?) -->\n(.*?)<!-- end -->", re.S)
NUMBER = re.compile(r"<!-- (\S+\.md) :: ((?:(?!-->).)*?) -->(.*?)<!-- end -->")
# What looks measured: a page may show it only as above. 100 ns are the unit of UUIDs; what PostgreSQL
# or a setting fixes is code.
MEASURED = re.compile(r"(?!100 ns)\b\d(?:[\d.,]*\d)? ?(?:ns|us|µs|tps|kB|MB|instructions|bytes a row|times as fast|of what)\b")
BEGINS_LINE = re.compile(r"^ *<!-- \S+\.md :: .*", re.M)


class Wrong(Exception):
    """A marker that names nothing."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def results(name):
    path = f"{RESULTS}/{name}"
    if not os.path.exists(path):
        raise Wrong(f"{path} is not there")
    return read(path).strip()


def plain(cell):
    return re.sub(r"[*`]", "", cell).strip()


def cells(line):
    return [plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def tables(name):
    """The tables of the file, each a list of its lines."""
    found = [re.findall(r"^\|.*$", part, re.M) for part in results(name).split("\n\n")]
    return [table for table in found if table]


def table(name, begin):
    found = [lines for lines in tables(name) if cells(lines[0])[0].startswith(plain(begin))]
    if len(found) != 1:
        raise Wrong(f"{len(found)} tables of {name} begin with {begin!r}")
    return found[0]


def place(header, column):
    """Of the only column with this name, or the n-th for "name (n)"."""
    name, _, nth = re.fullmatch(r"(.*?)( \((\d)\))?", column).groups()
    places = [n for n, cell in enumerate(header) if cell == plain(name)]
    if nth and int(nth) <= len(places):
        return places[int(nth) - 1]
    if len(places) != 1:
        raise Wrong(f"{len(places)} columns {column!r} in {header}")
    return places[0]


def number(name, where):
    parts = where.split(" :: ")
    if len(parts) == 1:
        found = re.findall(where, results(name))
    else:
        begin, row, column = parts
        header, _, *rows = [cells(line) for line in table(name, begin)]
        found = [line[place(header, column)] for line in rows if line[0] == plain(row)]
    if len(found) != 1:
        raise Wrong(f"{len(found)} values in {name} for {where}")
    return found[0]


def published(text):
    def tables_of(block):
        wanted = [table(block[1], begin) for begin in block[2].split("; ")]
        content = "\n\n".join("\n".join(lines) for lines in wanted)
        return f"<!-- tables of {RESULTS}/{block[1]}: {block[2]} -->\n\n{content}\n\n<!-- end -->"
    text = WHOLE.sub(lambda block: f"<!-- {RESULTS}/{block[1]} -->\n\n{results(block[1])}\n\n<!-- end -->", text)
    text = TABLES.sub(tables_of, text)
    return NUMBER.sub(lambda block: f"<!-- {block[1]} :: {block[2]} -->{number(block[1], block[2])}<!-- end -->", text)


def unmarked(text):
    """What looks measured and stands there by itself."""
    for pattern in (WHOLE, TABLES, NUMBER):
        text = pattern.sub("", text)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`|^    .*$", "", text, flags=re.M)
    return [found[0] for found in MEASURED.finditer(text)]


def checked(page, old):
    """The page as it has to be, and what is wrong with it."""
    wrong = [f"{page}: {found!r} has no marker: see bench/publish.py" for found in unmarked(old)]
    wrong += [f"{page}: begins a line: {found}" for found in BEGINS_LINE.findall(old)]
    try:
        new = published(old)
    except Wrong as error:
        return old, [*wrong, f"{page}: {error}"]
    lines = set(old.splitlines())
    return new, wrong + [f"{page}: {RESULTS} say: {line}" for line in new.splitlines() if line not in lines]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = []
    for page in ["README.md", *sorted(glob.glob("docs/*.md"))]:
        old = read(page)
        new, wrong = checked(page, old)
        if sys.argv[1:] == ["--check"]:
            found += wrong
        elif new != old:
            with open(page, "w", encoding="utf-8") as file:
                file.write(new)
    if found:
        print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
