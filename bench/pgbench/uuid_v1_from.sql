SELECT count(ids.uuid_v1_from(ts, 666, '44:88:99:36:57:32')) FROM thousand;
