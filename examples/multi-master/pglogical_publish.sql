-- The table by its name, and no other one: the tables of shardid_lease say what this server holds.
CREATE EXTENSION pglogical;
SELECT pglogical.create_node(current_setting('cluster_name'), :'self');
SELECT pglogical.replication_set_add_table('default', 'photos');
