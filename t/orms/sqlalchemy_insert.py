# What t/018_orms.pl runs: rows by SQLAlchemy. Prints a line a result, its name first.
import psycopg2
import sqlalchemy
from sqlalchemy import BigInteger, Column, String, create_engine, insert, text
from sqlalchemy.orm import Session, declarative_base

Base = declarative_base()


class Photo(Base):
    __tablename__ = 'photos'
    id = Column(BigInteger, primary_key=True, server_default=text('next_id(5)'))
    name = Column(String)


def say(name, *values):
    print(name, *values, sep='\t')


statements = []


def note(_connection, _cursor, statement, *_rest):
    statements.append(' '.join(statement.split()))


# The server is named by PGHOST, PGPORT and PGDATABASE.
engine = create_engine('postgresql+psycopg2://', creator=lambda: psycopg2.connect(''))
sqlalchemy.event.listen(engine, 'before_cursor_execute', note)
say('version', sqlalchemy.__version__)
Base.metadata.create_all(engine)
say('ddl', *[s for s in statements if s.startswith('CREATE TABLE')])

with Session(engine) as session:
    photo = Photo(name='lighthouse')
    session.add(photo)
    session.flush()
    say('sql', statements[-1])
    say('created', photo.id)
    several = [Photo(name='several') for _ in range(100)]
    session.add_all(several)
    session.commit()
    say('found', session.get(Photo, photo.id).name)
    say('several', *sorted(p.id for p in several))

with engine.begin() as connection:
    say('core', connection.execute(insert(Photo).values(name='core').returning(Photo.id)).scalar())
