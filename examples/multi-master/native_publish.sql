-- The table by its name. FOR ALL TABLES would send the tables of shardid_lease, too, which say what this server holds.
CREATE PUBLICATION photos FOR TABLE photos;
