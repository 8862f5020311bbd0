# A reader of contrib/readers/README.md, with psycopg 2: follow calls process(cursor, id, item) for each new row. It waits
# for notifications, and asks at least once per second. On psycopg2.Error wait a second, and call it again.
import select
import time

import psycopg2


def follow(dsn, process):
    connection = psycopg2.connect(dsn)
    connection.cursor().execute('LISTEN orders')        # committed with the first rows
    while True:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders)")
            rows = cursor.fetchall()
            for row in rows:
                process(cursor, *row)
        if not rows:
            if not connection.notifies:
                select.select([connection], [], [], 1)
                connection.poll()
            connection.notifies.clear()
            time.sleep(0.002)
