SELECT count(baseline.form_uuid_v1(ts, 666, '44:88:99:36:57:32')) FROM thousand;
