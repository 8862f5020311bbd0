SELECT count(nextval('plain')) FROM generate_series(1, 1000);
