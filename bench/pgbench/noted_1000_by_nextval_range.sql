INSERT INTO taken_by_nextval_range SELECT first, last FROM nextval_range('in_ranges', 1000);
