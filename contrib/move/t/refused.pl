# contrib/move/move_shard.py says what it cannot move, and changes nothing: tables without a key, seals of others, another layout,
# the same server, exchanged servers, a table or column more than when the copy began; and early writers are refused.
use Mover;
use ShardidTest;

start_with_shard_on('north');
on('north', <<'SQL');
CREATE TABLE shard5.keyless (a int);
CREATE UNLOGGED TABLE shard5.unlogged (a int PRIMARY KEY);
CREATE TABLE shard5.of_another (a int PRIMARY KEY);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER always BEFORE INSERT ON shard5.of_another FOR EACH ROW EXECUTE FUNCTION tell();
ALTER TABLE shard5.of_another ENABLE ALWAYS TRIGGER always;
CREATE SEQUENCE shard5.mine_sealed;
CREATE TABLE outside (photo bigint REFERENCES shard5.photos, id bigint DEFAULT next_id(5, 'shard5.ids'));
CREATE VIEW looks AS SELECT * FROM shard5.photos;
SQL
on('north', $draw);
stops(qr/keyless has no replica identity/, 'a shard with much that is unfit', 'switch', 'north', 'south');
like($said, $_, "$_") for qr/unlogged is not logged/, qr/of_another has a trigger "?always"?/, qr/mine_sealed has a name/,
  qr/outside, which is elsewhere, has a key/, qr/looks, which is elsewhere, is a view/, qr/outside, which is elsewhere, has a default/;
on('north', 'DROP TABLE outside; DROP VIEW looks; DROP TABLE shard5.keyless, shard5.unlogged, shard5.of_another; DROP SEQUENCE shard5.mine_sealed');
stops(qr/another layout/, 'another layout than that of the generator', 'switch', 'north', 'south', '--layout', 'shard_bits => 4, sequence_bits => 8');
$node{north}->safe_psql('postgres', 'CREATE DATABASE other');
stops(qr/one server/, 'to the same server', 'switch', 'north', address('north', 'other'));
$node{south}->safe_psql('postgres', 'CREATE DATABASE other');
stops(qr/schema public of the source and None/, 'to a database without the extension', 'switch', 'north', address('south', 'other'));
stops(qr/^stopped +connection to server [^\n]*No such file or directory\n +status says/m, 'a server that does not answer, in one line',
	'switch', 'north', 'host=/nonexistent dbname=postgres');
stops(qr/^stopped +function [^\n]* does not exist\. No function matches[^\n]*\n +status says/m, 'an error of the server, in one line',
	'switch', 'north', 'south', '--layout', 'nonsense => 1');
stops(qr/no state of a move/, 'a shard that is nowhere', 'switch', address('north', 'other'), 'south');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_move')), 0, "$_: nothing was changed") for sort keys %node;
moves('finish', 'north', 'south', '--dry-run');
like($said, qr/CREATE SUBSCRIPTION/, 'a dry run says what it would do');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_move')), 0, "$_: and changes nothing") for sort keys %node;

on('south', 'CREATE ROLE mallory; CREATE SCHEMA shard_move AUTHORIZATION mallory; CREATE VIEW shard_move.sealed AS SELECT 1');
stops(qr/schema "shard_move" on the target does not belong to a superuser/, 'a schema that another role has made for it', 'switch', 'north', 'south');
on('south', 'DROP SCHEMA shard_move CASCADE');

# --- While it is copied.

on('north', $insert) for 1 .. 3;
state_is('open', 'north', 'south');
moves('copy', 'north', 'south');
state_is('copying', 'north', 'south');
on('north', $insert);
is(answer('south', $insert), 'ERROR:  25006', 'an early writer is refused on the target');
is(answer('south', $draw), 'ERROR:  42P01', 'and who draws');
stops(qr/the right way round/, 'from and to exchanged', 'switch', 'south', 'north');
stops(qr/another source/, 'a move from another database', 'switch', address('north', 'other'), 'south');
on('north', 'ALTER TABLE shard5.photos ADD note text');
stops(qr/column note/, 'a column more on the source', 'switch', 'north', 'south');
on('south', 'ALTER TABLE shard5.photos ADD note text');
on('north', 'CREATE TABLE shard5.late (a int PRIMARY KEY)');
on('south', 'CREATE TABLE shard5.late (a int PRIMARY KEY)');
stops(qr/not replicated: late/, 'a table more on both', 'switch', 'north', 'south');
on($_, 'DROP TABLE shard5.late') for sort keys %node;
moves('undo', 'north', 'south');
state_is('open', 'north', 'south');

stop_servers();
done_testing();
