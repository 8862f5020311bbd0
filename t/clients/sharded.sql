-- A table whose rows carry the number of their logical shard, which the database takes from another column.
CREATE TABLE photos (id bigint PRIMARY KEY, user_id bigint NOT NULL, name text);

CREATE FUNCTION set_photo_id() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN NEW.id := ids.next_id((NEW.user_id % 2000)::int); RETURN NEW; END';
CREATE TRIGGER set_id BEFORE INSERT ON photos FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION set_photo_id();
ALTER TABLE photos ADD CHECK (ids.id_shard(id) = user_id % 2000);
