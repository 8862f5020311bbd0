-- Two tables: one whose default names the shard, and one whose shard is leased.
CREATE EXTENSION shardid;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5));

CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host :'registry', port :'port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'shop_member', password 'secret');
CREATE SEQUENCE leased_seq;
SELECT shardid_lease.lease_shard('shop', 'registry', 'leased_seq');
CREATE TABLE leased_photos (id bigint PRIMARY KEY DEFAULT next_id(generator => 'leased_seq'));

-- After a failover clients wait briefly for take_over_shards().
ALTER DATABASE shop SET shardid_lease.timeout = '1s';
