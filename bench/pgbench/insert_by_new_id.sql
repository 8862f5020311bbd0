INSERT INTO by_new_id (n) VALUES (1);
