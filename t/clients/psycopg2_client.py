# Run by t/clients/drivers.pl: rows by psycopg 2. The server is named by PGHOST, PGPORT and PGDATABASE.
import psycopg2
from psycopg2.extras import execute_values
from said import say

say('version', psycopg2.__version__)
connection = psycopg2.connect('')
cursor = connection.cursor()

cursor.execute('INSERT INTO orders (customer) VALUES (%s) RETURNING id', ['Ada'])
order_id = cursor.fetchone()[0]
say('created', order_id)
say('type', type(order_id).__name__)
say('lastrowid', cursor.lastrowid)

several = execute_values(
    cursor, 'INSERT INTO orders (customer) VALUES %s RETURNING id', [['Ada'], ['Grace']], fetch=True)
say('several', *[row[0] for row in several])
connection.commit()

cursor.execute("SELECT id FROM orders WHERE customer = 'exact'")
say('exact', cursor.fetchone()[0])
