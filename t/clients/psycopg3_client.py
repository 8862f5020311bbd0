# Run by t/clients/drivers.pl: rows by psycopg 3. The server is named by PGHOST, PGPORT and PGDATABASE.
import psycopg
from said import say

say('version', psycopg.__version__)

with psycopg.connect('') as connection, connection.cursor() as cursor:
    cursor.execute('INSERT INTO orders (customer) VALUES (%s) RETURNING id', ['Ada'])
    order_id = cursor.fetchone()[0]
    say('created', order_id)
    say('type', type(order_id).__name__)

    cursor.executemany('INSERT INTO orders (customer) VALUES (%s) RETURNING id', [['Ada'], ['Grace']], returning=True)
    several = [cursor.fetchone()[0]]
    while cursor.nextset():
        several.append(cursor.fetchone()[0])
    say('several', *several)

    with cursor.copy('COPY orders (customer) FROM STDIN') as copy:
        for customer in ('Ada', 'Grace'):
            copy.write_row([customer])
    say('copied', cursor.rowcount)

    cursor.execute("SELECT id FROM orders WHERE customer = 'exact'")
    say('exact', cursor.fetchone()[0])
