SELECT uuid_v1_from(now(), 666, '44:88:99:36:57:32');
