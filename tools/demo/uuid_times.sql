-- For how many times bench/baseline.sql and uuid_v1_from build the same UUID, and how many of these each of
-- baseline.uuid_v1_timestamp and uuid_v1_timestamp reads wrongly.
SELECT count(*), count(*) FILTER (WHERE baseline.uuid_v1_timestamp(u) <> ts), count(*) FILTER (WHERE ids.uuid_v1_timestamp(u) <> ts)
FROM generate_series(0, 999) n,
     LATERAL (SELECT timestamptz '2026-11-21 12:00:00.123+00' + n * interval '1 microsecond') t (ts),
     ids.uuid_v1_from(ts, 666, '44:88:99:36:57:32') u
WHERE u = baseline.form_uuid_v1(ts, 666, '44:88:99:36:57:32');
