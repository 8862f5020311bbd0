# What the callers of the lease functions keep and see: their settings; a commit that is flushed all the same; errors
# that are valid UTF-8, with whole sentences; and next_id() of others, while a release waits for a transaction.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Encode ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use Leases;
use Requests;
use ShardidTest;

# The WAL writer sleeps: what is flushed, a commit has flushed.
my $registry = new_registry('registry', "autovacuum = off\nwal_writer_delay = 10s\n");
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids'); SELECT shardid_lease.create_id_space('dropped')));
use_registry($registry, 'ids');

# --- Settings.

my $granted = request_of(server(shard => 3), joins => 1);
my %calls = (
	create_id_space => q(SELECT shardid_lease.create_id_space('new')),
	drop_id_space => q(SELECT shardid_lease.drop_id_space('dropped')),
	reserve_shard => q(SELECT shardid_lease.reserve_shard('ids', 9, 'by hand')),
	unreserve_shard => q(SELECT shardid_lease.unreserve_shard('ids', 9)),
	grant_shards => "SELECT shardid_lease.grant_shards('$granted')",
	evict_shard => q(SELECT shardid_lease.evict_shard('ids', 3)),
	registry_was_moved => 'SELECT shardid_lease.registry_was_moved()',
	registry_was_restored => 'SELECT shardid_lease.registry_was_restored()',
	receipts => q(SELECT shardid_lease.receipts('[]')));
my @order = qw(create_id_space drop_id_space reserve_shard unreserve_shard grant_shards evict_shard registry_was_moved
  registry_was_restored receipts);
my $settings = q(SELECT current_setting('synchronous_commit'), current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('search_path'));
for my $call (@order)
{
	for my $given ('off|0|0|public', 'local|7s|8s|pg_catalog, public')
	{
		my ($commit, $lock, $statement, $path) = split /\|/, $given;
		my $set = "SET synchronous_commit = $commit; SET lock_timeout = '$lock'; SET statement_timeout = '$statement'; SET search_path = $path";
		my $said = $registry->safe_psql('postgres', "$set; BEGIN; $calls{$call}; $settings; ROLLBACK");
		like($said, qr/^\Q$given\E$/m, "$call() leaves the settings $given");
	}
	next if $call eq 'receipts';
	my $flushed = $registry->safe_psql('postgres', "SET synchronous_commit = off; $calls{$call}; SELECT 'flushed', pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()");
	like($flushed, qr/^flushed\|t$/m, "$call() is flushed all the same");
}

# --- Text.

my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '2s'\n");
connect_to_registry($member, $registry);
sub raw_error { return (error_of($member, 'postgres', "SET ROLE app; $_[0]")) }
sub is_whole
{
	my ($error, $what) = @_;
	ok(defined eval { Encode::decode('UTF-8', my $copy = $error, Encode::FB_CROAK) }, "$what: valid UTF-8") || diag $@;
	my @details = $error =~ /^DETAIL:  (.*)$/mg;
	unlike($_, qr/^(?![\p{Lu}\d"])/, "$what: the detail is a sentence") for @details;
	return scalar @details;
}
$member->safe_psql('postgres', 'SET ROLE app; CREATE SEQUENCE a; CREATE SEQUENCE b');
my $shard = 10;
# Letters of two and of three bytes, which a cut at any byte splits in one of them.
for my $comment ('é', 'é' x 300, (map { 'x' x $_ . 'é' x 3000 } 0, 1), (map { 'x' x $_ . '€' x 2100 } 0 .. 2))
{
	$shard++;
	my $what = 'a comment of ' . length($comment) . ' bytes';
	my $refused = error_of($registry, 'postgres', "SELECT shardid_lease.reserve_shard('ids', $shard, '$comment')");
	is_whole($refused, "$what, on the registry");
	next if $refused ne 'no error';
	my $error = raw_error("SELECT shardid_lease.lease_shard('ids', 'registry', 'a', $shard)");
	like($error, qr/ERROR:  \w+: .*(?:é|€)/s, "$what: the member sees the comment");
	cmp_ok(is_whole($error, "$what, on the member"), '>', 0, 'in a detail');
}
is(lease($member, 'ids', 'b'), 0, 'a lease');
my %errors = (
	'a shard that does not exist' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'a', 100000)),
	'a shard of another' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'a', 0)),
	'no such id space' => q(SELECT shardid_lease.lease_shard('none', 'registry', 'a')),
	'a second lease' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'b', 4)),
	'no lease' => q(SELECT shardid_lease.take_over_shard('a')),
	'nothing to release' => q(SELECT shardid_lease.release_shard('a')),
	'another shard' => q(SELECT next_id(77, 'b')));
is_whole(raw_error($errors{$_}), $_) for sort keys %errors;
like(raw_error($errors{$_}), qr/ERROR: /, "$_: an error") for sort keys %errors;

# --- A release waits for a long transaction, and nobody else for the release.

draw_one($member, 'b');
my $long = $member->background_psql('postgres');
$long->query_safe(q(BEGIN; SELECT next_id(generator => 'b')));
my $start = time;
my $release = IPC::Run::start([ 'psql', '-XAtq', '-d', $member->connstr('postgres'), '-c', "SET shardid.lease_timeout = '6s'", '-c', q(SELECT shardid_lease.release_shard('b')) ],
	'<', \undef, '>', \my $said, '2>', \my $warned, IPC::Run::timeout(60));
my $tries = 0;
while (time < $start + 4)
{
	my $error = error_of($member, 'postgres', "SET statement_timeout = '2s'; SET shardid.lease_timeout = '1s'; SELECT next_id(generator => 'b')");
	unlike($error, qr/57014|55P03/, 'next_id() does not wait for the release') if $error =~ /57014|55P03/ || ++$tries == 5;
}
cmp_ok($tries, '>', 5, "$tries calls of others end meanwhile");
$long->query_safe('COMMIT');
$long->quit;
$release->finish;
is($registry->safe_psql('postgres', q(SELECT state FROM shardid_lease.id_space_shards WHERE shard = 0)), 'released', 'then it is released');

$_->stop for $member, $registry;
done_testing();
