SELECT uuid_generate_v1();
