-- The registry, which is not part of the cluster: contrib/lease/README.md.
CREATE ROLE shop_member LOGIN PASSWORD 'secret';
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('shop');
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO shop_member;
