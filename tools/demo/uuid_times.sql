-- Of how many times the recipe builds the UUID that uuid_v1_from builds, and how many of these are read wrong:
-- by the recipe, and by uuid_v1_timestamp.
SELECT count(*), count(*) FILTER (WHERE baseline.uuid_v1_timestamp(u) <> ts), count(*) FILTER (WHERE uuid_v1_timestamp(u) <> ts)
FROM generate_series(0, 999) n,
     LATERAL (SELECT timestamptz '2026-11-21 12:00:00.123+00' + n * interval '1 microsecond') t (ts),
     uuid_v1_from(ts, 666, '44:88:99:36:57:32') u
WHERE u = baseline.form_uuid_v1(ts, 666, '44:88:99:36:57:32');
