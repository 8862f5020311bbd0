-- A third database, to which both nodes connect and which no node replicates: contrib/lease/README.md.
CREATE ROLE lisbon LOGIN PASSWORD 'secret';
CREATE ROLE oslo LOGIN PASSWORD 'secret';
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('shop');
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO lisbon, oslo;
