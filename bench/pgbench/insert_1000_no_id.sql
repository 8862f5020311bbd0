INSERT INTO no_id (n) SELECT generate_series(1, 1000);
