SELECT count(baseline.uuid_v1_timestamp(u)) FROM thousand;
