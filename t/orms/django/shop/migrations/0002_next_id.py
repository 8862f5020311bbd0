# New photos get their ids from next_id.
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [('shop', '0001_initial')]
    operations = [
        migrations.RunSQL(
            sql='''
                CREATE SEQUENCE shop_photo_ids;
                ALTER TABLE shop_photo ALTER id DROP IDENTITY IF EXISTS;
                SELECT setval('shop_photo_ids',
                              ((greatest(max(id), id_lower_bound(clock_timestamp())) >> 23) + 1000) << 10)
                FROM shop_photo;
                ALTER TABLE shop_photo ALTER id SET DEFAULT next_id(5, 'shop_photo_ids');
            ''',
            reverse_sql=migrations.RunSQL.noop),
    ]
