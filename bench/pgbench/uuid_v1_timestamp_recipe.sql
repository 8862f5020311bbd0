SELECT baseline.uuid_v1_timestamp(u) FROM one_of_each;
