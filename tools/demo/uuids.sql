SELECT u AS uuid, ids.uuid_v1_timestamp(u), baseline.uuid_v1_timestamp(u) AS published
FROM ids.uuid_v1_from('2026-11-21 12:00:00.123455+00', 666, '44:88:99:36:57:32') u;
