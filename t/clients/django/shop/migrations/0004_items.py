# A table whose ids contain a logical shard, which a trigger takes from another column.
import django_shardid
from django.db import migrations, models

SET_ITEM_ID = '''
ALTER TABLE shop_item ADD CHECK (ids.id_shard(id) = user_id % 2000);
CREATE FUNCTION set_item_id() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.id := ids.next_id((NEW.user_id % 2000)::int); RETURN NEW; END';
CREATE TRIGGER set_id BEFORE INSERT ON shop_item FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION set_item_id();
'''


class Migration(migrations.Migration):
    dependencies = [('shop', '0003_places')]
    operations = [
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', django_shardid.ShardIdField(expression=None, primary_key=True, serialize=False)),
                ('user_id', models.BigIntegerField()),
            ]),
        migrations.RunSQL(SET_ITEM_ID, 'DROP FUNCTION set_item_id CASCADE'),
    ]
