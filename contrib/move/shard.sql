-- A logical shard, as Instagram has them: a schema with its own generator, and tables that draw from it.
CREATE SCHEMA shard5;
CREATE SEQUENCE shard5.ids;
CREATE TABLE shard5.photos (
    id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids') CHECK (id_shard(id) = 5),
    name text NOT NULL);
CREATE TABLE shard5.tallies (slot int PRIMARY KEY, photos bigint NOT NULL DEFAULT 0);
INSERT INTO shard5.tallies SELECT generate_series(0, 15);
CREATE TABLE shard5.events (
    number bigserial PRIMARY KEY,
    photo bigint NOT NULL REFERENCES shard5.photos);
