INSERT INTO by_recipe (n) VALUES (1);
