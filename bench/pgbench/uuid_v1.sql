SELECT uuid_v1();
