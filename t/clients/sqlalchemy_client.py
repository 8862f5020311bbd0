# Run by t/clients/drivers.pl: rows by SQLAlchemy.
import psycopg2
import sqlalchemy
from sqlalchemy import BigInteger, Column, FetchedValue, String, create_engine, event, insert, select, text
from sqlalchemy.orm import Session, declarative_base
from said import say

Base = declarative_base()


class Order(Base):
    __tablename__ = 'shop_orders'
    id = Column(BigInteger, primary_key=True, server_default=text('ids.next_id()'))
    customer = Column(String)


class Photo(Base):
    """The table of t/clients/sharded.sql, whose trigger sets the id."""
    __tablename__ = 'photos'
    id = Column(BigInteger, primary_key=True, server_default=FetchedValue())
    user_id = Column(BigInteger, nullable=False)


statements = []


def note(_connection, _cursor, statement, *_rest):
    statements.append(' '.join(statement.split()))


# The server is named by PGHOST, PGPORT and PGDATABASE.
engine = create_engine('postgresql+psycopg2://', creator=lambda: psycopg2.connect(''))
event.listen(engine, 'before_cursor_execute', note)
say('version', sqlalchemy.__version__)
Base.metadata.create_all(engine)
say('ddl', *[s for s in statements if s.startswith('CREATE TABLE')])

with Session(engine) as session:
    order = Order(customer='Ada')
    session.add(order)
    session.flush()
    order.id  # int, the same as in the database
    say('sql', statements[-1])
    say('created', order.id)
    say('type', type(order.id).__name__)
    several = [Order(customer='several') for _ in range(100)]
    session.add_all(several)
    session.commit()
    say('found', session.get(Order, order.id).customer)
    say('several', *sorted(o.id for o in several))

    session.add(Order(id=4032112536055714817, customer='exact'))
    session.commit()
    say('exact', session.execute(select(Order.id).where(Order.customer == 'exact')).scalar())

    photos = [Photo(user_id=4007), Photo(user_id=7), Photo(user_id=2007)]
    session.add_all(photos)
    session.commit()
    say('sharded', *sorted(photo.id for photo in photos))

# Rows that are inserted together, in the reverse order of their shards: each has its own id, by a statement for each in
# SQLAlchemy 2. If the default is not declared, that sorts the ids.
Undeclared = type('Undeclared', (declarative_base(),), {
    '__tablename__': 'photos', 'id': Column(BigInteger, primary_key=True), 'user_id': Column(BigInteger, nullable=False)})
for name, model in ('declared', Photo), ('undeclared', Undeclared):
    with Session(engine) as session:
        photos = [model(user_id=n) for n in (9, 8, 7)]
        session.add_all(photos)
        before = len(statements)
        session.flush()
        say(name, len(statements) - before, *[photo.id >> 10 & 8191 for photo in photos])

with engine.begin() as connection:
    say('core', connection.execute(insert(Order).values(customer='core').returning(Order.id)).scalar())
