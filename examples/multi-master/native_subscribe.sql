-- origin = none: what came from the other node does not go back to it.
CREATE SUBSCRIPTION :"subscription" CONNECTION :'other' PUBLICATION photos
WITH (origin = none, copy_data = false, disable_on_error = true);
