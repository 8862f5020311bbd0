-- origin = none: rows from the other node are not sent back to it.
CREATE SUBSCRIPTION :"subscription" CONNECTION :'other' PUBLICATION photos
WITH (origin = none, copy_data = false, disable_on_error = true);
