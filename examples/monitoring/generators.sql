-- The generators of this database, one row each. A generator is a sequence with a layout that this role can read.
WITH sequences AS MATERIALIZED (
    SELECT oid FROM pg_class
    WHERE CASE WHEN relkind = 'S' AND relpersistence = 'p' THEN has_sequence_privilege(oid, 'SELECT') END),
generators AS (
    SELECT q.oid::regclass AS generator, l.*
    FROM sequences q, LATERAL id_generator_layout(q.oid) l
    WHERE l.epoch IS NOT NULL),
defaults AS (
    SELECT a.adrelid AS relid,
           (regexp_match(pg_get_expr(a.adbin, a.adrelid), 'next_id\(([0-9]+)'))[1] AS shard,
           coalesce((SELECT d.refobjid
                     FROM pg_depend d JOIN pg_class c ON c.oid = d.refobjid AND c.relkind = 'S'
                     WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
                         AND d.refclassid = 'pg_class'::regclass),
                    'shardid_seq'::regclass) AS generator
    FROM pg_attrdef a
    WHERE EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
                      AND d.refclassid = 'pg_proc'::regclass
                      AND d.refobjid IN ('next_id(regclass, timestamptz, int, int)'::regprocedure,
                                         'next_id(int, regclass, timestamptz, int, int)'::regprocedure))),
filled AS (
    SELECT generator, sum(pg_stat_get_tuples_inserted(relid)) AS rows
    FROM (SELECT generator, relid FROM defaults
          UNION SELECT generator, t.relid FROM defaults d, pg_partition_tree(d.relid) t) r
    GROUP BY generator)
SELECT format('%I.%I', n.nspname, c.relname) AS generator,
       coalesce((SELECT string_agg(DISTINCT d.shard, ',') FROM defaults d WHERE d.generator = g.generator),
                nullif(current_setting('shardid.shard_id', true), '-1'), '') AS shard,
       coalesce(extract(epoch FROM s.lead), 'NaN')::float8 AS lead_seconds,
       s.ids_until_negative::float8 AS ids_until_negative,
       (extract(epoch FROM s.negative_at) - k.now)::float8 AS seconds_until_negative,
       s.ids_until_end::float8 AS ids_until_end,
       (extract(epoch FROM s.end_at) - k.now)::float8 AS seconds_until_end,
       coalesce(f.rows, 0)::float8 AS rows_inserted
FROM generators g
     JOIN pg_class c ON c.oid = g.generator
     JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN filled f ON f.generator = g.generator,
     LATERAL id_generator_status(g.generator, g.epoch, g.shard_bits, g.sequence_bits) s,
     LATERAL (SELECT extract(epoch FROM clock_timestamp()) + greatest(extract(epoch FROM s.lead), 0) AS now) k
ORDER BY 1
