SELECT nextval('cached');
