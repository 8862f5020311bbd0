# A Django project of one application; the server is named by PGHOST and PGPORT.
import os

SECRET_KEY = 'of a test'
USE_TZ = True
INSTALLED_APPS = ['shop']
DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'
DATABASES = {
    'default': {
        'ENGINE': 'django.db.backends.postgresql',
        'NAME': os.environ['PGDATABASE'],
        'HOST': os.environ['PGHOST'],
        'PORT': os.environ['PGPORT'],
        'OPTIONS': {'options': '-c shardid.shard_id=5'},
    }
}
