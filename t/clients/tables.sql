-- The tables of the programs that do not create one themselves.
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT ids.next_id(), customer text);

CREATE SEQUENCE ids.visit_ids;
CREATE TABLE visits (
    id bigint PRIMARY KEY CHECK (id BETWEEN 0 AND 9007199254740991) DEFAULT
        ids.next_id(generator => 'ids.visit_ids', epoch => '2026-01-01 00:00+00', shard_bits => 5, sequence_bits => 7)
);

-- An id that a client must return with all its digits, and a sequence that is no generator.
INSERT INTO orders VALUES (4032112536055714817, 'exact');
CREATE SEQUENCE invoice_numbers;
