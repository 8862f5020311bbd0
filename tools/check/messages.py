#!/usr/bin/env python3
"""Checks that docs/troubleshooting.md has every message that a user can see, with its SQLSTATE, and no other message.

Messages are in src and in the SQL scripts: errmsg, the lease worker's messages (tell), MESSAGE of RAISE, also in the
SQL-only version; and the reasons in the DETAIL of a lease's error: the library's in src/lease, a registry's in the
functions that refuse a request. elog is for what cannot happen. --list prints all.
"""
import glob
import re
import sys

PAGE = "docs/troubleshooting.md"
SCRIPTS = "shardid*--*.sql"
PORTABLE = "portable/*.sql"
STRING = r'"(?:[^"\\]|\\.)*"'
LITERAL = r"'(?:[^']|'')*'"
CODE = r"\b[0-9X][0-9A-Z]{4}\b"

# Messages that are passed on unchanged.
PASSED_ON = {"..."}
NOT_OURS = "Messages of PostgreSQL itself"
# The sources of a lease's reasons: functions of the registry, files of its members.
REFUSING = ("where_differs", "why_stopped", "check_request", "why_not", "grant_one", "receipts_by")
REASONING = ("keeper", "start_worker", "libpq_client", "exchange", "grant", "worker")

SQLSTATES = {
    "feature_not_supported": "0A000",
    "sequence_generator_limit_exceeded": "2200H", "numeric_value_out_of_range": "22003",
    "null_value_not_allowed": "22004", "check_violation": "23514", "duplicate_table": "42P07", "datetime_value_out_of_range": "22008", "datetime_field_overflow": "22008",
    "active_sql_transaction": "25001", "cannot_connect_now": "57P03", "invalid_parameter_value": "22023", "invalid_text_representation": "22P02",
    "s_r_e_prohibited_sql_statement_attempted": "2F003", "insufficient_privilege": "42501", "invalid_name": "42602",
    "name_too_long": "42622", "undefined_object": "42704", "duplicate_object": "42710", "wrong_object_type": "42809",
    "undefined_table": "42P01", "configuration_limit_exceeded": "53400", "object_not_in_prerequisite_state": "55000",
    "object_in_use": "55006", "lock_not_available": "55P03", "query_canceled": "57014", "cannot_connect_now": "57P03", "data_corrupted": "XX001",
    "internal_error": "XX000"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def shown(text):
    """A message as on the page: with three dots for what is filled in."""
    return re.sub(r"%0?\d*\$?(?:ll)?[a-zA-Z]", "...", text.replace(r"\"", '"').replace("''", "'"))


def groups(text, string):
    """The strings of a text; adjacent ones are one."""
    for found in re.finditer(rf"{string}(?:\s*{string})*", text):
        yield found.start(), shown("".join(part[1:-1] for part in re.findall(string, found[0])))


def argument(text, start):
    """The text from here to the comma or the parenthesis that ends it."""
    depth = 0
    for found in re.finditer(rf"{STRING}|[(),]", text[start:]):
        if found[0] in ("(", ")"):
            depth += 1 if found[0] == "(" else -1
        if depth < 0 or depth == 0 and found[0] == ",":
            return text[start:start + found.start()]
    return text[start:]


def of_code(text):
    """The messages of a C++ file, each with the SQLSTATEs before it; NOTICE and LOG have none."""
    for call in re.finditer(r"\berrmsg\(|\btell\(\s*job, \w+, [^,]+,\s+psprintf\(|\brefuse_for\(\s*[\w.>-]+,\s+psprintf\(", text):
        said = argument(text, call.end())
        first = list(groups(said, STRING))[:2 if "?" in said else 1]
        before = re.findall(r"\bereport\([^;]*|\btell\([^;]*", text[:call.end()])
        codes = [SQLSTATES[code.lower()] for code in re.findall(r"ERRCODE_(\w+)", before[-1] if before else "")]
        for _, message in first:
            yield message, codes


def reasons_of_code(text):
    """The reasons in the DETAIL of a lease's error."""
    for start, reason in groups(text, STRING):
        before = re.search(r"(return|(?:fault|error) = |outcome\b[ ={]*|fail\(call,|psprintf\([^\"]*|[?:])\s*$", text[:start])
        if before and re.match(r"(The|Could not reach|Cannot ask|password|no|it) [a-z]", reason) and reason.count(" ") >= 3:
            yield reason


def functions_of(script):
    return re.findall(r"^CREATE FUNCTION (\w+)\((.*?)^\$body\$;", script, re.M | re.S)


def of_script(text):
    """The messages of a script; conditions of the SQL-only version have other names and are not compared."""
    for found in re.finditer(r"\bRAISE [^;]*?MESSAGE = ", text):
        code = re.search(r"ERRCODE = '(\w+)'", found[0])
        _, message = next(groups(text[found.end():], LITERAL))
        yield message, [SQLSTATES[code[1]]] if code else []


def reasons_of_script(text):
    for name, body in functions_of(text):
        for _, reason in groups(re.sub(r"--.*", "", body), LITERAL) if name in REFUSING else ():
            if re.match(r"is \w+|[a-z]+( \S+){3}", reason):
                yield reason.strip()


def in_tree():
    """message: its SQLSTATEs."""
    found = {}
    for path in glob.glob("src/**/*.cpp", recursive=True):
        for message, codes in of_code(read(path)):
            found.setdefault(message, set()).update(codes)
        if any(name in path for name in REASONING):
            for reason in reasons_of_code(read(path)):
                found.setdefault(reason, set())
    for path in glob.glob(SCRIPTS):
        for message, codes in of_script(read(path)):
            found.setdefault(message, set()).update(codes)
        for reason in reasons_of_script(read(path)):
            found.setdefault(reason, set())
    return {message: codes for message, codes in found.items() if message not in PASSED_ON}


def on_page(page):
    """message: the SQLSTATEs after it, in entries and in the first column of tables; not PostgreSQL's own messages."""
    found = {}
    page = page.split(f"\n## {NOT_OURS}\n")[0]
    for entry in re.findall(r"^- \*\*.*?(?=\n\n|\n- |\Z)", page, re.M | re.S):
        for message, behind in re.findall(r"\*\*`(.+?)`\*\*(?: \((.*?)\))?", " ".join(entry.split())):
            found.setdefault(message, set()).update(re.findall(CODE, behind))
    for row in re.findall(r"^\| `.*$", page, re.M):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for message in re.findall(r"`(.+?)`", cells[0]):
            found.setdefault(message, set()).update(re.findall(CODE, cells[1]))
    return found


def resolved(page, tree):
    """On the page, three dots can stand for more than in the tree: so also for several messages of one SQLSTATE."""
    for message, codes in page.items():
        pattern = re.escape(message).replace(r"\ \.\.\.", r"\W.+").replace(r"\.\.\.", ".+")
        matching = [known for known in tree if known not in page and re.fullmatch(pattern, known)]
        yield from ((known, codes) for known in matching)
        if message in tree or not matching:
            yield message, codes


def portable_only(tree):
    """Messages of the SQL-only version alone: it may write a name that the extension fills in."""
    patterns = [re.escape(message).replace(r"\.\.\.", ".+") for message in tree]
    for path in glob.glob(PORTABLE):
        for message, _ in of_script(read(path)):
            if not any(re.fullmatch(pattern, message) for pattern in patterns):
                yield message


def differences(tree, page):
    page = dict(resolved(page, tree))
    yield from (f"{PAGE} does not have: {message}" for message in sorted(tree.keys() - page.keys()))
    yield from (f"{PAGE} has what nothing raises: {message}" for message in sorted(page.keys() - tree.keys()))
    for message in sorted(tree.keys() & page.keys()):
        raised, listed = tree[message], page[message]
        if raised and raised != listed:
            yield f"{PAGE}: {message}: {sorted(listed)}, and it is raised with {sorted(raised)}"


def incomplete(page):
    """Entries without a check or a remedy."""
    for entry in re.findall(r"^- \*\*`.*?(?=\n\n|\n- |\Z)", page, re.M | re.S):
        if "*Check:*" not in entry or "*Remedy:*" not in entry:
            yield f"{PAGE}: no check or no remedy: {entry.splitlines()[0]}"


def wrong_with(tree, page):
    return [*differences(tree, on_page(page)), *incomplete(page)]


def main():
    tree = in_tree()
    tree |= {message: set() for message in portable_only(tree)}
    if "--list" in sys.argv:
        print("\n".join(f"{' '.join(sorted(codes)):12} {message}" for message, codes in sorted(tree.items())))
        return
    found = wrong_with(tree, read(PAGE))
    if len(tree) < 100:
        found.append(f"{len(tree)} messages are found in the tree, and there were more than a hundred")
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
