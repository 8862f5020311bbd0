-- No forwarded origins: what came from the other node does not go back to it.
SELECT pglogical.create_subscription(:'subscription', :'other', ARRAY['default'],
    synchronize_structure => false, synchronize_data => false, forward_origins => ARRAY[]::text[]);
SELECT pglogical.wait_for_subscription_sync_complete(:'subscription');
