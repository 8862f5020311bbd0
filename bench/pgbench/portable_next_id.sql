SELECT portable.next_id(5);
