"""A statement of an extension's script, and its types where the grammar allows only types."""
import re

from sql_tokens import Unreadable

# Types that gram.y itself looks up in pg_catalog, by their number of words.
GRAMMAR_TYPES = re.compile(
    r"(BIGINT|INT|INTEGER|SMALLINT|REAL|FLOAT|DOUBLE PRECISION|DECIMAL|DEC|NUMERIC|BOOLEAN|INTERVAL"
    r"|(BIT|CHARACTER|CHAR)( VARYING)?|VARCHAR|(TIME|TIMESTAMP)( (WITH|WITHOUT) TIME ZONE)?)$")
MOST_WORDS = 4


class TypesOfStatement:
    def __init__(self, script, tokens):
        self.script = script
        self.tokens = tokens
        self.words = " ".join({"word": t.text.upper(), "string": "''", "dollar": "''"}.get(t.kind, t.text) for t in tokens)
        self.read = set()  # indexes of tokens that need no more reading
        self.found = []

    def complain(self, i, text):
        self.found.append((self.tokens[i].line, text))

    def at(self, i, *words):
        return 0 <= i < len(self.tokens) and self.tokens[i].is_word(*words)

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def find(self, *words):
        return [i for i in range(len(self.tokens)) if self.at(i, *words) and i not in self.read]

    def end_of_parenthesis(self, i):
        depth = 0
        for j in range(i, len(self.tokens)):
            depth += {"(": 1, ")": -1}.get(self.text(j), 0)
            if depth == 0:
                return j
        raise Unreadable("a parenthesis without an end", self.tokens[i].line)

    def elements(self, i):
        """The ranges between the commas of the parenthesis that begins here."""
        end, start, depth = self.end_of_parenthesis(i), i + 1, 0
        for j in range(i + 1, end + 1):
            if depth == 0 and (self.text(j) == "," or j == end):
                if j > start:
                    yield start, j
                start = j + 1
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(self.text(j), 0)

    def start_of_name(self, i):
        while self.text(i - 1) == ".":
            i -= 2
        return i

    def end_of_name(self, i):
        while self.text(i + 1) == ".":
            i += 2
        return i + 1

    def read_declared_types(self):
        for i in self.find("FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE"):
            self.read_signature(i + 1)
        for i in self.find("RETURNS"):
            if self.at(i + 1, "TABLE"):
                self.read_columns(i + 2)
            elif not self.at(i + 1, "NULL"):
                self.read_type(i + 2 if self.at(i + 1, "SETOF") else i + 1)
        if re.match(r"(CREATE|ALTER) SEQUENCE ", self.words):
            for i in self.find("AS"):
                self.read_type(i + 1)
        if re.match(r"CREATE (TABLE|TYPE) ", self.words):
            name = self.end_of_name(2)
            if self.at(name, "AS"):
                name += 1
            if self.at(name, "ENUM"):
                self.read.update(range(name, len(self.tokens)))
            elif self.words.startswith("CREATE TYPE ") and self.text(name + 2) == "=":
                self.read_base_type(name)
            elif self.text(name) == "(":
                self.read_columns(name)
        if re.match(r"ALTER (TABLE|TYPE) ", self.words):
            self.read_altered_columns()
        for i in self.find("COLLATE"):
            self.read_name(i + 1, "collation")

    # GRANT, REVOKE and DROP have a list.
    def read_signature(self, start):
        parenthesis = self.end_of_name(start)
        if self.text(parenthesis) != "(":
            return
        self.read_parameters(parenthesis)
        self.read.update(range(start, parenthesis + 1))
        end = self.end_of_parenthesis(parenthesis)
        if self.text(end + 1) == "," and re.match(r"(GRANT|REVOKE|DROP) ", self.words):
            self.read_signature(end + 2)

    # Each is [mode] [name] type [DEFAULT value].
    def read_parameters(self, parenthesis):
        self.read.add(parenthesis)
        for start, end in self.elements(parenthesis):
            while self.at(start, "IN", "OUT", "INOUT", "VARIADIC"):
                start += 1
            stop = next((j for j in range(start, end) if self.at(j, "DEFAULT") or self.text(j) == "="), end)
            if self.text(stop) == "=":
                self.read.add(stop)
            if self.end_of_type(start) != stop:
                self.read.add(start)
                start += 1
            if self.read_type(start) != stop:
                self.complain(start, "this check cannot read the parameter")

    # Each is a constraint, or a name, a type and more.
    def read_columns(self, parenthesis):
        self.read.add(parenthesis)
        for start, _ in self.elements(parenthesis):
            if not self.at(start, "CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN"):
                self.read_type(start + 1)

    # Each is key = value: a function that the script makes, or a type.
    def read_base_type(self, parenthesis):
        self.read.add(parenthesis)
        for start, end in self.elements(parenthesis):
            self.read.update((start, start + 1))
            value = start + 2
            if self.at(start, "LIKE"):
                known = self.read_type(value) == end
            else:
                known = (self.at(start, "INPUT", "OUTPUT") and self.end_of_name(value) == end and (
                    self.text(value) in self.script.made_functions or self.is_own(value, self.script.made_functions)))
            if not known or self.text(start + 1) != "=":
                self.complain(start, f"this check cannot read {self.text(start)} of the type")

    def read_altered_columns(self):
        for i in self.find("ADD"):
            if self.at(i + 1, "COLUMN", "ATTRIBUTE"):
                self.read_type(i + 3)
            elif self.at(i + 1, "VALUE"):
                self.read.update(range(i, len(self.tokens)))
            elif not self.at(i + 1, "CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN"):
                self.complain(i, "ADD without COLUMN or CONSTRAINT")
        for i in self.find("TYPE")[1 if self.words.startswith("ALTER TYPE") else 0:]:
            self.read_type(i + 1)

    def read_casts(self):
        for i, token in enumerate(self.tokens):
            if token.text == "::":
                self.read_type(i + 1)
            elif token.is_word("CAST") and self.text(i + 1) == "(":
                self.read.update((i, i + 1))
                end, depth = self.end_of_parenthesis(i + 1), 0
                for j in range(i + 2, end):
                    depth += {"(": 1, ")": -1}.get(self.text(j), 0)
                    if depth == 0 and self.at(j, "AS"):
                        self.read_type(j + 1)
                        break
            elif token.kind in ("string", "dollar"):
                self.read_type_before(i)

    def words_of_grammar_type(self, i):
        """The number of words of such a type that begins here."""
        for words in range(MOST_WORDS, 0, -1):
            if GRAMMAR_TYPES.match(" ".join(self.text(j).upper() for j in range(i, i + words))):
                return words
        return 0

    def end_of_type(self, i):
        """The position after the longest type that can begin here."""
        end = i + self.words_of_grammar_type(i)
        if end == i:
            end = self.end_of_name(i)
        if self.text(end) == "(":
            end = self.end_of_parenthesis(end) + 1
        while self.text(end) == "[":
            end += 2 if self.text(end + 1) == "]" else 3
        return end

    def read_type(self, i):
        end = self.end_of_type(i)
        self.read.update(range(i, end))
        if not self.words_of_grammar_type(i):
            self.read_name(i, "type")
        return end

    def read_name(self, i, what):
        self.read.update(range(i, self.end_of_name(i)))
        if not self.has_schema(i) and self.text(i) not in self.script.made_types and not self.is_own(i, self.script.made_types):
            self.complain(i, f"{what} {self.text(i)} has no schema")

    def has_schema(self, i):
        """Whether a name begins here that only a superuser or the script can have created."""
        if self.text(i + 1) != ".":
            return False
        if self.text(i).startswith("@extschema"):
            return not self.script.relocatable
        return self.text(i) == "pg_catalog"

    def is_own(self, i, made):
        """Whether a name begins here of an object of the script, in the schema that the control file names."""
        return (self.text(i) == self.script.schema and self.text(i + 1) == "." and self.text(i + 2) in made and
                self.text(i + 3) != ".")

    def read_type_before(self, i):
        """type 'literal'"""
        for words in range(MOST_WORDS, 0, -1):
            if self.words_of_grammar_type(i - words) == words:
                break
        else:
            words = i - self.start_of_name(i - 1)
            if words == 1:
                return
        self.read_type(i - words)
        self.read.add(i)
