-- All rights that a role needs to insert orders.
GRANT INSERT, SELECT ON orders TO app;
GRANT USAGE ON SEQUENCE ids.shardid_seq TO app;
GRANT USAGE ON SCHEMA ids TO app;
