SELECT setval('set_on', nextval('set_on') + 999);
