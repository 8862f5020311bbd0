INSERT INTO by_nextval (n) SELECT generate_series(1, 1000);
