INSERT INTO key_by_gen_random_uuid (n) SELECT generate_series(1, 1000);
