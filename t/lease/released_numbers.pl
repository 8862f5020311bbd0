# A generator that has released its shard leases any number that is free, also one that it had before, and so does a
# copy of it. A request of a lease that has ended never makes a released shard held. And lease_shard() warns where
# shardid.shard_id is set to the number: other generators would generate ids with it.
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

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids')));
use_registry($registry, 'ids');
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '10s'\n");
$member->safe_psql('postgres', 'CREATE DATABASE shop');
connect_to_registry($member, $registry, 'shop');

# Each returns the result, or the error.
sub in_db
{
	my ($status, $result, $error) = $member->psql($_[0], "SET ROLE app; SELECT shardid_lease.$_[1]", on_error_stop => 1);
	return $status ? $error : $result;
}
sub error_in { return error_of($member, $_[0], "SET ROLE app; SELECT shardid_lease.$_[1]") }
sub leases { my ($db, $generator, $shard) = @_; return in_db($db, "lease_shard('ids', 'registry', '$generator', $shard)") }
sub not_free { my ($db, $generator, $shard) = @_; return error_in($db, "lease_shard('ids', 'registry', '$generator', $shard)") }
sub draws { my ($db, $generator) = @_; my $id = draw_one($member, $generator, dbname => $db); return $id =~ /^\d+$/ ? ($id >> 10) % 8192 : $id }

# --- To and fro.

$member->safe_psql('shop', 'SET ROLE app; CREATE SEQUENCE a; CREATE SEQUENCE b');
for my $shard (0, 5, 0, 5, 0)
{
	is(leases('shop', 'a', $shard), $shard, "a leases $shard");
	is(draws('shop', 'a'), $shard, 'and generates ids of it');
	like(not_free('shop', 'b', $shard), qr/ERROR:  55006: .*is held by/s, 'b cannot have it');
	in_db('shop', q(release_shard('a')));
	is(state_of($shard), 'released', 'released');
}
is(leases('shop', 'b', 0), 0, 'now b can');
like(not_free('shop', 'a', 0), qr/ERROR:  55006: .*is held by/s, 'and a cannot');
is(draws('shop', 'b'), 0, 'it has the ids');
in_db('shop', q(release_shard('b')));
is(leases('shop', 'a', 0), 0, 'a again');
is(in_db('shop', q(lease_shard('ids', 'registry', 'b'))), 1, 'b the lowest that is free');
my @ids = map { draw_one($member, 'a', dbname => 'shop') } 1 .. 3;
cmp_ok($ids[0], '<', $ids[2], 'ids go on');

# --- A copy, next to its original.

$member->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE shop');
in_db('copy', q(release_shard('a')));
like(not_free('copy', 'a', 0), qr/ERROR:  55006: .*is held by/s, "a copy that has released gets not its original's shard");
is(draws('shop', 'a'), 0, 'the original goes on');
in_db('shop', q(release_shard('a')));
is(leases('copy', 'a', 0), 0, 'when that has released it, it does');
is(draws('copy', 'a'), 0, 'and generates ids');
like(not_free('shop', 'a', 0), qr/ERROR:  55006: .*is held by/s, 'the original not any more');
is(leases('shop', 'a', 7), 7, 'it gets another one');
in_db('copy', q(release_shard('b')));
like(not_free('copy', 'b', 1), qr/ERROR:  55006: .*is held by/s, 'nor by a second generator');

# --- A request to lease that arrives late, once or after other leases; with the receipt that it had, or a later one.

my $first = server(origin => 'first', lease => 'first', place => 'l', incarnation => 'l1', shard => 100);
my %joins = %$first;
ok(granted($first, joins => 1), 'a lease');
my %joined = %$first;
ok(granted({%joins}, joins => 1), 'asked again, since the answer was lost: the same');
ok(give_back($first)->{ok}, 'released');
ok(give_back($first)->{ok}, 'and again, since the answer was lost');
ok(!granted({%$_}, joins => 1), 'a late request to lease it') for \%joins, \%joined, $first;
ok(!granted({%$_}), 'and to renew it') for \%joins, \%joined, $first;
is(state_of(100), 'released', 'leave it released');
my $second = { %$first, lease => 'second' };
ok(granted($second, joins => 1), 'the generator leases it again');
ok(!give_back({%joins})->{ok}, 'a late release does not end that');
granted({%joins}, joins => 1);
ok(granted($second), 'nor does a late request keep it from being renewed');
is(state_of(100), 'held', 'it is held');
ok(give_back($second)->{ok}, 'released');
# The registry knows the last lease only. A request of an earlier one then holds a shard that nobody uses: in a window of
# its own, until the owner evicts it.
my $until = $registry->safe_psql('postgres', 'SELECT until_ms FROM shardid_lease.granted_shard WHERE shard = 100');
my $stray = granted({%joins}, joins => 1);
cmp_ok($stray->{from}, '>=', $until, 'a request of the lease before that one has a window of its own');
$registry->safe_psql('postgres', q(SELECT shardid_lease.evict_shard('ids', 100)));

# The same of any shard: it was told to have shard $any.
my $any = server(origin => 'any', place => 'l', incarnation => 'l1');
my $shard = granted({%$any}, joins => 1)->{shard};
is(granted({%$any}, joins => 1)->{shard}, $shard, 'any shard: asked again, it has the same');
ok(give_back({ %$any, shard => $shard })->{ok}, 'released');
granted({%$any}, joins => 1);
is(state_of($shard), 'released', 'a late request leaves it released');

# --- shardid.shard_id.

sub warned { return ($member->psql('shop', "\\set VERBOSITY verbose\n$_[0]\nSELECT shardid_lease.lease_shard('ids', 'registry', '$_[1]', $_[2])"))[2] }
$member->safe_psql('shop', "CREATE SEQUENCE w$_; ALTER SEQUENCE w$_ OWNER TO app") for 0 .. 3;
unlike(warned('SET ROLE app;', 'w0', 200), qr/WARNING/, 'no warning without the setting');
unlike(warned('SET shardid.shard_id = 5; SET ROLE app;', 'w1', 201), qr/WARNING/, 'nor with another number');
like(warned('SET shardid.shard_id = 202; SET ROLE app;', 'w2', 202), qr/WARNING: .*shard.*HINT: /s, 'a warning if it is the one that is leased');
is(draws('shop', 'w2'), 202, 'which is leased');
$member->safe_psql('postgres', 'ALTER DATABASE shop SET shardid.shard_id = 203');
like(warned('SET ROLE app;', 'w3', 203), qr/WARNING: .*shardid\.shard_id/s, 'also if the database sets it');

no_id_comes_twice('shards that are released and leased again');
$_->stop for $member, $registry;
done_testing();
