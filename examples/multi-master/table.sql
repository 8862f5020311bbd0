-- The same on both nodes. The shard of ids.next_id() is a setting of the database, and settings are not replicated.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE TABLE photos (
    id bigint PRIMARY KEY DEFAULT ids.next_id(),
    taken_in text DEFAULT current_setting('cluster_name'));
