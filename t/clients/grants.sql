-- What a role needs that inserts orders, and nothing else.
GRANT INSERT, SELECT ON orders TO app;
GRANT USAGE ON SEQUENCE ids.order_ids TO app;
