INSERT INTO by_portable_new_id (n) VALUES (1);
