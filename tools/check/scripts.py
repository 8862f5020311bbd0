#!/usr/bin/env python3
"""Checks that the extensions' scripts, which run as superuser in a schema that another role may own, name
the schema of every function, operator and type that they use, and the type of every literal. It refuses
what it cannot read, such as DO. `scripts.py --itself` tests that it refuses what it should.

Two kinds of names never find planted objects and need no schema: types with keywords in the grammar, and
objects that the scripts create, which fails if the name is in use. A schema that the control file names is
the extension's own: but the script must first refuse it if other roles can create objects in it.
"""
import glob
import os
import re
import sys

from sql_tokens import Unreadable, statements_of, tokens_of
from sql_types import TypesOfStatement

STATEMENTS = re.compile(
    r"(CREATE (OR REPLACE )?(SEQUENCE|FUNCTION|PROCEDURE|TABLE|TYPE|VIEW|INDEX|UNIQUE INDEX|TRIGGER)|COMMENT ON|GRANT|REVOKE"
    r"|ALTER (SEQUENCE|FUNCTION|PROCEDURE|TABLE|TYPE|VIEW|INDEX)|DROP (SEQUENCE|FUNCTION|PROCEDURE|TABLE|TYPE|VIEW|INDEX|TRIGGER)"
    r"|SELECT|INSERT|UPDATE|DELETE|WITH)\b")

# A parenthesis after one of these is no call. COALESCE and the like are part of the grammar.
BEFORE_PARENTHESIS = set(
    "ALL AND ANY ARRAY AS ATOMIC BY CASE CHECK COALESCE CONFLICT DEFAULT DISTINCT ELSE EXCEPT EXISTS EXTRACT FILTER FROM "
    "GREATEST HAVING IN INCLUDE INTERSECT IS JOIN KEY LATERAL LEAST LIMIT MATERIALIZED NOT OFFSET ON OR OVER RETURN RETURNING "
    "ROW SELECT SET SOME TABLE THEN UNION UNIQUE UPDATE USING VALUES WHEN WHERE WITH WITHIN".split())

# A name after one of these, before a parenthesis, is a relation or an alias with its columns.
BEFORE_RELATION = {"INTO", "REFERENCES", "TABLE", "VIEW", "TYPE", "AS", "WITH", "RECURSIVE"}

# A search_path in which no other role can create objects.
PINNED = re.compile(r"\bSET SEARCH_PATH (=|TO) PG_CATALOG( , PG_TEMP)?(?! [,.])")

# These look up an operator by its name alone.
HIDDEN_OPERATORS = {"LIKE", "ILIKE", "SIMILAR", "BETWEEN", "NULLIF", "OVERLAPS", "NATURAL"}

# Calls of a script's own functions without a schema: without arguments, a call finds that function, or is
# ambiguous if there are others whose arguments all have defaults.
OWN_CALLS = {"shardid": {"renew_identity"}}

# The same with arguments of exactly the parameters' types: no other function can match better. A test calls
# them while there are others of the same name, t/rights/partitions.pl.
EXACT_CALLS = {"shardid": {"shardid_partition_steps", "uuid_v6_from", "uuid_v6_timestamp"}}

# A procedure that commits has no SET. Each of its transactions must set search_path before it looks up names.
PINS_ITSELF = re.compile(r"PERFORM pg_catalog\.set_config\('search_path', 'pg_catalog, pg_temp', true\);.*?\bCOMMIT;", re.S)

# A script whose extension has a fixed schema begins with a function that refuses another role's schema.
GUARD = re.compile(r"CREATE FUNCTION (\w+) \( \) RETURNS PG_CATALOG \. VOID "
                   r"LANGUAGE PLPGSQL SET SEARCH_PATH = PG_CATALOG , PG_TEMP AS ''; SELECT (\w+) \. \1 \( \)$")


def names_made(kinds, texts):
    return set(re.findall(rf"^CREATE (?:{kinds}) (\w+)", "\n".join(texts), re.M))


class Script:
    """The state of reading one extension's scripts: its properties, and the objects that they create."""

    def __init__(self, extension, relocatable, schema, texts):
        self.extension = extension
        self.relocatable = relocatable
        self.schema = schema
        self.made_types = names_made("SEQUENCE|TABLE|TYPE|VIEW", texts)
        self.made_functions = names_made("FUNCTION|PROCEDURE", texts)
        self.own_calls_seen = set()

    def complaints(self, sql):
        try:
            for statement in statements_of(tokens_of(sql)):
                yield from Statement(self, statement).complaints()
        except Unreadable as error:
            yield error.line, str(error)

    def complaints_of_beginning(self, sql):
        """Reads a script that CREATE EXTENSION runs."""
        if not self.schema:
            return
        first = [Statement(self, tokens).words for tokens in statements_of(tokens_of(sql))][:2]
        guard = GUARD.match("; ".join(first))
        if not guard or guard[2] != self.schema.upper():
            yield 1, f"does not begin with a function that looks at schema {self.schema}, and the call of it"


class Statement(TypesOfStatement):
    def complaints(self):
        if not STATEMENTS.match(self.words):
            self.complain(0, "this check does not know such a statement")
            return self.found
        self.check_head()
        self.read_declared_types()
        self.read_casts()
        for i, token in enumerate(self.tokens):
            if i in self.read:
                continue
            if token.kind == "placeholder":
                self.check_placeholder(i)
            elif token.text == "(":
                self.check_call(i)
            elif token.kind == "operator":
                self.check_operator(i)
            elif token.kind == "word":
                self.check_word(i)
            elif token.kind in ("string", "dollar"):
                self.check_literal(i)
        return self.found

    # Statements that are refused.

    def check_head(self):
        if re.search(r"\bCREATE OR REPLACE\b", self.words):
            self.complain(0, "OR REPLACE takes over what it finds")
        if re.search(r"\bIF NOT EXISTS\b", self.words):
            self.complain(0, "IF NOT EXISTS makes do with what it finds")
        if re.search(r"\bSECURITY DEFINER\b", self.words) and not re.search(r"\bSET SEARCH_PATH\b", self.words):
            self.complain(0, "SECURITY DEFINER without SET search_path")

    def check_placeholder(self, i):
        if self.text(i) != "@extowner@" and self.script.relocatable:
            self.complain(i, f"{self.text(i)} is not replaced in a relocatable extension")

    # Expressions.

    def check_call(self, parenthesis):
        i = parenthesis - 1
        if i < 0 or not self.tokens[i].is_name() or i in self.read:
            return
        start = self.start_of_name(i)
        if self.at(start - 1, *BEFORE_RELATION) or self.is_index_column_list(start):
            return
        if start < i:
            if not self.has_schema(start) and not self.is_own(start, self.script.made_functions):
                self.complain(i, f"call of {self.text(i)} in schema {self.text(start)}")
        elif self.at(i, "OPERATOR"):
            self.read_operator(parenthesis)
        elif self.is_own_call(i):
            self.script.own_calls_seen.add(self.text(i))
        elif self.text(i) in EXACT_CALLS.get(self.script.extension, ()) and self.words.startswith("CREATE FUNCTION "):
            self.script.own_calls_seen.add(self.text(i))
        elif not self.at(i, *BEFORE_PARENTHESIS):
            self.complain(i, f"call of {self.text(i)} without a schema")

    def is_index_column_list(self, i):
        return (re.match(r"CREATE (UNIQUE )?INDEX ", self.words) and
                (self.at(i - 1, "ON") or self.at(i - 1, "USING") and self.at(i - 3, "ON")))

    def is_own_call(self, i):
        return (self.text(i) in OWN_CALLS.get(self.script.extension, ()) and self.text(i + 1) == "(" and
                self.text(i + 2) == ")")

    def read_operator(self, parenthesis):
        end = self.end_of_parenthesis(parenthesis)
        self.read.update(range(parenthesis, end))
        if not self.has_schema(parenthesis + 1):
            self.complain(parenthesis, "OPERATOR without a schema")

    def check_operator(self, i):
        text, before, after = self.text(i), self.text(i - 1), self.tokens[i + 1] if i + 1 < len(self.tokens) else None
        if text == "*" and (before in ("(", ",", ".") or self.at(i - 1, "SELECT", "DISTINCT", "ALL", "RETURNING")):
            return
        # The sign of a number is no operator.
        if text == "-" and after and after.kind == "number" and not self.is_operand(i - 1):
            return
        if text == "=" and self.is_assignment(i):
            return
        self.complain(i, f"operator {text} without OPERATOR(pg_catalog.{text})")

    def is_operand(self, i):
        token = self.tokens[i]
        return (token.kind in ("number", "string", "dollar", "quoted") or token.text in (")", "]") or
                token.kind == "word" and token.text.upper() not in BEFORE_PARENTHESIS and
                not token.is_word("MINVALUE", "MAXVALUE", "START", "INCREMENT", "RESTART"))

    def is_assignment(self, i):
        """Whether this is the = of SET a = 1, b = 2, of UPDATE or of a function's settings."""
        depth = 0
        for j in range(i - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(self.text(j), 0)
            if depth < 0 or depth == 0 and self.at(j, "WHERE", "FROM", "SELECT", "VALUES", "RETURNING"):
                return False
            if depth == 0 and self.at(j, "SET"):
                return self.text(i - 2) == "," or j >= i - 3
        return False

    def check_word(self, i):
        word = self.text(i).upper()
        if word in HIDDEN_OPERATORS and self.text(i - 1) != ".":
            self.complain(i, f"{word} finds its operator by name")
        elif word == "IN" and self.text(i + 1) == "(" and not self.at(i - 1, "VALUES"):
            self.complain(i, "IN finds its operator by name")
        elif word == "DISTINCT" and self.at(i + 1, "FROM"):
            self.complain(i, "IS DISTINCT FROM finds its operator by name")
        elif word == "CASE" and not self.at(i + 1, "WHEN") and not self.at(i - 1, "END"):
            self.complain(i, "CASE with a value finds its operator by name")
        elif word == "USING" and self.text(i + 1) == "(" and "JOIN" in self.words:
            self.complain(i, "JOIN USING finds its operator by name")
        elif word == "EXECUTE" and self.at(i + 1, "FUNCTION") and not self.has_schema(i + 2) and (
                self.text(i + 2) not in self.script.made_functions) and not self.is_own(i + 2, self.script.made_functions):
            self.complain(i, f"function {self.text(i + 2)} has no schema")
        elif word == "SUPPORT" and not self.has_schema(i + 1) and self.text(i + 1) not in self.script.made_functions:
            self.complain(i, f"function {self.text(i + 1)} has no schema")
        elif word == "NULL" and self.is_argument(i) and self.text(i + 1) != "::":
            self.complain(i, "NULL without a type")

    def is_argument(self, i):
        """Whether it is alone between the commas or parentheses of a call."""
        if self.text(i - 1) not in ("(", ",", "=>") or self.text(i + 1) not in (")", ","):
            return False
        depth = 0
        for j in range(i - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(self.text(j), 0)
            if depth < 0:
                return self.tokens[j - 1].is_name() and not self.at(j - 1, *BEFORE_PARENTHESIS)
        return False

    # Literals, and bodies in them.

    def check_literal(self, i):
        if self.is_function_body(i):
            if (not re.search(r"\bLANGUAGE C\b", self.words) and not PINNED.search(self.words) and not self.pins_itself(i)):
                self.complain(i, "a body between quotes: use RETURN or BEGIN ATOMIC, or SET search_path = pg_catalog, pg_temp")
        elif not self.is_typed(i) and not self.is_read_by_grammar(i):
            self.complain(i, f"literal {self.text(i)[:40]} without a type")
        if re.search(r"@ext(schema|owner)", self.text(i)):
            self.complain(i, "a placeholder between quotes, which a name could end")

    def pins_itself(self, i):
        """Whether a procedure's body looks up names only between that and COMMIT: elsewhere there is no call, operator,
        literal or type without a schema."""
        outside, pinned = PINS_ITSELF.subn("", re.sub(r"--.*", "", self.text(i).strip("$")))
        types = r"\b(?:boolean|int|pg_catalog\.\w+(?:\[\])?);"
        rest = re.sub(r"^\s*DECLARE\n(?:\s*\w+ " + types + r")*", "", outside)
        return (pinned > 0 and self.words.startswith("CREATE PROCEDURE ") and re.match(r"\s*BEGIN\b", rest) and
                not re.search(r"[-+*/<>=~!@#%^&|`?()':]", rest))

    def is_function_body(self, i):
        return re.match(r"CREATE (OR REPLACE )?(FUNCTION|PROCEDURE) ", self.words) and (
            self.at(i - 1, "AS") or self.text(i - 1) == "," and self.at(i - 3, "AS"))

    def is_typed(self, i):
        return self.text(i + 1) == "::" or self.text(i - 1) == "(" and self.at(i - 2, "CAST")

    def is_read_by_grammar(self, i):
        return (self.at(i - 1, "IS") and self.words.startswith("COMMENT ON ") or
                self.words.startswith("CREATE FUNCTION ") and (self.at(i - 1, "TO") or self.text(i - 1) == "=" and self.at(i - 3, "SET")))


def control_of(extension):
    """Whether the extension is relocatable, and its schema if it is fixed."""
    with open(f"{extension}.control", encoding="utf-8") as file:
        text = file.read()
    schema = re.search(r"^schema\s*=\s*'?(\w+)", text, re.M)
    return re.search(r"^relocatable\s*=\s*'?(true|on|yes|1)\b", text, re.M) is not None, schema[1] if schema else None


def complaints_of_tree():
    scripts = {}
    if not glob.glob("built/*--*.sql"):
        yield "there is no script in built: run make $PWD/built/shardid--1.0.sql"
    for path in sorted(glob.glob("*--*.sql")):
        built = f"built/{path}"
        with open(built if os.path.exists(built) else path, encoding="utf-8") as file:
            scripts.setdefault(path.split("--")[0], {})[path] = file.read()
    for extension, texts in scripts.items():
        script = Script(extension, *control_of(extension), texts.values())
        for path, text in texts.items():
            if path.count("--") == 1:
                yield from (f"{path}:{line}: {complaint}" for line, complaint in script.complaints_of_beginning(text))
            yield from (f"{path}:{line}: {complaint}" for line, complaint in script.complaints(text))
        for name in (OWN_CALLS.get(extension, set()) | EXACT_CALLS.get(extension, set())) - script.own_calls_seen:
            yield f"{extension} does not call {name}() any more: take it out of OWN_CALLS or EXACT_CALLS"


def main():
    if sys.argv[1:] == ["--itself"]:
        import scripts_snippets
        found = list(scripts_snippets.wrongly_judged(Script))
    else:
        found = list(complaints_of_tree())
    print("\n".join(found) or "nothing to complain of")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
