-- The registry of the example. With a lease of 40 s it takes 20 s until a member asks again.
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('shop', lease => '40 s');
