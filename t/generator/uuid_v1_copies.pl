# Each copy of a database has a node of its own in UUIDs of version 1, other bytes in ObjectIds, and times above the
# original's: a dump and CREATE DATABASE ... TEMPLATE, each an hour behind. A promoted standby is the same database, until
# renew_identity().
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

$ShardidTest::has_own_identifier = 1;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('uuid_v1_copies', 'autovacuum = off', allows_streaming => 1) });
sub query { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

# Node, clock sequence, the five bytes of ObjectIds.
my $identity = q(SELECT uuid_v1_node(u), uuid_v1_clock_seq(u), substr(objectid(), 5, 5) FROM (SELECT uuid_v1() AS u OFFSET 0) s);
my @original = split /\|/, query($identity);

# The time of a UUID, and an ObjectId's second and counter, as texts that sort like them.
sub times_in
{
	my ($database) = @_;
	return split /\|/, query(<<'SQL', $database);
SELECT substr(uuid_v1_to_v6(uuid_v1())::text, 1, 18), encode(substr(id, 1, 4) || substr(id, 10), 'hex')
FROM (SELECT objectid() AS id OFFSET 0) s
SQL
}

sub is_another
{
	my ($database, $what) = @_;
	my @copy = split /\|/, query($identity, $database);
	isnt($copy[0], $original[0], "$what: node $copy[0] where the original has $original[0]");
	isnt($copy[2], $original[2], "$what: other bytes in ObjectIds");
	is(query($identity, $database), join('|', @copy), "$what: node and bytes stay the same");
	return;
}

sub continues_above
{
	my ($database, $what, @before) = @_;
	my @now = times_in($database);
	cmp_ok($now[$_], 'gt', $before[$_], "$what: times continue above the original's") for 0 .. 1;
	return;
}

my @before = times_in();
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", $node->connstr('postgres') ], 'dump');
query('CREATE DATABASE restored');
set_fake_clock($clock, '-1h');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$dir/dump" ], 'restore');
continues_above('restored', 'a dump restored an hour behind', @before);
is_another('restored', 'a dump restored');
set_fake_clock($clock, '+0');

for my $strategy ('wal_log', 'file_copy')
{
	query('CREATE DATABASE origin TEMPLATE postgres STRATEGY file_copy', 'template1') unless query(q(SELECT 1 FROM pg_database WHERE datname = 'origin'));
	@before = times_in('origin');
	@original = split /\|/, query($identity, 'origin');
	query("CREATE DATABASE copy TEMPLATE origin STRATEGY $strategy");
	set_fake_clock($clock, '-1h');
	continues_above('copy', "TEMPLATE, $strategy", @before);
	is_another('copy', "TEMPLATE, $strategy");
	set_fake_clock($clock, '+0');
	query('DROP DATABASE copy');
}

# A promoted standby is the same database: the same node, and its times continue.
@original = split /\|/, query($identity);
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('promoted');
$standby->init_from_backup($node, 'base', has_streaming => 1);
with_fake_clock($clock, sub { $standby->start });
my $primary = $node;
@before = times_in();
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
set_fake_clock($clock, '-1h');
$standby->promote;
$node = $standby;
continues_above('postgres', 'a standby promoted an hour behind', @before);
is(query($identity), join('|', @original), 'a standby promoted: the same node and bytes');

# If the original runs as well, the promoted standby needs another identity.
@before = times_in();
query('SELECT renew_identity()');
continues_above('postgres', 'renew_identity()', @before);
is_another('postgres', 'renew_identity()');
@original = split /\|/, query($identity);
query('BEGIN; SELECT renew_identity(); SELECT uuid_v1(), objectid(); ROLLBACK');
is(query($identity), join('|', @original), 'renew_identity() rolled back: the identity is as before');

$node->stop;
done_testing();
