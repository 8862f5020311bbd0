# Run by t/clients/drivers.pl: a table made by a migration of Alembic, and what autogenerate then finds.
import alembic
import psycopg2
import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from said import say


# As psql's \d prints it.
DEFAULT = 'ids.next_id()'


def upgrade():
    op.create_table(
        'invoices',
        sa.Column('id', sa.BigInteger, primary_key=True, server_default=sa.text('ids.next_id()')),
        sa.Column('customer', sa.Text))


def differences(connection, default):
    """What autogenerate would write for this table if the model has this default."""
    metadata = sa.MetaData()
    sa.Table(
        'invoices', metadata,
        sa.Column('id', sa.BigInteger, primary_key=True, server_default=sa.text(default)),
        sa.Column('customer', sa.Text))
    context = MigrationContext.configure(connection, opts={
        'compare_server_default': True,
        'include_name': lambda name, kind, _parents: kind != 'table' or name == 'invoices'})
    found = compare_metadata(context, metadata)
    return [entry[0] for change in found for entry in (change if isinstance(change, list) else [change])]


def drawn(connection):
    return connection.execute(sa.text('SELECT last_value FROM ids.shardid_seq')).scalar()


say('version', alembic.__version__)
say('default', DEFAULT)
engine = sa.create_engine('postgresql+psycopg2://', creator=lambda: psycopg2.connect(''))
with engine.begin() as connection:
    with Operations.context(MigrationContext.configure(connection)):
        upgrade()
    say('created', connection.execute(sa.text("INSERT INTO invoices (customer) VALUES ('Ada') RETURNING id")).scalar())

with engine.begin() as connection:
    before = drawn(connection)
    say('as_printed', *differences(connection, DEFAULT))
    say('nothing_drawn', drawn(connection) == before)
    say('otherwise', *differences(connection, "ids.next_id(generator => 'ids.shardid_seq')"))
    say('drawn', drawn(connection) > before)

with engine.connect() as connection, connection.begin() as transaction:
    connection.execute(sa.text('''CREATE FUNCTION next_order_id() RETURNS bigint LANGUAGE sql
        RETURN ids.next_id('ids.shardid_seq'::regclass, '2026-01-01 00:00:00+00', shard_bits => 10, sequence_bits => 12);
        ALTER TABLE invoices ALTER id SET DEFAULT next_order_id()'''))
    say('by_function', *differences(connection, 'next_order_id()'))
    transaction.rollback()
