# A table that Django did not create, that of t/clients/tables.sql, as inspectdb writes it, except for the id.
from django.db import models
from django_shardid import ShardIdField


class Orders(models.Model):
    id = ShardIdField()
    customer = models.TextField(blank=True, null=True)

    class Meta:
        managed = False
        app_label = 'others'
        db_table = 'orders'
