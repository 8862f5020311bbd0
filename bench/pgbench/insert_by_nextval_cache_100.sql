INSERT INTO by_nextval_cache_100 (n) VALUES (1);
