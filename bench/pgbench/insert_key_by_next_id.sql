INSERT INTO key_by_next_id (n) VALUES (1);
