SELECT baseline.form_uuid_v1(now(), 666, '44:88:99:36:57:32');
