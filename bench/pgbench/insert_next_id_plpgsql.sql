INSERT INTO by_next_id_plpgsql (n) VALUES (1);
