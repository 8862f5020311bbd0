# Run by t/clients/drivers.pl: rows by Django, before and after the migration to next_id, and in a table that Django did
# not create. The argument is a directory for a dump.
import io
import os
import re
import sys

os.environ['DJANGO_SETTINGS_MODULE'] = 'settings'
import django
from django.core.management import call_command
from django.db import connection, utils
from django.test.utils import CaptureQueriesContext

django.setup()
from said import say
from shop.models import Like, Photo
from shop.orders import Orders


def sqlstate(error):
    """By psycopg 3, or 2."""
    cause = error.__cause__
    return cause.sqlstate if hasattr(cause, 'sqlstate') else cause.pgcode


def load_dump():
    fixture = os.path.join(sys.argv[1], 'photos.json')
    call_command('dumpdata', 'shop', output=fixture, verbosity=0)
    call_command('loaddata', fixture, verbosity=0)


def inspected():
    """The model of the table orders, as inspectdb writes it; renamed, since the name is in use."""
    out = io.StringIO()
    call_command('inspectdb', 'orders', stdout=out)
    return out.getvalue().replace('class Orders(', 'class AsInspected(')


say('version', django.get_version())
call_command('migrate', 'shop', '0001', verbosity=0)
say('old', Photo.objects.create(name='old').id)
call_command('migrate', 'shop', verbosity=0)

with CaptureQueriesContext(connection) as queries:
    photo = Photo.objects.create(name='lighthouse')
say('sql', queries[-1]['sql'])
say('created', photo.id)
say('type', type(photo.id).__name__)
say('found', Photo.objects.get(id=photo.id).name)
say('bulk', *[p.id for p in Photo.objects.bulk_create([Photo(name='bulk') for _ in range(100)])])
say('referenced', Like.objects.create(photo=photo).photo_id)

load_dump()
say('after_loaddata', Photo.objects.create(name='after loaddata').id)

code = inspected()
say('inspected', re.search(r'id = models\.(\w+)', code)[1])
module = {'__name__': 'shop.inspected'}
exec(code, module)
try:
    module['AsInspected'].objects.create(customer='refused')
except utils.IntegrityError as error:
    say('as_inspected', sqlstate(error))
say('as_big_auto_field', Orders.objects.create(customer='Ada').id)
say('exact', Orders.objects.get(customer='exact').id)

# The page's warning: a generator that is owned by the column.
with connection.cursor() as cursor:
    cursor.execute('DROP SEQUENCE IF EXISTS shop_photo_id_seq')
    cursor.execute('ALTER SEQUENCE ids.shop_photo_ids SET SCHEMA public')
    cursor.execute('ALTER SEQUENCE shop_photo_ids OWNED BY shop_photo.id')
load_dump()
try:
    Photo.objects.create(name='refused')
except utils.DatabaseError as error:
    say('owned', sqlstate(error))
