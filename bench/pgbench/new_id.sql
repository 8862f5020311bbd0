SELECT taught.new_id();
