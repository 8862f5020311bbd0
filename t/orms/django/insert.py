# What t/018_orms.pl runs: rows by Django, before and after the migration that brings next_id. Prints a
# line a result, its name first.
import os
import sys

os.environ['DJANGO_SETTINGS_MODULE'] = 'settings'
import django
from django.core.management import call_command
from django.db import connection, utils
from django.test.utils import CaptureQueriesContext

django.setup()
from shop.models import Like, Photo


def say(name, *values):
    print(name, *values, sep='\t')


def load_dump():
    fixture = os.path.join(sys.argv[1], 'photos.json')
    call_command('dumpdata', 'shop', output=fixture, verbosity=0)
    call_command('loaddata', fixture, verbosity=0)


say('version', django.get_version())
call_command('migrate', 'shop', '0001', verbosity=0)
say('old', Photo.objects.create(name='old').id)
call_command('migrate', 'shop', verbosity=0)

with CaptureQueriesContext(connection) as queries:
    photo = Photo.objects.create(name='lighthouse')
say('sql', queries[-1]['sql'])
say('created', photo.id)
say('found', Photo.objects.get(id=photo.id).name)
say('bulk', *[p.id for p in Photo.objects.bulk_create([Photo(name='bulk') for _ in range(100)])])
say('referenced', Like.objects.create(photo=photo).photo_id)

load_dump()
say('after_loaddata', Photo.objects.create(name='after loaddata').id)

# What the page warns of: a generator that belongs to the column.
with connection.cursor() as cursor:
    cursor.execute('DROP SEQUENCE IF EXISTS shop_photo_id_seq')
    cursor.execute('ALTER SEQUENCE shop_photo_ids OWNED BY shop_photo.id')
load_dump()
try:
    Photo.objects.create(name='refused')
except utils.DatabaseError as error:
    say('owned', error.__cause__.pgcode)
