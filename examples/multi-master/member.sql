-- On each node, with a role of its own, so that no node can displace the other. The user mapping is for the sequence's
-- owner.
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host :'registry', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user :'node', password 'secret');
