# contrib/move/move_shard.py in every state. It says what it cannot move, and changes nothing. Told to end, it opens the source
# again; killed, it says that nobody can write, and another mover undoes or finishes the move: a locked marker on the target
# keeps it in that state. The generator moves with its shard: its lease goes to the target, and comes back where the target
# cannot reach the registry; ids of another layout continue if it is named.
use Mover;
use ShardidTest;

# For the lease, whose requests are then patient as well.
$ShardidTest::has_own_identifier = 1;
start_with_shard_on('north');
on($_, 'CREATE DATABASE other; CREATE ROLE keeper; CREATE ROLE "Admin" SUPERUSER LOGIN') for sort keys %node;
on('north', <<'SQL');
CREATE TABLE shard5."Odd ""one""" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "select" text UNIQUE);
INSERT INTO shard5."Odd ""one""" ("select") VALUES ('%s'), (NULL);
CREATE TABLE shard5.parts (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids'), n int) PARTITION BY RANGE (id);
CREATE TABLE shard5.parts_past PARTITION OF shard5.parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE shard5.parts_rest PARTITION OF shard5.parts DEFAULT;
INSERT INTO shard5.parts (n) SELECT generate_series(1, 5);
INSERT INTO shard5.parts VALUES (1, 1);
CREATE TABLE shard5.keyless (a int);
CREATE UNLOGGED TABLE shard5.unlogged (a int PRIMARY KEY);
CREATE TABLE shard5.of_another (a int PRIMARY KEY);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER always BEFORE INSERT ON shard5.of_another FOR EACH ROW EXECUTE FUNCTION tell();
ALTER TABLE shard5.of_another ENABLE ALWAYS TRIGGER always;
CREATE SEQUENCE shard5.mine_sealed;
CREATE TABLE outside (photo bigint REFERENCES shard5.photos, id bigint DEFAULT next_id(5, 'shard5.ids'));
CREATE VIEW looks AS SELECT * FROM shard5.photos;
CREATE TYPE shard5.status AS ENUM ('a');
CREATE FUNCTION shard5.check_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION shard5.sees(int) RETURNS boolean IMMUTABLE RETURN true;
CREATE TABLE audit (id int CONSTRAINT sane CHECK (shard5.sees(id)), s shard5.status);
CREATE TRIGGER checks BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION shard5.check_row();
CREATE POLICY readers ON audit USING (shard5.sees(id));
CREATE INDEX by_sight ON audit (shard5.sees(id));
CREATE EXTENSION dblink SCHEMA shard5;
CREATE TABLE shard5.indexed (a int NOT NULL CONSTRAINT identity UNIQUE);
ALTER TABLE shard5.indexed REPLICA IDENTITY USING INDEX identity;
ALTER TABLE shard5.indexed DROP CONSTRAINT identity;
ALTER TABLE shard5.of_another OWNER TO keeper, ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE shard5.parts OWNER TO keeper, ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE shard5.parts_rest OWNER TO keeper;
CREATE MATERIALIZED VIEW shard5.album AS SELECT id FROM shard5.photos;
CREATE MATERIALIZED VIEW shard5.empty AS SELECT 1 AS a WITH NO DATA;
CREATE MATERIALIZED VIEW shard5.seen AS SELECT shard5.sees(1);
CREATE MATERIALIZED VIEW shard5.slow AS SELECT FROM pg_advisory_xact_lock(7);
CREATE TABLE shard5.shared (id bigint PRIMARY KEY DEFAULT next_id(5));
CREATE SEQUENCE numbers;
CREATE DOMAIN shard5.number AS bigint DEFAULT nextval('numbers');
SQL
stops(qr/keyless has no replica identity/, 'a shard with much that is unfit', 'switch', map { address($_) . ' user=Admin' } qw(north south));
like($said, $_, "$_") for qr/indexed has no replica identity/, qr/unlogged is not logged/, qr/of_another has a trigger "?always"?/, qr/mine_sealed has a name/, qr/shared uses no sequence of the schema/, qr/shard5.number uses no/,
  map { qr/$_, which does not move, depends on / } 'outside_photo_fkey.*', 'view public.looks', 'column id of .*outside', 'column s of .*audit', 'sane.*', 'policy readers.*', 'trigger checks.*', 'by_sight', 'dblink';
is($said =~ /of_another forces row-level security on keeper/ ? 'refused' : 'accepted', $node{south}->pg_version->major >= 16 ? 'refused' : 'accepted', 'FORCE ROW LEVEL SECURITY');
on('north', 'DROP TABLE outside, audit; DROP EXTENSION dblink; DROP VIEW looks; DROP DOMAIN shard5.number; DROP SEQUENCE numbers; DROP TABLE shard5.shared, shard5.indexed, shard5.keyless, shard5.unlogged, shard5.of_another; DROP SEQUENCE shard5.mine_sealed;
	CREATE OR REPLACE FUNCTION shard5.sees(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS "BEGIN RETURN EXISTS (SELECT FROM photos); END"' =~ tr/"/'/r);
stops(qr/another layout/, 'another layout than that of the generator', 'switch', 'north', 'south', '--layout', 'shard_bits => 4, sequence_bits => 8');
stops(qr/one server/, 'to the same server', 'switch', 'north', address('north', 'other'));
like($said, qr/schema public of the source and None/, 'and to a database without the extension');
stops(qr/^stopped +connection to server [^\n]*No such file or directory\n +status says/m, 'a server that does not answer, in one line',
	'switch', 'north', 'host=/nonexistent dbname=postgres');
stops(qr/^stopped +function [^\n]* does not exist\. No function [^\n]*\n +status says/m, 'an error of the server, in one line',
	'switch', 'north', 'south', '--layout', 'nonsense => 1');
stops(qr/no state of a move/, 'a shard that is nowhere', 'switch', address('north', 'other'), 'south');
moves('finish', 'north', 'south', '--dry-run');
like($said, qr/CREATE SUBSCRIPTION/, 'a dry run says what it would do');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_move')), 0, "$_: nothing was changed") for sort keys %node;
on('south', 'CREATE ROLE mallory; CREATE SCHEMA shard_move AUTHORIZATION mallory; CREATE VIEW shard_move.sealed AS SELECT 1');
stops(qr/schema "shard_move" on the target does not belong to a superuser/, 'a schema that another role has made for it', 'switch', 'north', 'south');
on('south', 'DROP SCHEMA shard_move CASCADE; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC');
like(($node{south}->psql('postgres', slurp_file('contrib/move/seal.sql') =~ s/^CREATE SCHEMA.*//mr))[2], qr/does not belong to a superuser/, 'nor one that it drops meanwhile');

# --- While it is copied.

on('north', $insert) for 1 .. 3;
my $pooled = session('north');
talk($pooled, 'CREATE TEMP TABLE stage (s shard5.status); CREATE TEMP TABLE child () INHERITS (shard5.events);');
moves('copy', 'north', 'south');
like($said, qr/note +relation "photos" does not exist: .*REFRESH MATERIALIZED VIEW "shard5"."seen"$/m, 'a view that cannot be refreshed is said');
like($said, qr/note +default privileges of the mover's role/, 'what default privileges give on the shard is said');
is(on('south', q(SELECT has_schema_privilege('mallory', 'shard_move', 'USAGE'))), 'f', 'what default privileges give does not open a seal');
on('north', $insert);
is(answer_of('south', $insert), 'ERROR:  25006', 'an early writer is refused on the target');
is(answer_of('south', $draw), 'ERROR:  42P01', 'and who draws');
stops(qr/the right way round/, 'from and to exchanged', 'switch', 'south', 'north');
stops(qr/another source/, 'a move from another database', 'switch', address('north', 'other'), 'south');
on('north', 'ALTER TABLE shard5.photos ADD note text');
stops(qr/column note/, 'a column more on the source', 'switch', 'north', 'south');
on('south', 'ALTER TABLE shard5.photos ADD note text');
on($_, 'CREATE TABLE shard5.late (a int PRIMARY KEY)') for sort keys %node;
stops(qr/not replicated: late/, 'a table more on both', 'switch', 'north', 'south');
on($_, 'DROP TABLE shard5.late') for sort keys %node;

# --- A mover that is killed while the shard is sealed: what the target's table does not let in keeps it waiting.

sub kill_sealed
{
	my ($signal) = @_;
	my $gate = hold_marker('south');
	my $mover = start_mover('switch', 'north', 'south');
	$node{north}->poll_query_until('postgres', 'SELECT count(*) = 1 FROM shard_move.sealed') or die;
	$mover->signal($signal);
	$mover->finish;
	return $gate;
}
my $gate = kill_sealed('TERM');
mover('status', 'north', 'south');
like($said, qr/^state +copying$/m, 'state: copying');
is(on('north', $insert) > 0, 1, 'who is told to end opens the source again');
close_session($gate);
$gate = kill_sealed('KILL');
mover('status', 'north', 'south');
like($said, qr/NOBODY CAN WRITE/, 'who is killed does not: status says so');
stops(qr/another target/, 'a move to another database', 'switch', 'north', address('south', 'other'));
close_session($gate);
on('north', <<'SQL');
CREATE FUNCTION public.left(name, int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'left'; END $$;
CREATE FUNCTION public.planted(name, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
CREATE OPERATOR public.~~ (LEFTARG = name, RIGHTARG = name, FUNCTION = public.planted);
SQL
is(on('north', 'BEGIN; SELECT shard_move.open(shard, seal) FROM shard_move.sealed; ROLLBACK'),
	'', "a DBA opens it by hand, and calls nothing of other roles'");
on('north', 'DROP OPERATOR public.~~ (name, name); DROP FUNCTION public.left, public.planted');
moves('undo', 'north', 'south');
is(on('north', $insert) > 0, 1, 'undone: the source takes writes');
is(on('north', "SELECT count(*) FROM pg_trigger WHERE tgname = '!sealed'"), 0, 'and has no trigger');
moves('copy', 'north', 'south');
$gate = kill_sealed('KILL');
on('north', q(ALTER TABLE shard5.tallies ADD late text DEFAULT 'a'));
close_session($gate);
stops(qr/unsealed +the source.*tallies column late /s, 'a column more since the seal', 'switch', 'north', 'south');
on('north', 'ALTER TABLE shard5.tallies DROP late');
my %session = map { $_ => session('south') } qw(refresh apply);
talk($session{refresh}, 'SELECT pg_advisory_lock(7);');
my $mover = start_mover('switch', 'north', 'south');
$node{south}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted))) or die;
talk($session{apply}, 'BEGIN; LOCK TABLE shard5.photos IN EXCLUSIVE MODE;');
on('north', "$insert SELECT pg_logical_emit_message(true, '', repeat('x', 2 << 20))");
close_session($session{refresh});
$said = '';
$mover->pump until $said =~ /^\S+  (?:copying|sealed)/m || !$mover->pumpable;
like($said, qr/; [1-9]\d{3,} kB behind/, 'a target that falls behind during the refresh is waited for');
$mover->signal('TERM');
$mover->finish;
close_session($session{apply});
close_session(kill_sealed('KILL'));
moves('switch', 'north', 'south');
is(on('south', 'SELECT count(*), count(*) FILTER (WHERE tableoid = ' . q('shard5.parts_past'::regclass) . ') FROM shard5.parts'), '6|1', 'partitions have their rows');
is(on('south', q(SELECT string_agg(matviewname, ' ' ORDER BY matviewname), (SELECT count(*) FROM shard5.album) FROM pg_matviews WHERE ispopulated)),
	'album slow|' . on('north', 'SELECT count(*) FROM shard5.photos'), 'materialized views have their rows');
is(on('south', q(INSERT INTO shard5."Odd ""one""" ("select") VALUES ('three') RETURNING id)), 3, 'an identity goes on');
stops(qr/the target is open/, 'undo after the switch', 'undo', 'north', 'south');
on('north', 'ALTER TABLE shard5.tallies DISABLE TRIGGER "!sealed"');
stops(qr/taken the seal off shard5.tallies/, 'the old rows, without their seal', 'finish', 'north', 'south');
on('north', 'ALTER TABLE shard5.tallies ENABLE ALWAYS TRIGGER "!sealed"');
stops(qr/would drop more, .*- column s of table pg_temp_\d+.stage, .*- table pg_temp_\d+.child,/s, 'temporary tables', 'finish', 'north', 'south');
talk($pooled, 'DROP TABLE stage, child;');
close_session($pooled);
moves('finish', 'north', 'south') for 1 .. 2;

# --- A leased generator: the lease moves with the shard, and comes back where the target cannot have it.

on('north', 'CREATE DATABASE registry');
$node{north}->safe_psql('registry', q(CREATE EXTENSION shardid_lease CASCADE; SELECT shardid_lease.create_id_space('shop')));
my ($host, $port) = ($node{north}->host, $node{north}->port);
on($_, <<"SQL") for sort keys %node;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SQL
is(on('south', q(SELECT shardid_lease.lease_shard('shop', 'registry', 'shard5.ids', 5))), 5, 'the generator leases its shard');
my $leased = on('south', $draw);
moves('copy', 'south', 'north');
on('north', q(ALTER SERVER registry OPTIONS (SET port '1')));
stops(qr/could not/i, 'a target that does not reach the registry', 'switch', 'south', 'north');
cmp_ok(my $again = on('south', $draw), '>', $leased, 'the source has its lease again');
on('north', "ALTER SERVER registry OPTIONS (SET port '$port')");
moves('finish', 'south', 'north');
cmp_ok(on('north', $draw), '>', $again, 'the target draws above the source');
is(on('north', q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state = 'held')), 1, 'with its lease');

# --- A generator whose last operation was setval, and another layout.

on('north', <<'SQL');
SELECT shardid_lease.release_shard('shard5.ids');
DROP EXTENSION shardid_lease CASCADE;
DROP SCHEMA shard5 CASCADE;
CREATE SCHEMA shard5;
CREATE SEQUENCE shard5.ids;
CREATE TABLE shard5.t (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids', '2024-01-01 00:00+00', 4, 8));
INSERT INTO shard5.t DEFAULT VALUES;
SELECT setval('shard5.ids', last_value) FROM shard5.ids;
SQL
stops(qr/another layout.*--layout/, 'a layout that is not named', 'switch', 'north', 'south');
moves('finish', 'north', 'south', '--layout', "'2024-01-01 00:00+00', 4, 8");
is(on('south', 'INSERT INTO shard5.t DEFAULT VALUES RETURNING id > (SELECT max(id) FROM shard5.t)'), 't', 'a layout that is named goes on');

$_->stop for values %node;
done_testing();
