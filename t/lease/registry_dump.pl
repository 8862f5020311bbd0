# A dump of the registry that is restored into the same database, in the same place, on the same timeline, does not know
# what was granted since: the registry grants nothing until registry_was_restored(), whoever asks first.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '3 s', max_ahead => '3 s')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '3s'\n");
connect_to_registry($member, $registry);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/registry';

sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', "SET ROLE app; $_[0]") }
sub draw { return draw_at_once(0.5, map { [ $member, 'postgres', $_ ] } @_) }

is(lease($member, 'ids', 'known'), 0, 'a lease');
is(lease($member, 'ids', 'released'), 1, 'and another one');
my $place = on_registry('SELECT shardid_lease.registry_place()');

my %ways = (
	custom => [ [ 'pg_dump', '-Fc', '-f', $dump ], [ 'pg_restore', '--clean', '--if-exists', '--exit-on-error', $dump ] ],
	plain => [ [ 'pg_dump', '--clean', '--if-exists', '-f', $dump ], [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $dump ] ]);
for my $way (sort keys %ways)
{
	my ($to_dump, $to_restore) = @{ $ways{$way} };
	system_or_bail(@$to_dump, '-d', $registry->connstr('postgres'));

	# Leased since, so that the dump has neither the shard nor the window.
	my $since = "since_$way";
	my $shard = lease($member, 'ids', $since);
	$member->safe_psql('postgres', 'SET ROLE app; SELECT shardid_lease.renew_leases()');
	draw('known', $since);
	system_or_bail(@$to_restore, '-d', $registry->connstr('postgres'));
	is(on_registry('SELECT shardid_lease.registry_place()'), $place, "$way: it is in the same place, on the same timeline");
	is(on_registry("SELECT count(*) FROM shardid_lease.granted_shard WHERE shard = $shard"), 0, "$way: it does not know shard $shard");

	# One that has nothing to prove asks first.
	my @drawing = map { start_drawing($member, $_) } 'known', $since;
	my $stranger = "stranger_$way";
	$member->safe_psql('postgres', "SET ROLE app; CREATE SEQUENCE $stranger");
	my $join = "SELECT shardid_lease.lease_shard('ids', 'registry', '$stranger')";
	my $error = error($join);
	like($error, qr/ERROR:  \w+: .*registry_was_restored\(/s, "$way: it grants nothing");
	draw($stranger) if $error eq 'no error';
	finish_drawing($_) for @drawing;
	like(error("SELECT shardid_lease.take_over_shard('known')"), qr/registry_was_restored\(/, "$way: no takeover");
	like(error_of($registry, 'postgres', q(SELECT shardid_lease.reserve_shard('ids', 9))), qr/ERROR:  55000: .*registry_was_restored\(/s,
		"$way: nor does it reserve a shard");

	on_registry('SELECT shardid_lease.registry_was_restored()');
	like(error($join), qr/no error/, "$way: restored, it grants");
	$member->safe_psql('postgres', 'SET ROLE app; SELECT shardid_lease.renew_leases()');
	my @ids = draw('known', $since, $stranger);
	cmp_ok(scalar(grep { $_ > 0 } @ids), '>=', 2, "$way: ids come: @ids");
	$member->safe_psql('postgres', "DROP SEQUENCE $_") for $stranger, $since;
}

no_id_comes_twice('dumps restored into the registry');
$_->stop for $member, $registry;
done_testing();
