-- The leased generators of this database, one row each.
SELECT format('%I.%I', n.nspname, c.relname) AS generator,
       l.space, coalesce(l.shard::text, '') AS shard, l.state,
       CASE WHEN l.state IN ('held', 'not held')
            THEN coalesce(greatest(extract(epoch FROM l.until - clock_timestamp()), 0), 0)
            ELSE 'NaN' END::float8 AS seconds_left,
       (l.failed_at IS NOT NULL)::int::float8 AS renewal_failed,
       coalesce(l.error LIKE 'The registry says: %', false)::int::float8 AS registry_refuses
FROM shardid_lease.shard_leases l
     JOIN pg_class c ON c.oid = l.generator
     JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY 1
