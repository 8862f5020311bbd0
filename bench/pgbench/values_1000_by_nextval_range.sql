SELECT first, last FROM nextval_range('in_ranges', 1000);
