INSERT INTO taken_by_setval SELECT last - 999, last FROM setval('set_on', nextval('set_on') + 999) AS last;
