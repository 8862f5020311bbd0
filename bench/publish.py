#!/usr/bin/env python3
"""Copies bench/results to the pages, so that each number on a page was measured. Markers are on lines of their own:

- a file: all between <!-- bench/results/FILE --> and <!-- end -->;
- the picture docs/throughput.svg, see bench/picture.py;
- a number in the text: <!-- NUMBER = FILE :: ROW :: COLUMN -->, on a line after its paragraph, list or table; ROW and
  COLUMN are the first cells of their lines, without * and `. Such numbers are not copied: change what is printed.

--take-over first replaces bench/results by what is in bench/out. --check writes nothing, and
prints what differs.
"""
import glob
import os
import re
import shutil
import sys

from picture import picture

RESULTS, PICTURE = "bench/results", "docs/throughput.svg"
WHOLE = re.compile(r"<!-- bench/results/(\S+) -->\n(.*?)<!-- end -->", re.S)
# Lines of text, and the lines after them with the sources of their numbers.
SOURCED = re.compile(r"((?:^(?!<!-- .* = ).+\n)+)((?:^<!-- .+ = \S+\.md :: .* -->\n?)+)", re.M)
NUMBER = re.compile(r"^<!-- (.+?) = (\S+\.md) :: (.*) :: (.*) -->$", re.M)
# What looks measured. 100 ns are the unit of UUIDs; what PostgreSQL or a setting fixes is code.
MEASURED = re.compile(r"(?!100 ns)\b\d(?:[\d.,]*\d)? ?"
                      r"(?:ns|us|µs|tps|kB|MB|instructions|bytes (?:a|per) row|times as fast|of what)\b")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def results(name):
    return read(f"{RESULTS}/{name}").strip() if os.path.exists(f"{RESULTS}/{name}") else f"{name} is not there"


def cells(line):
    return [re.sub(r"[*`]", "", cell).strip() for cell in line.split("|")[1:-1]]


def numbers(name, row, column):
    """All cells of the tables of the results with this row and column."""
    found = []
    for part in results(name).split("\n\n"):
        header, *lines = map(cells, part.splitlines())
        found += [value for line in lines if line[:1] == [row] for value, title in zip(line, header) if title == column]
    return found


def shown(value):
    """A pattern of the value, not as a part of another number."""
    return rf"(?<![\d.,]){re.escape(value)}(?![\d.,]*\d)"


def without_numbers(block):
    values = [value for value, *_ in NUMBER.findall(block[2])]
    return re.sub("|".join(map(shown, values)), "", block[1])


def wrong_numbers(text):
    """Sources that do not match, and numbers that look measured and have none."""
    for block in SOURCED.finditer(text):
        for value, name, row, column in NUMBER.findall(block[2]):
            if not re.search(shown(value), block[1]):
                yield f"{value} is not in the text before its source"
            if numbers(name, row, column) != [value]:
                yield f"{value}: bench/results say {numbers(name, row, column)} for {row}, {column}"
    text = re.sub(r"^```.*?^```$", "", SOURCED.sub(without_numbers, WHOLE.sub("", text)), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`|^    .*$|^<!-- .*$", "", text, flags=re.M)
    yield from (f"{found[0]!r} has no source: see bench/publish.py" for found in MEASURED.finditer(text))


def published(text):
    return WHOLE.sub(lambda block: f"<!-- {RESULTS}/{block[1]} -->\n\n{results(block[1])}\n\n<!-- end -->", text)


def checked(page, text):
    """The page as it must be, and the errors in it."""
    new = published(text)
    wrong = [*wrong_numbers(text), *(["bench/results say something else"] if new != text else [])]
    return new, [f"{page}: {line}" for line in wrong]


def wrong_picture():
    return [] if read(PICTURE) == picture(read(f"{RESULTS}/throughput.md")) else [f"{PICTURE}: bench/results say something else"]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = []
    if sys.argv[1:] == ["--take-over"]:
        for path in glob.glob("bench/out/*"):
            shutil.copyfile(path, f"{RESULTS}/{os.path.basename(path)}")
    for page in ["README.md", "bench/README.md", "bench/pgbench/README.md", *sorted(glob.glob("docs/*.md")), *sorted(glob.glob("contrib/*/README.md"))]:
        text = read(page)
        if sys.argv[1:] != ["--check"]:
            text = published(text)
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        found += checked(page, text)[1]
    if sys.argv[1:] != ["--check"]:
        with open(PICTURE, "w", encoding="utf-8") as file:
            file.write(picture(read(f"{RESULTS}/throughput.md")))
    found += wrong_picture()
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
