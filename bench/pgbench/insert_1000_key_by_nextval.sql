INSERT INTO key_by_nextval (n) SELECT generate_series(1, 1000);
