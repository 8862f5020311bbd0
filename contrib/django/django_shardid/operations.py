"""Operations for migrations."""
from __future__ import annotations

from typing import Any

from django.db import models
from django.db.migrations import AlterField, RunSQL

from .fields import NEXT_ID, ShardIdField


def literal(text: str) -> str:
    """Not by quote_value, which doubles % as well."""
    return "'" + text.replace("'", "''") + "'"


class CreateShardid(RunSQL):
    """Creates the extension in a schema of its own, unless it exists: then the role needs no privilege. Refuses a schema
    in which a role can create functions that next_id() could mean, unless it is this role, a superuser or the database's
    owner. In reverse the extension stays, as ids may depend on it."""

    def __init__(self, schema: str = 'ids') -> None:
        self.schema = schema
        super().__init__(
            f'''
DO $create$
DECLARE
    other pg_catalog.text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'shardid') THEN
        CREATE SCHEMA IF NOT EXISTS {schema};
        CREATE EXTENSION shardid SCHEMA {schema};
    END IF;
    SELECT COALESCE(r.rolname, 'PUBLIC') INTO other
    FROM pg_catalog.pg_namespace n,
         LATERAL (SELECT n.nspowner UNION
                  SELECT a.grantee FROM pg_catalog.aclexplode(n.nspacl) a WHERE a.privilege_type = 'CREATE') c (role)
         LEFT JOIN pg_catalog.pg_roles r ON r.oid = c.role
    WHERE n.oid = {literal(schema)}::pg_catalog.regnamespace AND NOT COALESCE(
        r.rolsuper OR r.rolname IN (current_user, 'pg_database_owner')
        OR r.oid = (SELECT d.datdba FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()), false);
    IF FOUND THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('role "%s" can create functions in schema %s', other, {literal(schema)}),
            DETAIL = 'A call of next_id() could mean one of them.', HINT = 'Use another schema, drop it, or REVOKE CREATE on it.';
    END IF;
END
$create$
''', RunSQL.noop)

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [self.schema], {}


class CreateGenerator(RunSQL):
    """Creates a sequence as a generator, for a ShardIdField whose expression names it. No column owns it: loaddata and
    flush would set it to max(id). Roles get the privileges that they have on the generator of the extension."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f'''
DO $create$
DECLARE
    shared pg_catalog.aclitem[];
    command pg_catalog.text;
BEGIN
    CREATE SEQUENCE {name};
    SELECT c.relacl INTO shared
    FROM pg_extension x JOIN pg_class c ON c.relnamespace = x.extnamespace AND c.relname = 'shardid_seq' WHERE x.extname = 'shardid';
    FOR command IN
        SELECT pg_catalog.format('GRANT %s ON SEQUENCE %s TO %s%s', a.privilege_type, {literal(name)}::pg_catalog.regclass,
                                 CASE WHEN r.oid IS NULL THEN 'PUBLIC' ELSE pg_catalog.quote_ident(r.rolname) END,
                                 CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END)
        FROM pg_catalog.aclexplode(shared) a LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
    LOOP
        EXECUTE command;
    END LOOP;
END
$create$
''', f'DROP SEQUENCE {name}')

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [self.name], {}


# Gives up before deadlock_timeout, so that in a deadlock the application is not refused, or earlier if the session does.
LOCK = """
DECLARE
    shardid_wait text := pg_catalog.current_setting('lock_timeout');
    shardid_path text := pg_catalog.current_setting('search_path');
    shardid_table pg_catalog.regclass := {table_name};
    shardid_own text := pg_catalog.pg_get_serial_sequence({table_name}, {column_name});
    shardid_grants text;
    shardid_granted boolean;
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '900ms', true)
    FROM pg_catalog.pg_settings
    WHERE name OPERATOR(pg_catalog.=) 'lock_timeout' AND NOT setting::pg_catalog.int4 OPERATOR(pg_catalog.<@) '[1,900]'::pg_catalog.int4range;
    LOCK TABLE {table};
    PERFORM pg_catalog.set_config('lock_timeout', shardid_wait, true);
"""

# Roles that insert need USAGE on the generator or sequence of the default, unless a function of the user's calls next_id.
GRANTS = """
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT string_agg(format('GRANT USAGE ON SEQUENCE %s TO %s', generator, CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END), '; '),
           bool_and(has_sequence_privilege(generator, 'USAGE WITH GRANT OPTION'))
    INTO shardid_grants, shardid_granted
    FROM (SELECT COALESCE(
                     (SELECT q.refobjid FROM pg_depend q JOIN pg_sequence ON seqrelid = q.refobjid
                      WHERE q.classid = 'pg_attrdef'::regclass AND q.objid = d.oid AND q.refclassid = 'pg_class'::regclass LIMIT 1),
                     to_regclass(p.pronamespace::regnamespace || '.shardid_seq'))::regclass
          FROM pg_attrdef d JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum AND attname = {column_name}
          LEFT JOIN pg_depend f ON f.classid = 'pg_attrdef'::regclass AND f.objid = d.oid AND f.refclassid = 'pg_proc'::regclass
          LEFT JOIN (pg_proc p JOIN pg_depend e ON e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
              ON p.oid = f.refobjid AND p.proname = 'next_id'
          WHERE adrelid = shardid_table AND (f.objid IS NULL) = (p.oid IS NULL)) g (generator),
         (SELECT a.grantee FROM pg_class, aclexplode(relacl) a WHERE oid = shardid_table AND a.privilege_type = 'INSERT'
          UNION SELECT a.grantee FROM pg_attribute, aclexplode(attacl) a WHERE attrelid = shardid_table AND a.privilege_type = 'INSERT'
          UNION SELECT a.grantee FROM pg_class, aclexplode(relacl) a
                WHERE oid = to_regclass(shardid_own) AND a.privilege_type IN ('USAGE', 'UPDATE')) r (role)
    WHERE NOT has_sequence_privilege(role, generator, 'USAGE');
    PERFORM set_config('search_path', shardid_path, true);
    IF NOT shardid_granted THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('roles that insert into %s have no privilege on its generator', {table_name}),
            HINT = pg_catalog.format('The owner of the generator must run: %s.', shardid_grants);
    ELSIF shardid_granted THEN
        EXECUTE shardid_grants;
    END IF;
"""

# New ids must be above all that are stored: rows are read in the order of their ids.
SWITCH = LOCK + """
    ALTER TABLE {table} ALTER {column} DROP IDENTITY IF EXISTS, ALTER {column} SET DEFAULT {expression};
""" + GRANTS + """    IF (SELECT pg_catalog.max({column}) FROM {table}) OPERATOR(pg_catalog.>=) {expression} THEN
        RAISE USING MESSAGE = pg_catalog.format('table %s has ids above those that are generated now', {table_name}),
            HINT = 'Raise the generator first: see "The one command" in docs/operations.md of shardid.';
    END IF;
END
"""

# The column's own sequence, if it had one, has stayed. It continues above all ids of the generator, also those of
# deleted rows: with the bits of shard and sequence number set, a new id is above those of other shards, too.
SWITCH_BACK = LOCK + """
    ALTER TABLE {table} ALTER {column} DROP DEFAULT;
    IF shardid_own IS NULL THEN
        ALTER TABLE {table} ALTER {column} ADD GENERATED BY DEFAULT AS IDENTITY;
    ELSE
        EXECUTE pg_catalog.format('ALTER TABLE %s ALTER %I SET DEFAULT pg_catalog.nextval(%L)', {table_name}, {column_name}, shardid_own);
    END IF;
""" + GRANTS + """    PERFORM pg_catalog.setval(pg_catalog.pg_get_serial_sequence({table_name}, {column_name}),
        GREATEST(pg_catalog.max({column}), {next_id} OPERATOR(pg_catalog.|) 8388607)) FROM {table};
END
"""


class AlterToShardId(AlterField):
    """Replaces the AlterField that makemigrations writes when a field becomes a ShardIdField, one of another expression,
    or a BigAutoField again: sets the column's default, and touches neither rows nor foreign keys. As a BigAutoField the
    column has a sequence of its own."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        old, new = (state.apps.get_model(app_label, self.model_name)._meta.get_field(self.name) for state in (from_state, to_state))
        if not isinstance(old, models.BigAutoField):
            remedy = 'make it one first, by a migration of its own' if isinstance(old, models.IntegerField) else 'keep it, as its values cannot become ids'
            raise ValueError(f'{old} is no BigAutoField: {remedy}')
        if isinstance(new, ShardIdField):
            sql, field = SWITCH, new
        elif isinstance(new, models.BigAutoField) and isinstance(old, ShardIdField):
            sql, field = SWITCH_BACK, old
        else:
            raise ValueError(f'{new} is no ShardIdField')
        model = field.model
        if not model._meta.managed:
            raise ValueError(f'{model._meta.label} has managed = False, so migrations do not change its table')
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        table = schema_editor.quote_name(model._meta.db_table)
        code = sql.format(
            table=table,
            column=schema_editor.quote_name(field.column),
            expression=field.expression or 'NULL',
            next_id=field.expression or NEXT_ID,
            table_name=literal(table),
            column_name=literal(field.column))
        schema_editor.execute(f'DO {literal(code)}', params=None)
