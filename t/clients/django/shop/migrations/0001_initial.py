# The tables as makemigrations writes them: bigserial, or identity from Django 4.1 on.
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name='Photo',
            fields=[('id', models.BigAutoField(primary_key=True, serialize=False)), ('name', models.TextField())]),
        migrations.CreateModel(
            name='Like',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('photo', models.ForeignKey(on_delete=models.CASCADE, to='shop.photo')),
            ]),
    ]
