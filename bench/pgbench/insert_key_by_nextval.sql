INSERT INTO key_by_nextval (n) VALUES (1);
