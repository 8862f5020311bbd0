SELECT portable.new_id();
