# The reader of docs/new-rows.md, with psycopg 2: follow calls process(cursor, id, item) for each new row, in batches. It
# waits for notifications, and asks at least once per second. On psycopg2.Error wait a second, and call it again.
import select
import time

import psycopg2


def read(connection, process):
    """Returns how many rows it has read."""
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT below FROM readers WHERE name = 'mailer' FOR UPDATE")
        first = cursor.fetchone()[0]
        cursor.execute("SELECT ids.settled_below('ids.order_ids')")
        bound = cursor.fetchone()[0]
        cursor.execute('SELECT id, item FROM orders WHERE id >= %s AND id < %s ORDER BY id LIMIT 1000', [first, bound])
        rows = cursor.fetchall()
        for row in rows:
            process(cursor, *row)
        if rows:
            below = rows[-1][0] + 1 if len(rows) == 1000 else bound
            cursor.execute("UPDATE readers SET below = %s WHERE name = 'mailer'", [below])
        return len(rows)


def follow(dsn, process):
    connection = psycopg2.connect(dsn)
    connection.cursor().execute('LISTEN orders')        # read commits it
    while True:
        if read(connection, process) == 0:
            if not connection.notifies:
                select.select([connection], [], [], 1)
                connection.poll()
            connection.notifies.clear()
            time.sleep(0.002)
