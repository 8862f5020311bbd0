-- The table by its name. FOR ALL TABLES would send the tables of shardid_lease, too, which the subscriber ignores.
CREATE PUBLICATION photos FOR TABLE photos;
