-- On each node, each with a role of its own, so that none can displace the other. The mapping is that of the sequence's owner.
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host :'registry', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user :'node', password 'secret');
