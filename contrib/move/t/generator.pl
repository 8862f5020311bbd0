# contrib/move/move_shard.py moves the generator with its shard: its lease goes to the target, and comes back where the target
# cannot reach the registry; ids of another layout continue if it is named.
use Mover;
use ShardidTest;

start_with_shard_on('north');

# --- A leased generator: the lease moves with the shard, and comes back where the target cannot have it.

on('north', 'CREATE DATABASE registry');
$node{north}->safe_psql('registry', q(CREATE EXTENSION shardid_lease CASCADE; SELECT shardid_lease.create_id_space('shop')));
my ($host, $port) = ($node{north}->host, $node{north}->port);
on($_, <<"SQL") for sort keys %node;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SQL
is(on('north', q(SELECT shardid_lease.lease_shard('shop', 'registry', 'shard5.ids', 5))), 5, 'the generator leases its shard');
my $leased = on('north', $draw);
moves('copy', 'north', 'south');
is(answer('south', $draw), 'ERROR:  42P01', 'an early draw is refused');
on('south', q(ALTER SERVER registry OPTIONS (SET port '1')));
stops(qr/could not/i, 'a target that does not reach the registry', 'switch', 'north', 'south');
cmp_ok(my $again = on('north', $draw), '>', $leased, 'the source has its lease again');
on('south', "ALTER SERVER registry OPTIONS (SET port '$port')");
moves('finish', 'north', 'south');
like($said, qr/leased +ids: shard 5 of shop/, 'the lease has moved');
cmp_ok(on('south', $draw), '>', $again, 'the target draws above the source');
is(on('south', q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state = 'held')), 1, 'with its lease');
moves('finish', 'south', 'north');
like(on('north', $insert), qr/^\d+$/, 'and back');
on('north', q(SELECT shardid_lease.release_shard('shard5.ids'); DROP EXTENSION shardid_lease CASCADE));

# --- Another layout.

on('north', <<'SQL');
DROP SCHEMA shard5 CASCADE;
CREATE SCHEMA shard5;
CREATE SEQUENCE shard5.ids;
CREATE TABLE shard5.t (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids', '2024-01-01 00:00+00', 4, 8));
INSERT INTO shard5.t DEFAULT VALUES;
SQL
stops(qr/another layout.*--layout/, 'a layout that is not named', 'switch', 'north', 'south');
moves('finish', 'north', 'south', '--layout', "'2024-01-01 00:00+00', 4, 8");
is(on('south', 'INSERT INTO shard5.t DEFAULT VALUES RETURNING id > (SELECT max(id) FROM shard5.t)'), 't', 'a layout that is named goes on');

stop_servers();
done_testing();
