INSERT INTO by_nextval (n) VALUES (1);
