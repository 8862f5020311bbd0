SELECT baseline.next_id();
