from django.db import models


class Photo(models.Model):
    id = models.BigAutoField(primary_key=True)
    name = models.TextField()


class Like(models.Model):
    photo = models.ForeignKey(Photo, on_delete=models.CASCADE)
