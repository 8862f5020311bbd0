INSERT INTO by_next_id (n) VALUES (1);
