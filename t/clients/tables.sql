-- The tables of the programs that do not create one themselves.
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_order_id(), customer text);

CREATE TABLE visits (id bigint PRIMARY KEY DEFAULT next_visit_id() CHECK (id BETWEEN 0 AND 9007199254740991));

-- An id that a client must return with all its digits, and a sequence that is no generator.
INSERT INTO orders VALUES (4032112536055714817, 'exact');
CREATE SEQUENCE invoice_numbers;
