# Requests, answers and connections that are lost or late: if the answer to a grant is lost, the next request gets the
# same shard; the next worker repeats a release that did not arrive; a renewal that arrives after a release renews
# nothing. A proxy in front of the registry loses and delays them.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use Proxy;
use ShardidTest;

my $registry = new_registry('registry');
my $proxy = Proxy->new(on_loopback($registry));
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '10 min')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '20s'\nshardid.registry_timeout = '10s'\n");
connect_to_registry($member, $registry, 'postgres', host => '127.0.0.1', port => $proxy->port);

sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub as_app { return (error_of($member, 'postgres', "SET ROLE app; $_[0]")) }
sub held { return $registry->safe_psql('postgres', q(SELECT coalesce(string_agg(shard::text, ' ' ORDER BY shard), '') FROM shardid_lease.id_space_shards WHERE state = 'held')) }
sub state_there { return $registry->safe_psql('postgres', "SELECT state FROM shardid_lease.id_space_shards WHERE shard = $_[0]") }
sub state_here { return on_member("SELECT state FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }

sub make { on_member("SET ROLE app; CREATE SEQUENCE $_[0]"); return $_[0]; }
sub ask_for { return "SELECT shardid_lease.lease_shard('ids', 'registry', '$_[0]'" . (defined $_[1] ? ", $_[1]" : '') . ')' }

# --- lease_shard(), of any shard and of a given one. %granted_by: whether the registry grants it in this mode.

my %granted_by = (cut_before => 0, cut_after => 1, refuse => 0);
my @expected;
my $next = 0;
for my $mode (sort keys %granted_by)
{
	for my $shard (undef, 100 + $next)
	{
		my $generator = make("${mode}_" . (defined $shard ? 'named' : 'any'));
		my $ours = $shard // $next++;
		$proxy->mode($mode);
		my $error = as_app(ask_for($generator, $shard));
		like($error, qr/ERROR:  \w+: .*\n?.*(Could not reach the registry|did not answer)/, "$generator: the error says that the registry was not reached");
		unlike($error, qr/registry says/, "$generator: and not that it said so");
		is(scalar(grep { $_ == $ours } split / /, held()), $granted_by{$mode}, "$generator: granted there $granted_by{$mode} times");
		is(state_here($generator), 'joining', "$generator: is joining");
		like(on_member("SELECT next_id(4000, '$generator')"), qr/^\d+$/, "$generator: is drawn from as before");
		$proxy->mode('pass');
		is(on_member('SET ROLE app; ' . ask_for($generator, $shard)), $ours, "$generator: asked again, it has shard $ours");
		push @expected, $ours;
		is(held(), join(' ', sort { $a <=> $b } @expected), "$generator: and no other");
		is(on_member("SELECT id_shard(next_id(generator => '$generator'))"), $ours, "$generator: draws");
	}
}

# --- take_over_shard(): the answer is lost.

my $generator = 'cut_after_any';
my $shard = on_member("SELECT shard FROM shardid_lease.shard_leases WHERE generator = '$generator'::regclass");
$proxy->mode('cut_after');
like(as_app("SELECT shardid_lease.take_over_shard('$generator')"), qr/ERROR:  /, 'a takeover whose answer is lost');
$proxy->mode('pass');
is(on_member("SET ROLE app; SELECT shardid_lease.take_over_shard('$generator')"), $shard, 'asked again');
my $id = draw_one($member, $generator);
like($id, qr/^\d+$/, 'it draws');

# --- release_shard(): if the request is lost, the next worker repeats it; if the answer is lost, it is released.

for my $mode (sort keys %granted_by)
{
	my $released = "${mode}_any";
	my $its_shard = on_member("SELECT shard FROM shardid_lease.shard_leases WHERE generator = '$released'::regclass");
	draw_one($member, $released);
	$proxy->mode($mode);
	like(as_app("SELECT shardid_lease.release_shard('$released')") . slurp_file($member->logfile), qr/WARNING:  /, "release, $mode: a warning");
	is(state_here($released), 'sealed', "release, $mode: sealed");
	like(draw_one($member, $released), qr/55000: .*has released its lease/, "release, $mode: draws nothing");
	is(state_there($its_shard), $granted_by{$mode} ? 'released' : 'held', "release, $mode: there");
	$proxy->mode('pass');
	cmp_ok(on_member('SET ROLE app; SELECT shardid_lease.renew_leases()'), '>=', 1, 'the worker of another generator');
	is(state_there($its_shard) . ' ' . state_here($released), 'released released', "release, $mode: told again");
}

# --- A renewal that arrives after a later release, and one whose answer does.

$generator = 'cut_after_named';
$shard = on_member("SELECT shard FROM shardid_lease.shard_leases WHERE generator = '$generator'::regclass");
for my $mode ('late_request 6000', 'late_answer 6000')
{
	my $requests = () = $proxy->requests;
	$proxy->mode($mode);
	# A worker that gives up while its message is still under way.
	error_of($member, 'postgres', "SET shardid.lease_timeout = '1s'; SELECT setval('$generator', 1); SELECT next_id(generator => '$generator')");
	ok(wait_until(sub { my $now = () = $proxy->requests; $now > $requests }, 30), "$mode: a renewal is sent");
	$member->safe_psql('postgres', q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'shardid lease'));
	$proxy->mode('pass');
	on_member("SET ROLE app; SELECT shardid_lease.release_shard('$generator')");
	is(state_there($shard) . ' ' . state_here($generator), 'released released', "$mode: released meanwhile");
	ok(wait_until(sub { $proxy->links == 0 }, 60), "$mode: it has arrived");
	is(state_there($shard) . ' ' . state_here($generator), 'released released', "$mode: and stays so");
	is(on_member('SET ROLE app; ' . ask_for($generator, $shard)), $shard, "$mode: leased anew");
	my $later = draw_one($member, $generator);
	cmp_ok($later, '>', $id, "$mode: and draws");
	$id = $later;
}

no_id_comes_twice('lost and late messages');
$_->stop for $member, $registry;
done_testing();
