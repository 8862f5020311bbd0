"""SQL as tokens, as far as tools/check/scripts.py needs them."""
import re
from typing import NamedTuple

# In the order in which PostgreSQL's scan.l would find them. An operator ends where a comment begins.
KINDS = re.compile(r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<meta>^\\[^\n]*)
  | (?P<placeholder>@ext(?:schema(?::\w+)?|owner)@)
  | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*)?\$.*?\$(?(tag)(?P=tag))\$)
  | (?P<string>(?:[bBxX]|[eE](?=')|[uU]&)?'(?:[^']|'')*')
  | (?P<quoted>(?:[uU]&)?"(?:[^"]|"")*")
  | (?P<word>[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*)
  | (?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][-+]?\d+)?|\.\d+|\$\d+)
  | (?P<punctuation>::|:=|=>|\.\.|[()\[\],;.:])
  | (?P<operator>(?:(?!--|/\*)[-+*/<>=~!@\#%^&|`?])+)
""", re.X | re.S | re.M)


class Token(NamedTuple):
    kind: str
    text: str
    line: int

    def is_word(self, *words):
        return self.kind == "word" and self.text.upper() in words

    def is_name(self):
        return self.kind in ("word", "quoted")


class Unreadable(Exception):
    def __init__(self, text, line):
        super().__init__(text)
        self.line = line


def end_of_comment(sql, start, line):
    """Where the comment that begins here ends; these comments nest."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(sql, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise Unreadable("a comment without an end", line)


def split_operator(text):
    """As in scan.l: an operator ends in + or - only if it contains one of these characters."""
    while len(text) > 1 and text[-1] in "+-" and not re.search(r"[~!@#%^&|`?]", text):
        text = text[:-1]
    return text


def tokens_of(sql):
    found, position, line = [], 0, 1
    while position < len(sql):
        if sql.startswith("/*", position):
            end = end_of_comment(sql, position, line)
        else:
            match = KINDS.match(sql, position)
            if not match:
                raise Unreadable(f"what is {sql[position:position + 20]!r}?", line)
            kind, text = match.lastgroup, match[0]
            if kind == "tag":
                kind = "dollar"
            if kind == "operator":
                text = split_operator(text)
            if text.upper().startswith("E'"):
                raise Unreadable("a literal with escapes", line)
            if kind not in ("space", "meta"):
                found.append(Token(kind, text, line))
            end = position + len(text)
        line += sql.count("\n", position, end)
        position = end
    return found


def statements_of(tokens):
    """Lists of tokens without the semicolons between them. A semicolon in BEGIN ATOMIC ... END ends no statement."""
    statement, blocks = [], 0
    for token in tokens:
        if token.is_word("ATOMIC") or blocks and token.is_word("CASE"):
            blocks += 1
        elif blocks and token.is_word("END"):
            blocks -= 1
        if token.text == ";" and not blocks:
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement
