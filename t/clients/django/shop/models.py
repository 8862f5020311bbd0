from django.db import models
from django_shardid import ShardIdField


class Photo(models.Model):
    id = ShardIdField()
    name = models.TextField()


class Like(models.Model):
    photo = models.ForeignKey(Photo, on_delete=models.CASCADE)


class Place(models.Model):
    id = ShardIdField(expression="ids.next_id('ids.place_ids'::regclass)")
    name = models.TextField()


class Item(models.Model):
    id = ShardIdField(expression=None)
    user_id = models.BigIntegerField()
