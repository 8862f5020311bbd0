-- The database that is watched: photos with a shard of its own, orders with a leased one. Their generators.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host :'registry', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'postgres');
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ids.next_id(5), name text);
CREATE SEQUENCE ids.order_ids;
SELECT shardid_lease.lease_shard('shop', 'registry', 'ids.order_ids');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT ids.next_id(generator => 'ids.order_ids'), item text);
