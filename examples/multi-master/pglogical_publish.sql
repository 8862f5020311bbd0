-- Only this table, by its name: the tables of shardid_lease contain this server's own leases.
CREATE EXTENSION pglogical;
SELECT pglogical.create_node(current_setting('cluster_name'), :'self');
SELECT pglogical.replication_set_add_table('default', 'photos');
