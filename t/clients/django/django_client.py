# Run by t/clients/drivers.pl: rows by Django, before and after the migration to next_id, and in tables that Django did
# not create. The argument is a directory for a dump.
import io
import os
import re
import sys
import uuid
from datetime import timedelta

os.environ['DJANGO_SETTINGS_MODULE'] = 'settings'
import django
from django.core.management import call_command
from django.db import connection, models, transaction, utils
from django.db.migrations import AddField, AlterField
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import BigIntegerField, Func, Value
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

django.setup()
from django_shardid import AlterToShardId, CreateGenerator, CreateShardid, ShardIdField
from said import say
from shop.models import Item, Like, Photo, Place
from shop.orders import Orders


def sqlstate(error):
    """By psycopg 3, or 2."""
    cause = error.__cause__
    return cause.sqlstate if hasattr(cause, 'sqlstate') else cause.pgcode


def load_dump():
    fixture = os.path.join(sys.argv[1], 'shop.json')
    call_command('dumpdata', 'shop', output=fixture, verbosity=0)
    call_command('loaddata', fixture, verbosity=0)


def printed(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


say('version', django.get_version())
call_command('migrate', 'shop', '0001', verbosity=0)
with connection.cursor() as cursor:
    cursor.execute("INSERT INTO shop_photo (name) VALUES ('old')")
call_command('migrate', 'shop', verbosity=0)
say('makemigrations', printed('makemigrations', 'shop', dry_run=True).strip())

with CaptureQueriesContext(connection) as queries:
    photo = Photo.objects.create(name='lighthouse')
say('sql', queries[-1]['sql'])
say('created', photo.id)
say('type', type(photo.id).__name__)
say('found', Photo.objects.get(id=photo.id).name)
say('bulk', *[p.id for p in Photo.objects.bulk_create([Photo(name='bulk') for _ in range(100)])])
say('referenced', Like.objects.create(photo=photo).photo_id)
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'shop_place'::regclass")
    say('place', cursor.fetchone()[0])

Place.objects.create(name='harbour')
say('since', Photo.objects.filter(id__gte=Func(Value(timezone.now() - timedelta(hours=1)),
                                               function='ids.id_lower_bound', output_field=BigIntegerField())).count())
load_dump()
say('after_loaddata', Photo.objects.create(name='after loaddata').id)
say('likes', *[like.id for like in Like.objects.bulk_create([Like(photo=photo), Like(photo=photo)])])

# The model of the table orders, as inspectdb writes it; renamed, since the name is in use.
code = printed('inspectdb', 'orders').replace('class Orders(', 'class AsInspected(')
say('inspected', re.search(r'id = models\.(\w+)', code)[1])
module = {'__name__': 'shop.inspected'}
exec(code, module)
try:
    module['AsInspected'].objects.create(customer='refused')
except utils.IntegrityError as error:
    say('as_inspected', sqlstate(error))
say('as_shard_id_field', Orders.objects.create(customer='Ada').id)
say('exact', Orders.objects.get(customer='exact').id)

say('sharded', Item.objects.create(user_id=4007).id >> 10 & 8191,
    *[item.id >> 10 & 8191 for item in Item.objects.bulk_create([Item(user_id=7), Item(user_id=2007)])])

# A role without any privilege on the database needs none where the extension exists.
with connection.cursor() as cursor:
    cursor.execute('CREATE ROLE migrates')
    cursor.execute('SET ROLE migrates')
    with connection.schema_editor() as editor:
        CreateShardid().database_forwards('shop', editor, None, None)
    cursor.execute('RESET ROLE')
    refused = []
    for prepared in ('ALTER SCHEMA ids OWNER TO migrates', 'GRANT CREATE ON SCHEMA ids TO PUBLIC', 'ALTER SCHEMA ids RENAME TO elsewhere'):
        try:
            with transaction.atomic(), connection.schema_editor() as editor:
                cursor.execute(prepared)
                CreateShardid().database_forwards('shop', editor, None, None)
        except utils.ProgrammingError as error:
            refused.append(sqlstate(error))
    say('prepared', *refused)

state = ProjectState()
state.add_model(ModelState.from_model(Orders))
try:
    AlterToShardId('orders', 'id', Orders._meta.pk).database_backwards('others', None, state, state)
except ValueError as error:
    say('unmanaged', str(error))

# Keys that are no BigAutoField, and a ShardIdField that is no key.
for key in models.AutoField(primary_key=True), models.UUIDField(primary_key=True):
    state = ProjectState()
    state.add_model(ModelState('others', 'Keyed', [('id', key)]))
    try:
        AlterToShardId('keyed', 'id', ShardIdField()).database_forwards('others', None, state, state)
    except ValueError as error:
        say(type(key).__name__, str(error))
second = ShardIdField(primary_key=False)
second.set_attributes_from_name('second')
say('no_key', *[found.id for found in second._check_primary_key()])

# Back, where ids continue above all, also of deleted rows, whatever functions others have created; and forth.
deleted = Photo.objects.create(name='deleted')
highest = deleted.id
deleted.delete()
with connection.cursor() as cursor:
    cursor.execute('CREATE FUNCTION nextval(text) RETURNS bigint LANGUAGE sql RETURN 7')
    call_command('migrate', 'shop', '0001', verbosity=0)
    cursor.execute("INSERT INTO shop_photo (name) VALUES ('by its own sequence') RETURNING id")
    say('reversed', cursor.fetchone()[0] > highest)
    cursor.execute('DROP FUNCTION nextval(text) CASCADE')
    cursor.execute("SELECT to_regclass('ids.place_ids') IS NULL")
    say('generator_dropped', cursor.fetchone()[0])
call_command('migrate', 'shop', verbosity=0)
say('again', Photo.objects.create(name='again').id)

# A column that gets the default, another one, and none: refused by AlterField, and done by AlterToShardId, also back.
fields = [models.BigAutoField(primary_key=True), ShardIdField(), ShardIdField(expression='ids.next_id(7)'), ShardIdField(expression=None)]
states = [ProjectState() for _ in fields]
for field, state in zip(fields, states):
    state.add_model(ModelState('others', 'Switched', [('id', field)], {'db_table': 'switched'}))
with connection.schema_editor() as editor:
    editor.create_model(states[0].apps.get_model('others', 'Switched'))


def default_after(operation, *between):
    """What becomes of the column's default."""
    try:
        with connection.schema_editor() as editor:
            operation('others', editor, *between)
    except utils.DatabaseError as error:
        return sqlstate(error)
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(pg_get_expr(adbin, adrelid)), 'none') FROM pg_attrdef WHERE adrelid = 'switched'::regclass")
        return cursor.fetchone()[0]


for n in 1, 2, 3:
    field = ['switched', 'id', fields[n]]
    say(f'altered_{n}', default_after(AlterField(*field).database_forwards, *states[n - 1:n + 1]),
        default_after(AlterToShardId(*field).database_forwards, *states[n - 1:n + 1]))
say('altered_back', *[default_after(AlterToShardId('switched', 'id', fields[n]).database_backwards, states[n], states[n - 1]) for n in (3, 2)])

# As a later migration a BigAutoField again, which continues above all; and back.
plain = AlterToShardId('switched', 'id', models.BigAutoField(primary_key=True))
insert = "INSERT INTO switched VALUES (DEFAULT) RETURNING id"
with connection.cursor() as cursor:
    cursor.execute(insert)
    above = cursor.fetchone()[0]
    with connection.schema_editor() as editor:
        plain.database_forwards('others', editor, states[1], states[0])
    cursor.execute(insert)
    say('plain', cursor.fetchone()[0] > above, default_after(plain.database_backwards, states[0], states[1]))
    try:
        plain.database_forwards('others', None, states[0], states[0])
    except ValueError as error:
        say('plain_already', str(error))

    # Roles that insert get privileges on the generator; if the migration may not grant them, it fails.
    cursor.execute("CREATE ROLE has_shared; CREATE ROLE has_table; GRANT SELECT, INSERT ON switched TO has_table;"
                   "GRANT USAGE ON SEQUENCE ids.shardid_seq TO has_shared WITH GRANT OPTION;"
                   "GRANT USAGE ON SEQUENCE ids.shardid_seq TO migrates; GRANT USAGE ON SCHEMA ids TO migrates")
    with connection.schema_editor() as editor:
        CreateGenerator('ids.switched_ids').database_forwards('others', editor, None, None)
    usage = "SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles WHERE rolname LIKE 'has_%%' AND has_sequence_privilege(oid, %s, 'USAGE')"
    cursor.execute(usage, ['ids.switched_ids'])
    of_new_generator = cursor.fetchone()[0]
    cursor.execute("SELECT has_sequence_privilege('has_shared', 'ids.switched_ids', 'USAGE WITH GRANT OPTION')")
    say('of_new_generator', of_new_generator, cursor.fetchone()[0])
    own = ProjectState()
    expression = "ids.next_id('ids.switched_ids'::regclass)"
    own.add_model(ModelState('others', 'Switched', [('id', ShardIdField(expression=expression))], {'db_table': 'switched'}))
    default_after(AlterToShardId('switched', 'id', ShardIdField(expression=expression)).database_forwards, states[1], own)
    cursor.execute(usage, ['ids.switched_ids'])
    say('granted', cursor.fetchone()[0])
    cursor.execute('ALTER TABLE switched OWNER TO migrates; SET ROLE migrates')
    try:
        with connection.schema_editor() as editor:
            AlterToShardId('switched', 'id', ShardIdField()).database_forwards('others', editor, own, states[1])
    except utils.DatabaseError as error:
        say('not_granted', *str(error).splitlines()[:2])
    cursor.execute('RESET ROLE; ALTER TABLE switched OWNER TO CURRENT_USER; REVOKE INSERT ON switched FROM has_table')
    default_after(AlterToShardId('switched', 'id', ShardIdField()).database_forwards, own, states[1])
    default_after(AlterToShardId('switched', 'id', fields[2]).database_forwards, *states[1:3])

    # Back to the sequence that the column had, on which roles that insert need privileges, too.
    cursor.execute('CREATE TABLE of_serial (id bigserial PRIMARY KEY)')
    with_serial = [ProjectState(), ProjectState()]
    for state, key in zip(with_serial, fields):
        state.add_model(ModelState('others', 'OfSerial', [('id', key)], {'db_table': 'of_serial'}))
    of_serial = AlterToShardId('ofserial', 'id', fields[1])
    with connection.schema_editor() as editor:
        of_serial.database_forwards('others', editor, *with_serial)
        cursor.execute('GRANT INSERT ON of_serial TO has_table')
        of_serial.database_backwards('others', editor, *reversed(with_serial))
    cursor.execute(usage, ['of_serial_id_seq'])
    say('granted_back', cursor.fetchone()[0])

# A table in use is not waited for, and the session's setting stays; a shorter one counts. What a slow machine ends is repeated.
reader = connection.copy()
reader.set_autocommit(False)
reader.cursor().execute('LOCK TABLE switched IN ACCESS SHARE MODE')
with connection.cursor() as cursor:
    used = []
    for statement_timeout, lock_timeout in ('0.6s', '50ms'), ('60s', '99s'):
        cursor.execute(f"SET statement_timeout = '{statement_timeout}'; SET lock_timeout = '{lock_timeout}'")
        used.append(next(code for code in (default_after(AlterToShardId(*field).database_forwards, *states[2:]) for _ in range(10)) if code != '57014'))
    say('in_use', *used)
    reader.rollback()
    with connection.schema_editor() as editor:
        AlterToShardId(*field).database_forwards('others', editor, *states[2:])
        cursor.execute('SHOW lock_timeout')
        say('waits', cursor.fetchone()[0])
    cursor.execute('RESET lock_timeout; RESET statement_timeout')

# A second id, as the page writes it.
if django.VERSION >= (5, 0):
    with open('contrib/django/README.md') as page:
        new_id = eval(re.search(r'new_id = (models.*?)\n```', page.read(), re.DOTALL)[1])
    without, state = ProjectState(), ProjectState()
    without.add_model(ModelState('others', 'Uuid', [('id', models.UUIDField(primary_key=True, default=uuid.uuid4))]))
    state.add_model(ModelState('others', 'Uuid', [*without.models['others', 'uuid'].fields.items(), ('new_id', new_id)]))
    with connection.schema_editor() as editor:
        editor.create_model(without.apps.get_model('others', 'Uuid'))
    with connection.schema_editor() as editor:
        AddField('uuid', 'new_id', new_id).database_forwards('others', editor, without, state)
    say('second', state.apps.get_model('others', 'Uuid').objects.create().new_id >> 10 & 8191)

# Names that would end a string, or stand for a value.
class Quoted(models.Model):
    id = models.BigAutoField(primary_key=True, db_column="the 'id' of 100%s $switch$")

    class Meta:
        app_label = 'others'
        db_table = "shop's 100%d $switch$"


states = [ProjectState(), ProjectState()]
states[0].add_model(ModelState.from_model(Quoted))
altered = AlterToShardId('quoted', 'id', ShardIdField(primary_key=True, db_column=Quoted._meta.pk.db_column))
states[1].add_model(ModelState.from_model(Quoted))
altered.state_forwards('others', states[1])
insert = '''INSERT INTO "shop's 100%d $switch$" DEFAULT VALUES RETURNING *'''
with connection.schema_editor() as editor:
    editor.create_model(Quoted)
    altered.database_forwards('others', editor, *states)
with connection.cursor() as cursor:
    cursor.execute(insert)
    above = cursor.fetchone()[0]
with connection.schema_editor() as editor:
    altered.database_backwards('others', editor, states[1], states[0])
with connection.cursor() as cursor:
    cursor.execute(insert)
    say('quoted', above >> 10 & 8191, cursor.fetchone()[0] > above)
    cursor.execute('''INSERT INTO "shop's 100%d $switch$" VALUES (ids.id_lower_bound(now() + interval '1 day'))''')
try:
    with connection.schema_editor() as editor:
        altered.database_forwards('others', editor, *states)
except utils.DatabaseError as error:
    say('above', str(error).splitlines()[0])
    say('section', *re.search(r'see "(.*?)" in (\S+)', str(error)).groups())

# A generator that is owned by the column.
Place.objects.create(name='harbour')
with connection.cursor() as cursor:
    cursor.execute('ALTER SEQUENCE ids.place_ids SET SCHEMA public')
    cursor.execute('ALTER SEQUENCE place_ids OWNED BY shop_place.id')
load_dump()
try:
    Place.objects.create(name='refused')
except utils.DatabaseError as error:
    say('owned', sqlstate(error))

# The database of Django's test runner: all migrations from the beginning, and no shard number of its own.
connection.creation.create_test_db(verbosity=0, serialize=False)
say('test_database', connection.settings_dict['NAME'], Photo.objects.create(name='tested').id >> 10 & 8191)
