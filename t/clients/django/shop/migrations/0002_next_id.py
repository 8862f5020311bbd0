# New photos and likes get their ids from next_id.
import django_shardid
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [('shop', '0001_initial')]
    operations = [
        django_shardid.CreateShardid(),
        django_shardid.AlterToShardId('photo', 'id', django_shardid.ShardIdField(primary_key=True, serialize=False)),
        django_shardid.AlterToShardId('like', 'id', django_shardid.ShardIdField(
            auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
    ]
