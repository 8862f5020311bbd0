#!/usr/bin/env python3
"""Checks how pages, error texts, COMMENTs and comments in code are written: plain words, short sentences, and
Markdown that can be read in a pager. pages.py runs it for all of them. On its own it takes names of files:

    tools/check/prose.py docs/reference.md src/module.cpp

tools/check/prose_exceptions.txt has the exceptions, one per line: a file, " :: " and a text that is in the finding, or
* for the whole file.
"""
import glob
import os
import re
import sys

EXCEPTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prose_exceptions.txt")
MAX_WORDS = 30
MAX_COLUMNS_OF_TABLE = 120
MAX_COLUMNS = 123
MAX_LINES_OF_README = 150
# A heading may be an indirect question: "Who may do what".
MAX_WORDS_OF_HEADING = 6

# Pages for contributors, which may name test files and their terms.
FOR_CONTRIBUTORS = {"CONTRIBUTING.md", "docs/reliability.md", "test/README.md", "test/model/README.md", "bench/README.md"}
# These define the engine's own terms.
DEFINE_TERMS = {"docs/how-it-works.md"}

UNITS = r"(?:ids?|rows?|calls?|values?|UUIDs?|ObjectIds?|ns|µs|ms|kB|MB|bytes|instructions|records?|times|\d)"

# Words that a text should not have, and what PostgreSQL's documentation uses instead. In all texts:
WORDS = {
    r"\bid(?:s)? (?:that )?say(?:s)?\b": "carries, contains",
    r"\bids?\b[^.;]{0,20} (?:never )?meets?\b|\bnever meet\b": "collide",
    r"\b(?:come|comes|came|given|made|used|generated|drawn) twice\b|\bgiven again\b|\brepeat(?:s)? themselves\b": "duplicate",
    r"\b(?:go|goes|going|gone|went) on\b": "continue",
    r"\bbeside\b": "next to, alongside, at the same time as, compared with",
    r"\bwhoever\b": "any role that",
    r"\bst(?:and|ands|ood) in\b": "is in, is stored in",
    r"\bceiling\b": "rate limit",
    r"\brivals?\b": "alternative",
    r"\bbut for\b|\ball but\b": "except",
    r"\bby hand\b": "manually",
    r"\bfor good\b": "permanent",
    r"\b(?:give|gives|gave|given|giving)(?: \w+){0,3} back\b": "release, return",
    r"\bpast time\b": "point-in-time recovery",
    r"\bparted\b": "the timeline diverged",
    r"\bwithout (?:a|the) library\b": "SQL-only version",
    r"\bfolders?\b": "directory",
    r"\bdisks? that lies?\b|\blying disk": "storage that does not honor fsync",
    rf"\b{UNITS} an? (?:milli|micro)?(?:second|minute|hour|day|call|row|id|session|transaction)\b": "per second, per call, per row",
    r"\b(?:take|takes|taken|taking) (?:\w+ ){0,2}apart\b": "decode",
    r"\b(?:is|are) (?:told|shown) an? id\b|\bids? (?:is|are) (?:told|shown)\b": "generate, return",
}
# In what users read, pages and messages:
WORDS_FOR_USERS = {
    r"\b(?:draw|draws|drawing|drawn|drew|undrawn)\b": "generate ids, call next_id",
    r"\b(?:convicts?|convicted|mutants?)\b|\bjudges?\b": "detects, mutation test, checker",
}
WHO = r"(?:^|[.;:(] |\b(?:for|of|to|by|from|with|than|as|but) )[Ww]ho \w+\b(?![^.]*\?)"
RECIPE = re.compile(r"\bthe recipe\b")
RECIPE_DEFINED = re.compile(r"called the recipe\b")
TEST_FILE = re.compile(r"\b(?:t/\w+/\w+|sql/\w+\.sql|specs/\w+|expected/\w+|test/(?:mutants|judge|model|unit|portable)\b)")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- Pages ---

def without_fences(page):
    """The page, with empty lines for its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```[^\n]*$", lambda block: "\n" * block[0].count("\n"), page, flags=re.M | re.S)


def without_comments(text):
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def plain(text):
    """A code span is a word, a link is its text."""
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_]{2}", "", text)


def units_of(page):
    """Paragraphs, items of lists, cells of tables and headings, each in one line."""
    text = without_comments(without_fences(page))
    for block in re.split(r"\n(?=\s*(?:\n|[-*] |\d+\. |#|\|))", text):
        block = block.strip("\n")
        if re.match(r"^(?: {4}|\t)", block):
            continue
        if block.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", block) if cell.strip(" -:\n"))
        elif block.strip():
            yield re.sub(r"^(?:[-*>] |\d+\. |#+ )", "", " ".join(block.split()))


def sentences(unit):
    return re.split(r"(?<=[.!?;])\s+(?=[\w`\"'(*\[<])", unit)


def words_of(sentence):
    return [word for word in plain(sentence).split() if re.search(r"\w", word)]


def long_sentences(unit):
    """Sentences that are too long. A semicolon ends a sentence, too."""
    for sentence in sentences(unit):
        count = len(words_of(sentence))
        if count > MAX_WORDS:
            yield f"a sentence of {count} words: {sentence}"


def wrong_words(unit, words):
    text = plain(unit)
    if len(text.split()) > MAX_WORDS_OF_HEADING:
        words = words | {WHO: "sessions that, any role with, a caller that"}
    for pattern, instead in words.items():
        for found in re.finditer(pattern, text):
            around = text[max(0, found.start() - 30):found.end() + 30]
            yield f"\"{found[0].strip()}\", better: {instead}: {around}"


def unreadable_lines(page):
    for line in without_fences(page).splitlines():
        what, most = ("table", MAX_COLUMNS_OF_TABLE) if line.startswith("|") else ("line", MAX_COLUMNS)
        if len(line) > most and " " in line.strip()[:most]:
            yield f"a {what} of {len(line)} columns: {line}"
        if "<!--" in line and without_comments(line + "-->" * ("-->" not in line)).strip():
            yield f"a comment within a line: {line}"


def wrong_with_page(path, page):
    is_for_users = path not in FOR_CONTRIBUTORS
    words = dict(WORDS)
    if is_for_users and path not in DEFINE_TERMS:
        words |= WORDS_FOR_USERS
    found = list(unreadable_lines(page))
    if path == "README.md" and page.count("\n") > MAX_LINES_OF_README:
        found.append(f"more than {MAX_LINES_OF_README} lines")
    has_defined = False
    for unit in units_of(page):
        found += long_sentences(unit)
        found += wrong_words(unit, words)
        has_defined = has_defined or RECIPE_DEFINED.search(unit)
        if RECIPE.search(plain(unit)) and not has_defined:
            found.append(f"the recipe is not defined before: {unit}")
        if is_for_users:
            found += [f"a test's file, {name}: {unit}" for name in TEST_FILE.findall(unit)]
    return found


# --- Messages and comments ---

LITERAL = r'"(?:[^"\\\n]|\\.)*"'


def messages_of_cpp(code):
    """String literals of several words: errmsg and its like, descriptions of settings. Adjacent ones are one."""
    code = re.sub(r"//.*", "", code)
    code = re.sub(r"^#.*", "", code, flags=re.M)
    for run in re.findall(rf"{LITERAL}(?:\s*{LITERAL})*", code):
        text = "".join(literal[1:-1] for literal in re.findall(LITERAL, run))
        if " " in text:
            yield text


def comments_of(text, mark):
    """Each run of lines of comment as one text."""
    for run in re.findall(rf"(?:^[ \t]*{mark}[^\n]*\n)+|{mark} [^\n]*\n", text, re.M):
        yield " ".join(re.sub(rf"^[ \t]*{mark}+ ?", "", line).strip() for line in run.splitlines())


def messages_of_sql(script):
    """The texts of COMMENT and RAISE."""
    literal = r"'(?:[^']|'')*'"
    for said in re.findall(rf"\bCOMMENT ON [^;']*? IS\s*({literal})", script):
        yield said[1:-1]
    without = re.sub(r"--.*", "", script)
    for run in re.findall(rf"{literal}(?:\s*\n\s*{literal})*", re.sub(r"\bCOMMENT ON [^;']*? IS\s*" + literal, "", without)):
        text = "".join(part[1:-1] for part in re.findall(literal, run))
        if " " in text:
            yield text


def wrong_with_source(path, text):
    is_sql = path.endswith(".sql")
    found = []
    for said in messages_of_sql(text) if is_sql else messages_of_cpp(text):
        found += wrong_words(said, WORDS | WORDS_FOR_USERS)
    for comment in comments_of(text, "--" if is_sql else "//"):
        found += wrong_words(comment, WORDS)
    if not is_sql:
        for primary in re.findall(rf"\berrmsg\(\s*({LITERAL}(?:\s*{LITERAL})*)", text):
            said = "".join(literal[1:-1] for literal in re.findall(LITERAL, primary))
            if said.endswith(".") or re.match(r"[A-Z][a-z]", said):
                found.append(f"a primary message begins in lower case and has no period: {said}")
    return found


# --- All files ---

PAGES = sorted(glob.glob("*.md") + glob.glob("docs/*.md") + glob.glob("examples/*/README.md"))
SOURCES = sorted(path for path in glob.glob("src/**", recursive=True) + glob.glob("shardid*.sql") + glob.glob("portable/*.sql")
                 if path.endswith((".cpp", ".h", ".hpp", ".sql")))


class Exceptions:
    """The exceptions, and which of them were needed."""

    def __init__(self, text):
        self.allowed = [tuple(line.split(" :: ", 1)) for line in text.splitlines() if line and not line.startswith("#")]
        self.used = set()

    def allow(self, path, line):
        hits = [entry for entry in self.allowed if entry[0] == path and (entry[1] == "*" or entry[1] in line)]
        self.used.update(hits)
        return bool(hits)

    def unused(self, paths):
        return [f"{path}: an exception that nothing needs: {text}" for path, text in self.allowed
                if path in paths and (path, text) not in self.used]


def wrong_with(path, text):
    return wrong_with_page(path, text) if path.endswith(".md") else wrong_with_source(path, text)


# Texts that must be reported in a page of this name, and texts that must not.
PROBES = [
    ("docs/x.md", "You draw ids.\n", "draw"),
    ("docs/how-it-works.md", "To *draw* an id.\n", None),
    ("docs/x.md", "Then\nit goes\non with it.\n", "goes on"),
    ("docs/x.md", "| a | runs beside it |\n", "beside"),
    ("docs/x.md", "It makes 5,000 ids a second.\n", "ids a second"),
    ("docs/x.md", "It is a second ahead.\n", None),
    ("docs/x.md", "One row a\nsecond.\n", "row a second"),
    ("docs/x.md", "See `draw beside` in `it`.\n", None),
    ("docs/x.md", "```sql\n-- draw beside\n```\n", None),
    ("docs/x.md", "word\n" * 30 + "ends.\n", "31 words"),
    ("docs/x.md", "word\n" * 20 + "ends. " + "Word\n" * 20 + "ends.\n", None),
    ("docs/x.md", "- " + "word\n" * 20 + "- " + "word\n" * 20, None),
    ("docs/x.md", "| " + "x" * 130 + " | y |\n", "table of"),
    ("docs/x.md", "word " * 25 + "\n", "line of"),
    ("docs/x.md", "takes <!-- a --> 5\n", "comment within"),
    ("docs/x.md", "<!-- a -->\n5\n<!-- end -->\n", None),
    ("docs/x.md", "See `t/pages/reference.pl`.\n", "test's file"),
    ("docs/reliability.md", "See `t/pages/reference.pl`.\n", None),
    ("docs/x.md", "As the recipe does.\n", "not defined"),
    ("docs/x.md", "Its function, called the recipe below.\n\nAs the recipe does.\n", None),
    ("docs/x.md", "Who has a lease?\n", None),
    ("docs/x.md", "| Who may do what |\n", None),
    ("docs/x.md", "Who has a lease renews it in time.\n", "sessions that"),
    ("README.md", "word.\n" * 151, "more than 150 lines"),
    ("docs/x.md", "word.\n" * 151, None),
    ("src/x.cpp", 'errmsg("cannot draw " "ids")', "draw"),
    ("src/x.cpp", "// Draws an id.\n", None),
    ("src/x.cpp", "// It goes\n// on.\n", "goes on"),
    ("src/x.cpp", 'errmsg("It fails.")', "primary message"),
    ("x.sql", "COMMENT ON FUNCTION f() IS\n'draws an id';\n", "draw"),
    ("x.sql", "RAISE EXCEPTION USING HINT = 'Do it by '\n    'hand.';\n", "by hand"),
    ("x.sql", "-- Draws an id.\n", None),
]


def blind_checks():
    for path, text, expected in PROBES:
        found = wrong_with(path, text)
        if not any(expected in line for line in found) if expected else found:
            yield f"{path}, {text!r}: {found or 'nothing'} is found wrong"


def all_wrong(paths):
    exceptions = Exceptions(read(EXCEPTIONS))
    found = [f"{path}: {line}" for path in paths for line in wrong_with(path, read(path)) if not exceptions.allow(path, line)]
    return [*blind_checks(), *found, *exceptions.unused(paths)]


if __name__ == "__main__":
    WRONG = all_wrong(sys.argv[1:] or PAGES + SOURCES)
    if WRONG:
        print("\n".join(WRONG))
    sys.exit(1 if WRONG else 0)
