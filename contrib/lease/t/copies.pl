# While a lease runs, copies of its holder draw nothing, whatever was copied, and the holder continues; the next
# holder's ids are later than all ids before.
use LeaseDraws 'answered';
use ShardidTest;

# The registry is a database of the same server. The lease is longer than the test: a copy of the holder's window would
# remain usable.
my $node = new_node('holder', <<'CONF', allows_streaming => 1);
autovacuum = off
max_connections = 60
shardid_lease.timeout = '3s'
shardid_lease.registry_timeout = '3min'
CONF
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', <<SQL);
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', '10 min', max_ahead => '1 h');
CREATE DATABASE member;
\\connect member
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SQL
is($node->safe_psql('member', q(SELECT shardid_lease.lease_shard('ids', 'registry'))), 0, 'a shard is leased');

my @notes;

# Lets 4 sessions draw until the first $count places have ids; errors without a lease are no failure.
sub draw_on
{
	my ($count, @places) = @_;
	my @clients = map {
		start_clients($_->[0], 4, 'SELECT next_id() FROM generate_series(1, 20)',
			dbname => $_->[1], pause_ms => 10, tolerate => '55000,57P03')
	} @places;
	usleep 700_000;
	await_ids(@clients[ 0 .. $count - 1 ]);
	finish_clients($_, 1) for @clients;
	push @notes, map { @{ $_->{files} } } @clients;
	return map { judge_clients([$_], lead_ms => -1) } @clients;
}

sub refused_beside
{
	my ($what, $node_of_copy, $database) = @_;
	my ($holder, $copy) = draw_on(1, [ $node, 'member' ], [ $node_of_copy, $database ]);
	cmp_ok($holder->{ids}, '>', 0, "$what: the holder draws $holder->{ids} ids");
	is($holder->{violations}, 0, 'all of them right');
	is($copy->{ids}, 0, "$what draws none");
	my $error = answered(sub { return ($node_of_copy->psql($database, 'SELECT next_id()'))[2] });
	like($error, qr/shard 0 of id space "ids" (?:is|last) held by \S+, port $port, database "member"/, 'and is told whose it is');
	return;
}

draw_on(1, [ $node, 'member' ]);
for my $strategy ('wal_log', 'file_copy')
{
	$node->safe_psql('postgres', "CREATE DATABASE copied TEMPLATE member STRATEGY $strategy");
	refused_beside("a copy by CREATE DATABASE, $strategy", $node, 'copied');
	like($node->safe_psql('copied', q(SELECT shardid_lease.release_shard(); SELECT shardid_lease.lease_shard('ids', 'registry'); SELECT shardid_lease.release_shard())),
		qr/^\n[1-9]\d*\n$/, 'it gets another shard once it has released');
	$node->safe_psql('postgres', 'DROP DATABASE copied');
}

# The copies connect to the registry by a socket, which is still the original's.
$node->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
refused_beside('a copy by pg_basebackup', $copy, 'member');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$standby->promote;
refused_beside('a promoted standby', $standby, 'member');

# After take_over_shard() the standby has the shard, in a window after the old holder's. The old holder continues until
# the end of its window.
$standby->safe_psql('member', 'SELECT shardid_lease.take_over_shard()');
my ($old, $new) = draw_on(2, [ $node, 'member' ], [ $standby, 'member' ]);
cmp_ok($_->{ids}, '>', 0, "after a takeover $_->{ids} ids") for $old, $new;
is(judge_space(\@notes)->{violations}, 0, 'none twice after a takeover');
cmp_ok(
	$node->safe_psql('member', 'SELECT until FROM shardid_lease.shard_leases'),
	'le',
	$standby->safe_psql('member', 'SELECT "from" FROM shardid_lease.shard_leases'),
	'the new holder\'s window begins after the old one\'s');

# The generator is ahead of the clock now, and is moved back.
my $highest = $standby->safe_psql('member', 'SELECT next_id()');
for my $move (
	q(SELECT setval('shardid_seq', 1)),
	q(SELECT setval('shardid_seq', last_value - 2000000) FROM shardid_seq),
	'ALTER SEQUENCE shardid_seq RESTART')
{
	my ($told) = draw_on(1, [ $standby, 'member' ]);
	cmp_ok($told->{ids}, '>', 0, "$told->{ids} ids");
	$standby->safe_psql('member', $move);
	my $next = $standby->safe_psql('member', 'SELECT next_id()');
	cmp_ok($next, '>', $highest, "after $move ids go on");
	$highest = $next;
}
is(judge_space(\@notes)->{violations}, 0, 'none twice after moves');

# A shard that comes back to an earlier holder: the holder's old window is no longer valid.
$node->safe_psql('member', <<'SQL');
CREATE SEQUENCE first;
CREATE SEQUENCE second;
SELECT shardid_lease.lease_shard('ids', 'registry', 'first', 7);
SQL
my @told;
sub told_by
{
	push @told, split /\n/, $node->safe_psql('member', "SELECT next_id('$_[0]'::regclass) FROM generate_series(1, 3)");
	return;
}
told_by('first');
$node->restart;    # the windows are ahead of the clock from now on
told_by('first');
my $of_first = q(FROM shardid_lease.leased_generator WHERE shardid_lease.sequence_oid(generator) = 'first'::regclass);
my ($origin, $lease) = map { $node->safe_psql('member', "SELECT $_ $of_first") } 'origin', 'lease';
for my $hands ([qw(first second)], [qw(second first)], [qw(first second)])
{
	my ($from, $to) = @$hands;
	$node->safe_psql('member', <<SQL);
SELECT shardid_lease.release_shard('$from');
SELECT shardid_lease.lease_shard('ids', 'registry', '$to', 7);
SQL
	told_by($to);
}
is(scalar(grep { $told[$_] <= $told[ $_ - 1 ] } 1 .. $#told), 0, 'a shard that goes to and fro: each id is above the one before')
  or diag explain \@told;

# The origin stays the same: otherwise a member that is restored to a time before a release could not have its shard again.
# Each lease has another number, so that no late request of an earlier one is taken for one of it.
$node->safe_psql('member', q(SELECT shardid_lease.release_shard('second'); SELECT shardid_lease.lease_shard('ids', 'registry', 'first', 7)));
is($node->safe_psql('member', "SELECT origin $of_first"), $origin, 'a generator that releases its shard and leases it again has its origin');
isnt($node->safe_psql('member', "SELECT lease $of_first"), $lease, 'and another lease');

$_->stop for $copy, $standby, $node;
done_testing();
