# New photos get their ids from next_id.
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [('shop', '0001_initial')]
    operations = [
        migrations.RunSQL(
            sql='''
                CREATE SEQUENCE ids.shop_photo_ids;
                ALTER TABLE shop_photo ALTER id DROP IDENTITY IF EXISTS;
                ALTER TABLE shop_photo ALTER id SET DEFAULT ids.next_id('ids.shop_photo_ids'::regclass);
                SELECT ids.raise_generator('ids.shop_photo_ids', ids.id_lower_bound(
                    greatest(ids.id_timestamp(max(id)), clock_timestamp()) + interval '1 second'))
                FROM shop_photo;
            ''',
            reverse_sql=migrations.RunSQL.noop),
    ]
