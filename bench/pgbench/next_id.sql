SELECT next_id();
