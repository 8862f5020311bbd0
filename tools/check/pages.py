#!/usr/bin/env python3
"""Checks that the pages show what the tests run: that a test runs each block of SQL, that commands, links and files of
a page exist, and that its numbers are those of bench/results.

t/pages/pages.pl runs the blocks of SQL without a name; those with a name are used by a test. Each block of the pages in
TOPICS is, line by line, in a regress topic, and each block of text in its expected output. Each part of a block of
docs/clients.md, between empty lines or comments, is in a program of t/clients or examples/decoding.
"""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "bench")
import publish  # noqa: E402 pylint: disable=wrong-import-position

TOPICS = {
    "contrib/admin/README.md": "partitioning",
}
CLIENTS = "docs/clients.md"
PAGES = sorted(glob.glob("*.md") + glob.glob("docs/*.md") + glob.glob("examples/*/README.md") + glob.glob("contrib/*/*.md")
               + ["bench/README.md", "bench/pgbench/README.md", "packaging/release/README.md", "packaging/cnpg/README.md"])
README_LINES = 110
# Words after ```sql that are no name, see t/pages/pages.pl.
NO_NAME = {"", "fails", "superuser", "example"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


def missing_in_topic(path, topic):
    """What the page shows, but not the topic."""
    page = read(path)
    house = os.path.dirname(path)
    ran = "\n" + read(f"{house}/sql/{topic}.sql")
    answers = ["\n" + read(name) for name in glob.glob(f"{house}/expected/{topic}*.out")]
    sql, text = blocks(page, "sql"), blocks(page, "text")
    if not sql or not text:
        return ["no SQL or no answers on it"]
    return ([f"not in {house}/sql/{topic}.sql:\n{block}" for block in sql if "\n" + block not in ran] +
            [f"not in {house}/expected/{topic}.out:\n{block}" for block in text
             if not any("\n" + block in answer for answer in answers)])


def run_by_nobody(page, tests):
    """The named blocks that no test uses."""
    names = re.findall(r"^```\w+ (.+)$", page, re.M)
    return [f"no test names the block {name!r}" for name in names
            if not set(name.split(" ")) <= NO_NAME and name not in tests]


def code_of(page):
    """Its blocks of shell, lines that are indented, and code within lines."""
    fenced = re.compile(r"^```(?:sh|console)?(?: \w+)?\n(.*?)^```$|^```.*?^```$", re.M | re.S)
    yield from (found[1] for found in fenced.finditer(page) if found[1])
    yield from re.findall(r"^    \S.*\n|`[^`\n]+`", fenced.sub("", page), re.M)


def unknown_commands(page, targets):
    """Targets of make, and tests in TEST=, that do not exist."""
    for line in re.findall(r"(?:^ {0,4}|`)(make [^`\n#]*)", "".join(code_of(page)), re.M):
        words = re.sub(r'"[^"]*"', '""', line).split()[1:]
        for word in words:
            if re.fullmatch(r"[a-z][a-z-]+", word) and word not in targets:
                yield f"no target {word}: {line}"
        for picked in re.findall(r'TEST="?([^"`\n#]*)', line):
            yield from (f"TEST does not know {word}: {line}" for word in picked.split()
                        if not glob.glob(f"contrib/*/s*/{word}.s*") and
                        not any(map(os.path.exists, (word, f"t/suite/{word}.sh", f"sql/{word}.sql", f"specs/{word}.spec"))))


def unindented(text):
    return "".join(f"{line.strip()}\n" for line in text.splitlines())


def missing_of_clients(page):
    """Paragraphs without their comments that the page shows and no program has, and clients in its table that no test
    runs."""
    programs = ["\n" + unindented(read(name)) for name in glob.glob("t/clients/**", recursive=True) + glob.glob("examples/decoding/*.*")
                if os.path.isfile(name) and not name.endswith(".pl")]
    tests = "".join(read(name) for name in glob.glob("t/clients/*.pl"))
    shown = re.findall(r"^```\w+\n(.*?)^```$", page, re.M | re.S)
    parts = [part.rstrip("\n") + "\n" for block in shown for part in re.split(r"\n\n|^(?://|#) .*\n", block, flags=re.M) if part.strip()]
    clients = [client for row in re.findall(r"^\| (.+) \| `\w+` \| ", page, re.M) for client in row.split("; ")]
    if not shown or not clients or page.count("\n```") != 2 * len(shown):
        return ["no blocks or no clients on it, or a block without a language"]
    return ([f"in no file of t/clients or examples/decoding:\n{part}" for part in parts
             if not any("\n" + unindented(part) in program for program in programs)] +
            [f"asked by no test: {client}" for client in clients
             if f"'{client}'" not in tests and f"q({client})" not in tests])


def anchors(path):
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", read(path), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path, page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page) + re.findall(r"^\[\w+\]: (\S+)$", page, re.M):
        name, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(file):
            yield f"no file {target}"
        elif anchor and anchor not in anchors(file):
            yield f"no section {target}"
    for file in re.findall(r"`((?:t|sql|specs|tools|bench|proof|contrib|docs)/[\w./-]+\w)`", page):
        if not os.path.exists(file):
            yield f"no file {file}"


def wrong_with(path, page, known):
    tests, targets = known
    found = [*run_by_nobody(page, tests), *unknown_commands(page, targets), *broken_links(path, page)]
    if path == "README.md" and page.count("\n") > README_LINES:
        found.append(f"more than {README_LINES} lines")
    if path in TOPICS:
        found += missing_in_topic(path, TOPICS[path])
    if path == CLIENTS:
        found += missing_of_clients(page)
    return [f"{path}: {line}" for line in found] + publish.checked(path, page)[1]


def missing_of_benchmarks():
    """Blocks that the benchmarks take from pages."""
    taken = re.findall(r'block\("(.+?)", "(.+?)"\)', "".join(map(read, glob.glob("bench/*.py"))))
    return [f"{page}: no block {name}, which bench/ takes" for page, name in taken if f"\n```sql {name}\n" not in read(page)]


def main():
    places = ("t/*/*.pl", "contrib/*/t/*.pl", "tools/**/*.sh", "t/suite/*.sh", "examples/*/run.sh", "contrib/*/run.sh")
    tests = "".join(read(name) for place in places for name in glob.glob(place, recursive=True))
    known = (set(re.findall(r"[\w-]+", tests)),
             {target for line in re.findall(r"^([a-z -]+):", read("Makefile"), re.M) for target in line.split()} | {"all", "install", "installcheck", "clean"})
    found = [line for path in PAGES for line in wrong_with(path, read(path), known)] + missing_of_benchmarks() + publish.wrong_picture()
    if found:
        print("\n".join(found))
    sys.exit(1 if found else 0)


main()
