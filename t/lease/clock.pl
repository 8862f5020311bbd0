# A restored registry grants only windows after all earlier ones, even if its clock is behind, or if clocks that were
# ahead made grants that it has forgotten: they begin after the highest window that it knows and the newest grant that
# its owner names. It grants nothing to a member whose clock is more than max_ahead ahead of its own.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use File::Path qw(remove_tree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
my %node;

# Each server has a clock of its own.
sub set_clock { set_fake_clock("$dir/$_[0]", $_[1]); return; }

sub start
{
	my ($name) = @_;
	set_clock($name, '+0');
	with_fake_clock("$dir/$name", sub { start_again($node{$name}) });
	return;
}
for my $name (qw(registry a b))
{
	set_clock($name, '+0');
	with_fake_clock("$dir/$name", sub { $node{$name} = new_node($name, "autovacuum = off\nshardid.max_lead = '10d'\n", allows_streaming => 1) });
}
sub on { return $node{ $_[0] }->safe_psql('postgres', $_[1]) }
on('registry', 'CREATE EXTENSION shardid_lease CASCADE');
on($_, <<SQL) for qw(a b);
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '@{[ $node{registry}->host ]}', port '@{[ $node{registry}->port ]}');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SQL

sub keep
{
	$node{registry}->stop;
	remove_tree("$dir/kept");
	system_or_bail('cp', '-a', $node{registry}->data_dir, "$dir/kept");
	start('registry');
	return;
}

# Recovers the registry to that state, in the same directory.
sub restore
{
	my $data = $node{registry}->data_dir;
	$node{registry}->stop('immediate');
	remove_tree($data, { keep_root => 1 });
	system_or_bail('cp', '-a', "$dir/kept/.", $data);
	append_to_file("$data/recovery.signal", '');
	append_to_file("$data/postgresql.auto.conf", "restore_command = 'false'\n");
	start('registry');
	$node{registry}->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	return;
}

# A bound of the window, in milliseconds since 1970.
sub window
{
	my ($name, $space, $end) = @_;
	return on($name, "SELECT (extract(epoch FROM \"$end\") * 1000)::bigint FROM shardid_lease.shard_leases WHERE space = '$space'");
}

sub lease_there
{
	my ($name, $case) = @_;
	my $space = $case->{space};
	on($name, "CREATE SEQUENCE IF NOT EXISTS $space");
	return error_of($node{$name}, 'postgres', "SELECT shardid_lease.lease_shard('$space', 'registry', '$space', $case->{shard})");
}

# Draws many ids in one statement, and puts them on the account.
sub draw
{
	my ($name, $space) = @_;
	all_ids([ split /\n/, on($name, "SELECT next_id(generator => '$space') FROM generate_series(1, 20000)") ]);
	return;
}

# Member a leases a shard while its clock and the registry's are "ahead". Then the registry is restored, with its clock
# "behind": it has forgotten the grant, or (known) only a renewal. Then member b gets that shard.
my @cases = (
	{ space => 'forgotten', known => 0, ahead => '+0', behind => '-90m', newest_grant => 'clock_timestamp() + interval \'90 min\'', refuses_b => 1 },
	{ space => 'known', known => 1, ahead => '+0', behind => '-90m', newest_grant => 'NULL', refuses_b => 1 },
	{ space => 'less_behind', known => 0, ahead => '+0', behind => '-50m', newest_grant => 'clock_timestamp() + interval \'50 min\'' },
	{ space => 'was_ahead', known => 0, ahead => '+3h', behind => '+0', newest_grant => 'clock_timestamp() + interval \'3 h 1 min\'' },
	{ space => 'known_ahead', known => 1, ahead => '+3h', behind => '+0', newest_grant => 'NULL' });
# Each case has a shard of its own, since there is one account of all ids.
$cases[$_]{shard} = $_ for 0 .. $#cases;
on('registry', "SELECT shardid_lease.create_id_space('$_->{space}', reclaim_after => '1 min')") for @cases;
for my $case (@cases)
{
	my $space = $case->{space};
	my $confirm = "SELECT shardid_lease.registry_was_restored(%s)";
	keep() unless $case->{known};
	set_clock($_, $case->{ahead}) for qw(registry a);
	is(lease_there('a', $case), 'no error', "$space: a has a shard");
	draw('a', $space);
	if ($case->{known})
	{
		keep();
		set_clock('registry', $case->{ahead});
		draw('a', $space);
	}
	my $until = window('a', $space, 'until');
	restore();
	set_clock('a', '+0');
	set_clock('registry', $case->{behind});
	on('registry', sprintf $confirm, $case->{newest_grant});
	# As the id space's owner does if a no longer exists.
	on('registry', "SELECT shardid_lease.evict_shard('$space', $case->{shard})") if $case->{known};
	if ($case->{refuses_b})
	{
		like(lease_there('b', $case), qr/ms ahead of the registry/, "$space: b is too far ahead of the clock that is behind");
		set_clock('registry', '+0');
	}
	is(lease_there('b', $case), 'no error', "$space: b has it now");
	cmp_ok(window('b', $space, 'from'), '>=', $until, "$space: in a window after a's");
	draw('b', $space);
	like(error_of($node{a}, 'postgres', "SELECT setval('$space', 1); SELECT next_id(generator => '$space')"), qr/ERROR:  55000: /, "$space: a has lost it");
	set_clock('registry', '+0');
}

no_id_comes_twice('a restored registry and wrong clocks');
$_->stop for values %node;
done_testing();
