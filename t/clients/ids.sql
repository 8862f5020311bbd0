-- What docs/clients.md recommends: the extension and the generators in a schema of their own, and a function for each
-- generator. Clients.pm replaces shop by the name of its database.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
ALTER DATABASE shop SET shardid.shard_id = 5;

CREATE SEQUENCE ids.order_ids;
CREATE FUNCTION next_order_id() RETURNS bigint LANGUAGE sql VOLATILE
RETURN ids.next_id('ids.order_ids'::regclass);

CREATE SEQUENCE ids.visit_ids;
CREATE FUNCTION next_visit_id() RETURNS bigint LANGUAGE sql VOLATILE
RETURN ids.next_id('ids.visit_ids'::regclass, '2026-01-01 00:00:00+00', shard_bits => 5, sequence_bits => 7);
