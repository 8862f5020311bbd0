INSERT INTO by_next_ids SELECT next_ids(5, 1000), generate_series(1, 1000);
