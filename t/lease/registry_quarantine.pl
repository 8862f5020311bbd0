# For one lease after registry_was_moved(), a registry that may lack the last grants gives no shard to a generator that
# does not have it, and no earlier window to one in another place; its holders go on as before.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use Requests;
use ShardidTest;

my $lease = 5;
my $conf = "autovacuum = off\nwal_keep_size = 64MB\n";
my $registry = new_registry('registry', $conf, allows_streaming => 1);
$registry->safe_psql('postgres', "SELECT shardid_lease.create_id_space('ids', lease => '$lease s', max_ahead => '10 min')");
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '4s'\n");
$member->safe_psql('postgres', 'CREATE DATABASE shop');
connect_to_registry($member, $registry, 'shop');

sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub error_in { return error_of($member, $_[0], "SET ROLE app; $_[1]") }
sub window_in { return $member->safe_psql($_[0], "SELECT extract(epoch FROM $_[2]) * 1000 FROM shardid_lease.shard_leases WHERE generator = '$_[1]'::regclass") }
sub is_renewed
{
	my ($what) = @_;
	my $before = window_in('shop', 'held', 'renewed_at');
	$member->safe_psql('shop', 'SET ROLE app; SELECT shardid_lease.renew_leases()');
	return cmp_ok(window_in('shop', 'held', 'renewed_at'), '>', $before, "$what: the holder renews at once");
}

is(lease($member, 'ids', 'held', dbname => 'shop'), 0, 'a lease');
is(lease($member, 'ids', 'given_back', dbname => 'shop'), 1, 'and another one');
$member->safe_psql('shop', "SET ROLE app; SELECT shardid_lease.release_shard('given_back'); CREATE SEQUENCE new");
draw_one($member, $_, dbname => 'shop') for 'held';
$member->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE shop');

# Imaginary servers, the last one of which is promoted after its lease has ended.
use_registry($registry, 'ids');
my %here = (shard => 20, origin => 'primary', place => 'primary', incarnation => 'p1');
my $primary = server(%here);
my $expired = granted($primary, joins => 1);

$registry->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($registry, 'base', has_streaming => 1);
$standby->start;
$registry->wait_for_catchup($standby);
wait_for_end($registry, 'postgres', 'ids', 20);
$registry->wait_for_catchup($standby);
$registry->stop('immediate');
$standby->promote;
$registry = $standby;
use_registry($registry, 'ids');
$member->safe_psql($_, "ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')") for 'shop', 'copy';

my $before = clock_of_registry();
on_registry('SELECT shardid_lease.registry_was_moved()');
is_renewed('moved');
my $error = error_in('shop', q(SELECT shardid_lease.lease_shard('ids', 'registry', 'new')));
like($error, qr/ERROR:  57P03: .*until \d/s, 'no shard for a new generator, and the error says until when');
like(error_in('shop', q(SELECT shardid_lease.lease_shard('ids', 'registry', 'new', 1))), qr/ERROR:  57P03: .*until \d/s, 'nor a given one');
is(error_in('shop', q(SELECT shardid_lease.renew_leases())), 'no error', 'that does not keep others from being renewed');

# Promoted, or taking over: the window begins after all that the lost registry can have granted.
my $epoch = on_registry(q(SELECT floor(extract(epoch FROM epoch) * 1000) FROM shardid_lease.id_space));
my $promoted = server(%here, place => 'standby', incarnation => 's1', timeline => 2);
my $inherited = granted($promoted);
ok($inherited, 'a promoted member has the shard at once');
cmp_ok($inherited->{from} + $epoch, '>=', $before + 1000 * $lease, 'in a window that begins a lease after the move, or later');
is($member->safe_psql('copy', q(SET ROLE app; SELECT shardid_lease.take_over_shard('held'))), 0, 'a takeover in another place, too');
cmp_ok(window_in('copy', 'held', '"from"'), '>=', $before + 1000 * $lease, 'likewise');
like(draw_one($member, 'held', dbname => 'copy'), qr/^\d+$/, 'it generates ids at once');

# Back, and after a restart in its place.
$member->safe_psql('shop', q(SET ROLE app; SELECT shardid_lease.take_over_shard('held')));
$member->restart;
like(draw_one($member, 'held', dbname => 'shop'), qr/^\d+$/, 'a restart in the same place');
is_renewed('after a restart');
$registry->restart;
is_renewed('after a restart of the registry');
my $still = error_in('shop', q(SELECT shardid_lease.lease_shard('ids', 'registry', 'new')));
SKIP:
{
	skip 'this machine was too slow for a lease', 1 if clock_of_registry() >= $before + 1000 * $lease;
	like($still, qr/ERROR:  57P03: /, 'all this within a lease: still no shard for a new generator');
}
ok(wait_until(sub { error_in('shop', q(SELECT shardid_lease.lease_shard('ids', 'registry', 'new', 1))) eq 'no error' }, 2 * $lease),
	'a lease later there is');
cmp_ok(clock_of_registry(), '>=', $before + 1000 * $lease, 'not earlier');
like(draw_one($member, 'new', dbname => 'shop'), qr/^\d+$/, 'and it generates ids');

no_id_comes_twice('a registry that has moved');
$_->stop for $member, $registry;
done_testing();
