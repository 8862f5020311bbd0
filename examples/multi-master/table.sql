-- The same on both nodes. The shard of next_id() is a setting of the database, and settings are not replicated.
CREATE EXTENSION shardid;
CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT next_id(),
    taken_in text DEFAULT current_setting('cluster_name'));
