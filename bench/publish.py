#!/usr/bin/env python3
"""Copies numbers from bench/results to the pages, so that each number on a page was measured. Markers are on lines of
their own:

- a file: all between <!-- bench/results/FILE --> and <!-- end -->;
- tables of a file: the same with <!-- tables of bench/results/FILE: FIRST CELL; ... -->, each named by the beginning
  of its header's first cell;
- a table with numbers of several files: the same with <!-- bench/tables/FILE -->, which has {SOURCE} for each number;
- a number in the text: <!-- NUMBER = SOURCE -->, on a line right after its paragraph, list or table.

A SOURCE is FILE :: TABLE :: ROW :: COLUMN, where TABLE is the beginning of the header's first cell and "COLUMN (2)"
the second column of this name; or FILE :: regular expression with one group.

--check writes nothing, and prints which pages differ.
"""
import glob
import os
import re
import sys

RESULTS = "bench/results"
TABLES_OF_PAGES = "bench/tables"
WHOLE = re.compile(r"<!-- bench/results/(\S+) -->\n(.*?)<!-- end -->", re.S)
TABLES = re.compile(r"<!-- tables of bench/results/(\S+): (.*?) -->\n(.*?)<!-- end -->", re.S)
TEMPLATE = re.compile(r"<!-- bench/tables/(\S+) -->\n(.*?)<!-- end -->", re.S)
SOURCE = re.compile(r"\{(\S+\.md) :: ([^}\n]*)\}")
# Lines of text, and the lines after them with the sources of their numbers.
SOURCED = re.compile(r"((?:^(?!<!--).+\n)+)((?:^<!-- .+ = \S+\.md :: .* -->\n?)+)", re.M)
NUMBER = re.compile(r"^<!-- (.+?) = (\S+\.md) :: (.*) -->$", re.M)
# What looks measured: a page may show it only as above. 100 ns are the unit of UUIDs; what PostgreSQL
# or a setting fixes is code.
MEASURED = re.compile(r"(?!100 ns)\b\d(?:[\d.,]*\d)? ?(?:ns|us|µs|tps|kB|MB|instructions|bytes (?:a|per) row|times as fast|of what)\b")

WITHIN_LINE = re.compile(r"^.*\S.*<!-- \S+\.md :: .*|^<!-- .*\.md :: .* -->.+$", re.M)


class Wrong(Exception):
    """A marker without a source."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def content_of(path):
    if not os.path.exists(path):
        raise Wrong(f"{path} is not there")
    return read(path).strip()


def results(name):
    return content_of(f"{RESULTS}/{name}")


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
    """The index of the only column with this name, or of the n-th for "name (n)"."""
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
        found = re.findall(where, re.sub(r"\n(?=\w|`)", " ", results(name)))
    else:
        begin, row, column = parts
        header, _, *rows = [cells(line) for line in table(name, begin)]
        found = [line[place(header, column)] for line in rows if line[0] == plain(row)]
    if len(found) != 1:
        raise Wrong(f"{len(found)} values in {name} for {where}")
    return found[0]


def filled(name):
    """A table of bench/tables with its numbers filled in."""
    return SOURCE.sub(lambda source: number(source[1], source[2]), content_of(f"{TABLES_OF_PAGES}/{name}"))


def shows(value):
    """A pattern that matches the value, but not as a part of another number."""
    return re.compile(rf"(?<![\d.,]){re.escape(value)}(?![\d.,]*\d)")


def with_numbers(block):
    """Lines of text with the values of their sources."""
    text, sources = block[1], block[2]
    for old, name, where in NUMBER.findall(sources):
        found, new = shows(old).findall(text), number(name, where)
        if not found:
            raise Wrong(f"{old} is not in the text before its source")
        if new == old:
            continue
        if len(found) > 1:
            raise Wrong(f"{old} is there {len(found)} times, and one of them is now {new}")
        text = shows(old).sub(new, text)
        sources = sources.replace(f"<!-- {old} = {name} :: {where} -->", f"<!-- {new} = {name} :: {where} -->")
    return text + sources


def published(text):
    def tables_of(block):
        wanted = [table(block[1], begin) for begin in block[2].split("; ")]
        content = "\n\n".join("\n".join(lines) for lines in wanted)
        return f"<!-- tables of {RESULTS}/{block[1]}: {block[2]} -->\n\n{content}\n\n<!-- end -->"
    text = WHOLE.sub(lambda block: f"<!-- {RESULTS}/{block[1]} -->\n\n{results(block[1])}\n\n<!-- end -->", text)
    text = TABLES.sub(tables_of, text)
    text = TEMPLATE.sub(lambda block: f"<!-- {TABLES_OF_PAGES}/{block[1]} -->\n\n{filled(block[1])}\n\n<!-- end -->", text)
    return SOURCED.sub(with_numbers, text)


def without_numbers(block):
    text = block[1]
    for value, _, _ in NUMBER.findall(block[2]):
        text = shows(value).sub("", text)
    return text


def unmarked(text):
    """Numbers that look measured and have no source."""
    for pattern in (WHOLE, TABLES, TEMPLATE):
        text = pattern.sub("", text)
    text = SOURCED.sub(without_numbers, text)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`|^    .*$", "", text, flags=re.M)
    return [found[0] for found in MEASURED.finditer(text)]


def checked(page, old):
    """The page as it must be, and the errors in it."""
    wrong = [f"{page}: {found!r} has no source: see bench/publish.py" for found in unmarked(old)]
    wrong += [f"{page}: a marker within a line: {found}" for found in WITHIN_LINE.findall(old)]
    try:
        new = published(old)
    except Wrong as error:
        return old, [*wrong, f"{page}: {error}"]
    lines = set(old.splitlines())
    return new, wrong + [f"{page}: {RESULTS} say: {line}" for line in new.splitlines() if line not in lines]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = []
    for page in ["README.md", "bench/README.md", *sorted(glob.glob("docs/*.md"))]:
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
