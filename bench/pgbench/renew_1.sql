-- Renews one of the leases of bench/leases.py; fails if it is not renewed.
\set n random(1, :leases)
SELECT 1 / (shardid_lease.grant_shards(jsonb_build_array(request || jsonb_build_object('clock', ms_now())))->0->>'ok')::boolean::int
FROM requests WHERE n = :n;
