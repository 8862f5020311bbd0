INSERT INTO by_gen_random_uuid (n) VALUES (1);
