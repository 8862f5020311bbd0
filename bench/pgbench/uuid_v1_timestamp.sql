SELECT count(ids.uuid_v1_timestamp(u)) FROM thousand;
