INSERT INTO by_portable (n) VALUES (1);
