INSERT INTO by_recipe (n) SELECT generate_series(1, 1000);
