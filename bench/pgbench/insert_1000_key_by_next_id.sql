INSERT INTO key_by_next_id (n) SELECT generate_series(1, 1000);
