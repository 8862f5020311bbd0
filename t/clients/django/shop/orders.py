# The table of t/clients/tables.sql, as inspectdb writes it, except for the id.
from django.db import models


class Orders(models.Model):
    id = models.BigAutoField(primary_key=True)
    customer = models.TextField(blank=True, null=True)

    class Meta:
        managed = False
        db_table = 'orders'
