-- Renews 64 of the leases of bench/leases.py in one call, as a database with 64 generators; fails if one is left out.
\set n 64 * random(0, :leases / 64 - 1)
SELECT 1 / (count(*) FILTER (WHERE (a->>'ok')::boolean) = 64)::int
FROM (SELECT jsonb_agg(request || jsonb_build_object('clock', ms_now())) AS all_requests
      FROM requests WHERE n BETWEEN :n + 1 AND :n + 64) r,
     shardid_lease.grant_shards(all_requests) g, jsonb_array_elements(g) a;
