# Tables that Django did not create, as inspectdb writes them, except for the id: those of t/clients/tables.sql and
# sharded.sql, whose trigger sets it.
from django.db import models
from django_shardid import ShardIdField


class Orders(models.Model):
    id = ShardIdField()
    customer = models.TextField(blank=True, null=True)

    class Meta:
        managed = False
        app_label = 'others'
        db_table = 'orders'


class Photos(models.Model):
    id = ShardIdField()
    user_id = models.BigIntegerField()
    name = models.TextField(blank=True, null=True)

    class Meta:
        managed = False
        app_label = 'others'
        db_table = 'photos'
