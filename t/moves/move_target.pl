# examples/move/move_shard.py and servers that lack something: the checks find it, a copy that does not progress says what its worker
# does, a lost server is one line, and shards of the same name in several databases move at the same time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Mover;

start_with_shard_on('north');

# --- Shards of one name.

on($_, 'CREATE DATABASE "Other"') for sort keys %node;
$node{$_}->safe_psql('Other', 'CREATE EXTENSION shardid') for sort keys %node;
$node{north}->safe_psql('Other', slurp_file('examples/move/shard.sql'));
my @other = map { address($_, 'Other') } qw(north south);
moves('copy', 'north', 'south');
moves('copy', @other);
like(on('north', q(SELECT string_agg(slot_name, ' ' ORDER BY database COLLATE "C") FROM pg_replication_slots)),
	qr/^move_shard5__ther_\w{12} move_shard5_postgres$/, 'slots have the names of their databases');
moves('finish', @other);
is($node{south}->safe_psql('Other', 'SELECT count(*) FROM shard5.tallies'), 16, 'the other shard has moved');
state_is('copying', 'north', 'south');
moves('undo', 'north', 'south');
is(on('north', 'SELECT count(*) FROM pg_replication_slots'), 0, 'and no slot is left');

stop_servers();
done_testing();
