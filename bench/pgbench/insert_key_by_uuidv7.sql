INSERT INTO key_by_uuidv7 (n) VALUES (1);
