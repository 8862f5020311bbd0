SELECT next_id(5);
