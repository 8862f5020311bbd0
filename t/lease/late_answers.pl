# The answer to a renewal that comes late, when the generator has another owner, has released its shard and has leased
# another one, is not stored for that one: the shard's earlier holder may have generated ids in such a window.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Leases;
use Proxy;
use ShardidTest;

my $registry = new_registry('registry');
my $proxy = Proxy->new(on_loopback($registry));
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '40 s')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '20s'\nshardid.registry_timeout = '20s'\n");
connect_to_registry($member, $registry, 'postgres', host => '127.0.0.1', port => $proxy->port);
$member->safe_psql('postgres', <<'SQL');
CREATE ROLE heir LOGIN;
CREATE USER MAPPING FOR heir SERVER registry OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER registry TO heir;
GRANT CREATE ON SCHEMA public TO heir;
SQL

sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub as_heir { return on_member("SET ROLE heir; SELECT shardid_lease.$_[0]") }
sub window_of { return on_member("SELECT shard, \"from\", until FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }
sub row_of { return $registry->safe_psql('postgres', "SELECT until FROM shardid_lease.id_space_shards WHERE shard = $_[0]") }

# The shard's holder before generates all ids of the next $seconds; some of them are returned.
sub draw_ahead
{
	my ($shard, $seconds) = @_;
	lease($member, 'ids', "before_$shard", shard => $shard);
	my $ids = on_member(<<SQL);
SET shardid.max_borrow = '60s';
SELECT id FROM next_ids($shard, $seconds * 1024000, 'before_$shard') id WHERE id % 64 = 0;
SQL
	on_member("SET ROLE app; SELECT shardid_lease.release_shard('before_$shard')");
	return [ split /\n/, $ids ];
}

# Of both calls that make a renewal. Each generator is the only one of its owner, as in a renewal of its own.
my %shard_of = (grant_shards => 5, receipts => 6);
my $lowest = 0;
for my $function (sort keys %shard_of)
{
	my $shard = $shard_of{$function};
	my $generator = "of_$function";
	is(lease($member, 'ids', $generator), $lowest, "$function: a lease");
	draw_one($member, $generator);
	all_ids(draw_ahead($shard, 12));

	my $asked = () = $proxy->requests($function);
	$proxy->mode("late_answer 4000 $function");
	my $renewal = start_drawing($member, $generator, seconds => 1, settings => "SELECT shardid_lease.renew_now('$generator');");
	ok(wait_until(sub { my $now = () = $proxy->requests($function); $now > $asked }, 20), "$function: the renewal asks");
	usleep 200_000;
	$proxy->mode('pass');
	on_member("ALTER SEQUENCE $generator OWNER TO heir");
	as_heir("release_shard('$generator')");
	is(as_heir("lease_shard('ids', 'registry', '$generator', $shard)"), $shard, "$function: meanwhile another owner has leased shard $shard");
	my $window = window_of($generator);
	my $until = row_of($shard);
	like($window, qr/^$shard\|.*\|\Q$until\E$/, "$function: in the window that the registry has granted");
	cmp_ok($proxy->links, '>', 0, "$function: the answer has not arrived yet");
	ok(wait_until(sub { $proxy->links == 0 }, 20), "$function: it arrives");
	finish_drawing($renewal);
	is(window_of($generator), $window, "$function: and the window stays as it was");
	my ($ids) = draw_at_once(0.5, [ $member, 'postgres', $generator ]);
	cmp_ok($ids, '>', 0, "$function: $ids ids of shard $shard");
	is(row_of($shard) . $registry->safe_psql('postgres', "SELECT state FROM shardid_lease.id_space_shards WHERE shard = $lowest"),
		"${until}released", "$function: the first shard is released");
}

# The same lease, which its new owner has renewed meanwhile: the window of before does not come back.
sub serial { return on_member("SELECT w.serial FROM shardid_lease.lease_window w JOIN shardid_lease.leased_generator USING (origin) WHERE shardid_lease.sequence_oid(generator) = 'renewed'::regclass") }
lease($member, 'ids', 'renewed', shard => 9);
draw_one($member, 'renewed');
$member->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'shardid lease'") or die 'a worker does not end';
my $asked = () = $proxy->requests('receipts');
$proxy->mode('late_answer 4000 receipts');
my $renewal = start_drawing($member, 'renewed', seconds => 1, settings => "SELECT shardid_lease.renew_now('renewed');");
ok(wait_until(sub { my $now = () = $proxy->requests('receipts'); $now > $asked }, 20), 'the renewal asks');
usleep 200_000;
$proxy->mode('pass');
my $serial = serial();
on_member('ALTER SEQUENCE renewed OWNER TO heir');
as_heir("renew_now('renewed')");
ok(wait_until(sub { serial() > $serial }, 20), 'another owner renews the same lease');
my $window = window_of('renewed');
cmp_ok($proxy->links, '>', 0, 'the answer has not arrived yet');
ok(wait_until(sub { $proxy->links == 0 }, 20), 'it arrives');
finish_drawing($renewal);
is(window_of('renewed'), $window, 'and the window stays as it was');

no_id_comes_twice('answers to an earlier lease');
$proxy->mode('pass');
$_->stop for $member, $registry;
done_testing();
