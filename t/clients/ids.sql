-- What docs/clients.md recommends: the extension and its generators in a schema of their own. Clients.pm replaces shop by
-- the name of its database.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
ALTER DATABASE shop SET shardid.shard_id = 5;
