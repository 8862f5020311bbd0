"""The mover's checks before it changes anything, and before it drops anything."""
import re
import subprocess

from psycopg2 import errors

from capacity import SOURCE, TARGET, lacking
from server import Trouble
from shard import LONGEST_NAME, SUFFIX

# "inside": the schema, what is in it, and what belongs to that and is in no schema itself, as a trigger does to its table.
INSIDE = """
WITH RECURSIVE inside (classid, objid) AS (
    SELECT 'pg_namespace'::regclass::oid, oid FROM pg_namespace WHERE nspname = %s
    UNION SELECT d.classid, d.objid FROM pg_depend d JOIN inside i ON (d.refclassid, d.refobjid) = (i.classid, i.objid)
    WHERE CASE WHEN d.refclassid = 'pg_namespace'::regclass THEN d.classid <> 'pg_extension'::regclass
        ELSE deptype <> 'n' AND NOT EXISTS (SELECT FROM pg_depend n WHERE (n.classid, n.objid, n.refclassid)
                                            = (d.classid, d.objid, 'pg_namespace'::regclass)) END)"""
UNFIT = INSIDE + """, own (oid) AS (SELECT objid FROM inside WHERE classid = 'pg_class'::regclass)
SELECT format('%%s is not logged', oid::regclass) FROM pg_class
WHERE oid IN (TABLE own) AND relkind IN ('r', 'p', 'S') AND relpersistence <> 'p'
UNION ALL
SELECT format('%%s has no replica identity, and its rows could not be changed during the move: give it a primary key',
              oid::regclass)
FROM pg_class c WHERE oid IN (TABLE own) AND relkind = 'r' AND relreplident <> 'f' AND NOT EXISTS (SELECT FROM pg_index
    WHERE indrelid = c.oid AND indimmediate AND CASE relreplident WHEN 'd' THEN indisprimary WHEN 'i' THEN indisreplident END)
UNION ALL
SELECT format('%%s forces row-level security on %%I, as whom PostgreSQL %%s replicates: use NO FORCE until the switch',
              c.oid::regclass, rolname, target)
FROM pg_class c JOIN pg_roles r ON r.oid = relowner, CAST(%s AS int) target
WHERE c.oid IN (TABLE own) AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity AND NOT (rolsuper OR rolbypassrls) AND target >= 16
UNION ALL
SELECT format('%%s is a foreign table', oid::regclass) FROM pg_class WHERE oid IN (TABLE own) AND relkind = 'f'
UNION ALL
SELECT format('%%s has a name that is too long for the seal, or that ends as those of sealed sequences',
              oid::regclass)
FROM pg_class WHERE oid IN (TABLE own) AND relkind = 'S' AND (octet_length(relname) > %s OR right(relname, %s) = %s)
UNION ALL
SELECT format('%%s gets rows by a subscription', srrelid::regclass)
FROM pg_subscription_rel WHERE srrelid IN (TABLE own)
UNION ALL
SELECT format('%%s has a trigger %%I that fires for replicated rows, too', tgrelid::regclass, tgname)
FROM pg_trigger WHERE tgrelid IN (TABLE own) AND tgenabled IN ('A', 'R')
UNION ALL
SELECT format('%%s is a child of %%s, which is elsewhere', inhrelid::regclass, inhparent::regclass)
FROM pg_inherits WHERE inhrelid IN (TABLE own) AND inhparent NOT IN (TABLE own)
UNION ALL
SELECT format('%%s uses no sequence of the schema, so the target could repeat values', pg_describe_object(classid, objid, 0))
FROM pg_depend JOIN inside USING (classid, objid)
    LEFT JOIN pg_class s ON refclassid = 'pg_class'::regclass AND refobjid = s.oid AND s.relkind = 'S'
    LEFT JOIN pg_proc p ON refclassid = 'pg_proc'::regclass AND refobjid = p.oid AND prosrc LIKE 'shardid_next_id%%'
WHERE classid IN ('pg_attrdef'::regclass, 'pg_type'::regclass) GROUP BY classid, objid
HAVING bool_or(s.oid NOT IN (TABLE own)) OR count(p) > 0 AND count(s) = 0"""
# Objects that the move would leave behind, or that would be dropped with the schema: an extension with one of its members.
ELSEWHERE = INSIDE + """
SELECT format('%%s, which does not move, depends on %%s', pg_describe_object(d.classid, d.objid, sub),
              min(pg_describe_object(i.classid, i.objid, 0)))
FROM (SELECT classid, objid, objsubid, refclassid, refobjid FROM pg_depend
      UNION ALL SELECT refclassid, refobjid, 0, classid, objid FROM pg_depend WHERE deptype = 'e')
    AS d (classid, objid, sub, refclassid, refobjid) JOIN inside i ON (refclassid, refobjid) = (i.classid, i.objid)
WHERE (d.classid, d.objid) NOT IN (TABLE inside) GROUP BY d.classid, d.objid, sub
HAVING pg_describe_object(d.classid, d.objid, sub) !~ %s"""
# The registry is asked as the owner of the sequence.
USER_MAPPING = """
SELECT 1 FROM pg_user_mappings WHERE srvname = %s AND (umuser = 0 OR umuser::regrole::text = %s)"""
OTHER_PUBLICATIONS = """
SELECT DISTINCT format('publication %%I of the source has tables of the shard, and the target will not have it', pubname)
FROM pg_publication_tables WHERE schemaname = %s AND pubname <> %s"""
SAME_SERVER = "SELECT pg_postmaster_start_time(), system_identifier FROM pg_control_system()"


def lacks_logical_wal(server):
    """From PostgreSQL 19 on the first logical slot raises the level from replica to logical."""
    return server.one("SHOW wal_level") not in (("logical",) if server.version < 19 else ("replica", "logical"))


class Checks:
    def __init__(self, shard, source, target):
        self.shard, self.source, self.target = shard, source, target

    def notes(self):
        yield from self.source.names(OTHER_PUBLICATIONS, self.shard.name, self.shard.publication)
        if self.target.version < self.source.version:
            yield "the target is the older PostgreSQL, and may not understand the source's schema"
        if lacks_logical_wal(self.target):
            yield "the target's wal_level is not logical, which a move back would need"
        # pg_dump revokes no grant that it does not know of.
        if self.target.one("SELECT count(*) FROM pg_default_acl WHERE (defaclrole, defaclnamespace) = (quote_ident(current_user)::regrole, 0)"):
            yield "default privileges of the mover's role on the target are granted on the shard's objects there, too"
        behind = self.source.clock() - self.target.clock()
        if behind > 1:
            yield (f"the target's clock is {behind:.1f} s behind the source's: ids go on from the source's last one, "
                   "ahead of that clock until it has caught up")
        if behind < -1:
            yield f"the target's clock is {-behind:.1f} s ahead of the source's: ids jump by that"

    def all(self):
        found = [*self.of_servers(), *self.of_shard()]
        return found or [*self.of_generators(), *self.of_leases()]

    def of_servers(self):
        for server in (self.source, self.target):
            if server.version < 15:
                yield f"the {server.label} is older than PostgreSQL 15"
            if server.one("SELECT pg_is_in_recovery()"):
                yield f"the {server.label} is a standby"
            if server.one("SHOW is_superuser") != "on":
                yield f"the role on the {server.label} is no superuser"
        # A subscription to the same server would wait for itself.
        if self.source.rows(SAME_SERVER) == self.target.rows(SAME_SERVER):
            yield "source and target are one server"
        if lacks_logical_wal(self.source):
            yield "the source's wal_level is not logical"
        yield from lacking(self.source, SOURCE)
        yield from lacking(self.target, TARGET)
        yield from self.of_pg_dump()
        if self.source.one("SHOW server_encoding") != self.target.one("SHOW server_encoding"):
            yield "the encodings of the databases differ"
        here, there = self.source.extension_schema(), self.target.extension_schema()
        if not here or here != there:
            yield f"the extension shardid is in schema {here} of the source and {there} of the target"
        if self.source.clock() - self.target.clock() > 12 * 3600:
            yield "the target's clock is more than 12 hours behind the source's"

    def of_pg_dump(self):
        try:
            said = subprocess.run(["pg_dump", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            yield f"pg_dump does not run here: {error}"
            return
        version = re.search(r"\) (\d+)", said)
        if version and int(version[1]) < self.source.version:
            yield f"pg_dump is of PostgreSQL {version[1]}, older than the source's {self.source.version}"

    def of_shard(self):
        yield from self.source.names(UNFIT, self.shard.name, self.target.version, LONGEST_NAME, len(SUFFIX), SUFFIX)
        # Temporary tables of sessions do not hinder the copy; the drop at the end would take them, or columns of them.
        yield from self.elsewhere(self.source, r"\mpg_temp_\d+\.")
        if not self.shard.tables(self.source):
            yield "the schema has no tables"

    def elsewhere(self, server, but="^$"):
        return server.names(ELSEWHERE, self.shard.name, but)

    def of_generators(self):
        """Checks the generators' layout: a generator refuses another one. A raise to 0 changes nothing."""
        for sequence in self.shard.sequences(self.source):
            name = self.shard.qualified(sequence)
            if not self.shard.is_generator(self.source, name):
                continue
            try:
                self.source.rows(f"SELECT {self.shard.raise_generator(self.source)}", name, 0)
            except errors.ObjectNotInPrerequisiteState as error:
                yield f"{name}: {error.diag.message_primary} ({error.diag.message_detail}); say its layout by --layout"

    def of_leases(self):
        for lease in self.shard.leases(self.source).values():
            if not lease["server"]:
                yield "the source is the registry of its own lease, which the target could not reach by the same name"
            elif not self.target.has("shardid_lease.shard_leases"):
                yield "the generator is leased, and the target has no extension shardid_lease"
            elif not self.target.one(USER_MAPPING, lease["server"], lease["owner"]):
                yield f"the target has no foreign server {lease['server']} with a user mapping of {lease['owner']}, who owns the generator"

    def definitions(self):
        """Checks that the source's tables have not been altered since they were copied."""
        here, there = (server.one("SELECT shard_move.definition_of(%s)", self.shard.name) for server in (self.source, self.target))
        if here != there:
            lines = sorted(set(here.splitlines()) ^ set(there.splitlines()))
            raise Trouble("the tables of source and target differ: change the target's as well, or undo and begin again:\n  "
                          + "\n  ".join(lines))
        published = self.source.names("SELECT tablename FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s",
                                      self.shard.publication, self.shard.name)
        if new := set(self.shard.tables(self.source, "r")) - set(published):
            raise Trouble(f"tables that are not replicated: {', '.join(sorted(new))}")
