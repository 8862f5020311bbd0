INSERT INTO key_by_uuidv7 (n) SELECT generate_series(1, 1000);
