SELECT ids.next_id();
