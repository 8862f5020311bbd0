INSERT INTO no_id (n) VALUES (1);
