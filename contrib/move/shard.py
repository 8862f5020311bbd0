"""A shard: the names of its objects, and the state of its generators."""
import hashlib
import re

from server import Trouble

# seal.sql appends this to the name of a sequence.
SUFFIX = "_sealed"
LONGEST_NAME = 63 - len(SUFFIX)

RELATIONS = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = ANY (%s) ORDER BY c.oid"""
LEASES = """
SELECT c.relname, l.space, l.server, l.shard, l.state, c.relowner::regrole::text AS owner
FROM shardid_lease.shard_leases l JOIN pg_class c ON c.oid = l.generator JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s"""


class Shard:
    def __init__(self, name, layout):
        if len(f"move_{name}".encode()) > 63:
            raise Trouble(f"the name is too long: {name}")
        self.name = name
        self.layout = f", {layout}" if layout else ""
        self.publication = f"move_{name}"
        self.schema = self.quoted(name)

    @staticmethod
    def slot_of(publication, database):
        """Its slot's name. All databases of a server share the names, of which only some characters are allowed."""
        name = f"{publication}_{database}"
        plain = re.sub("[^a-z0-9_]", "_", name)
        if plain == name and len(name) <= 63:
            return name
        return f"{plain[:50]}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"

    @staticmethod
    def quoted(name):
        return '"' + name.replace('"', '""') + '"'

    def qualified(self, name):
        return f"{self.schema}.{self.quoted(name)}"

    def in_seal(self, sequence):
        return self.qualified(sequence + SUFFIX)

    def tables(self, server, kinds="rp"):
        return server.names(RELATIONS, self.name, list(kinds))

    def sequences(self, server):
        """The names of its sequences, as they are without the seal."""
        return [name.removesuffix(SUFFIX) for name in server.names(RELATIONS, self.name, ["S"])]

    @staticmethod
    def is_generator(server, name):
        """Whether it has a layout: next_id, or raise_generator, has given it one."""
        return server.one(f"SELECT epoch IS NOT NULL FROM {server.extension_schema()}.id_generator_layout(%s)", name)

    def leases(self, server):
        """The generators' leases, by the generators' names."""
        if not server.has("shardid_lease.shard_leases"):
            return {}
        return {row.pop("relname").removesuffix(SUFFIX): row for row in server.records(LEASES, self.name)
                if row["state"] not in ("released", "sealed")}

    def state_of_lease(self, server, sequence):
        names = (sequence, sequence + SUFFIX)
        return next((row["state"] for row in server.records(LEASES, self.name) if row["relname"] in names), None)

    # Calls of the extension's functions, with a placeholder for each argument except the layout.

    def raise_generator(self, server):
        return f"{server.extension_schema()}.raise_generator(%s, %s{self.layout})"

    def last_id(self, server):
        """The smallest id of the millisecond of the last id that was drawn, also if its row was rolled back."""
        extension = server.extension_schema()
        return (f"(SELECT {extension}.id_lower_bound(last_ts{self.layout}) "
                f"FROM {extension}.id_generator_status(%s{self.layout}))")
