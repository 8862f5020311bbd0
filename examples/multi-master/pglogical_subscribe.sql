-- No forwarded origins: rows from the other node are not sent back to it.
SELECT pglogical.create_subscription(:'subscription', :'other', ARRAY['default'],
    synchronize_structure => false, synchronize_data => false, forward_origins => ARRAY[]::text[]);
SELECT pglogical.wait_for_subscription_sync_complete(:'subscription');
