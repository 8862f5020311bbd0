INSERT INTO by_uuidv7 (n) VALUES (1);
