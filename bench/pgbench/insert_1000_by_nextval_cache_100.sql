INSERT INTO by_nextval_cache_100 (n) SELECT generate_series(1, 1000);
