-- What docs/clients.md proposes: the extension and the generators in a schema of their own, and a function for each
-- generator.
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;

CREATE SEQUENCE ids.order_ids;
CREATE FUNCTION next_order_id() RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN ids.next_id(5, 'ids.order_ids');

CREATE SEQUENCE ids.visit_ids;
CREATE FUNCTION next_visit_id() RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN ids.next_id(5, 'ids.visit_ids', shard_bits => 5, sequence_bits => 7);
