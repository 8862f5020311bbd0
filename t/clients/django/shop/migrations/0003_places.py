# A table that begins with ids of a generator of its own.
import django_shardid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('shop', '0002_next_id')]
    operations = [
        django_shardid.CreateGenerator('ids.place_ids'),
        migrations.CreateModel(
            name='Place',
            fields=[
                ('id', django_shardid.ShardIdField(
                    expression="ids.next_id('ids.place_ids'::regclass)", primary_key=True, serialize=False)),
                ('name', models.TextField()),
            ]),
    ]
