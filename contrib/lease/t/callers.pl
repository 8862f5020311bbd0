# What the callers of the lease functions keep and see: their settings; a commit that is flushed all the same; and
# errors that are valid UTF-8, with whole sentences.
use Encode ();
use Leases;
use Requests;
use ShardidTest;

# The WAL writer sleeps: what is flushed, a commit has flushed.
my $registry = new_registry('registry', "autovacuum = off\nwal_writer_delay = 10s\n");
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids'); SELECT shardid_lease.create_id_space('dropped')));
use_registry($registry, 'ids');

# --- Settings.

my $granted = request_of(server(shard => 3), joins => 1);
my @calls = (
	create_id_space => q(SELECT shardid_lease.create_id_space('new')),
	drop_id_space => q(SELECT shardid_lease.drop_id_space('dropped')),
	reserve_shard => q(SELECT shardid_lease.reserve_shard('ids', 9, 'by hand')),
	unreserve_shard => q(SELECT shardid_lease.unreserve_shard('ids', 9)),
	grant_shards => "SELECT shardid_lease.grant_shards('$granted')",
	evict_shard => q(SELECT shardid_lease.evict_shard('ids', 3)),
	registry_was_moved => 'SELECT shardid_lease.registry_was_moved()',
	registry_was_restored => 'SELECT shardid_lease.registry_was_restored()',
	receipts => q(SELECT shardid_lease.receipts('[]')));
my $settings = q(SELECT current_setting('synchronous_commit'), current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('search_path'));
while (my ($call, $sql) = splice @calls, 0, 2)
{
	for my $given ('off|0|0|public', 'local|70s|80s|pg_catalog, public')
	{
		my ($commit, $lock, $statement, $path) = split /\|/, $given;
		my $set = "SET synchronous_commit = $commit; SET lock_timeout = '$lock'; SET statement_timeout = '$statement'; SET search_path = $path";
		my $said = $registry->safe_psql('postgres', "$set; BEGIN; $sql; $settings; ROLLBACK");
		like($said, qr/^\Q$given\E$/m, "$call() leaves the settings $given");
	}
	next if $call eq 'receipts';
	my $flushed = $registry->safe_psql('postgres', "SET synchronous_commit = off; $sql; SELECT 'flushed', pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()");
	like($flushed, qr/^flushed\|t$/m, "$call() is flushed all the same");
}

# --- Text.

my $member = new_node('member', "autovacuum = off\n");
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
like(($member->psql('postgres', "SET shardid.shard_id = 0; SET ROLE app; SELECT shardid_lease.lease_shard('ids', 'registry', 'b')"))[2],
	qr/WARNING: .*shardid\.shard_id.*HINT: /s, 'a warning if the number is set as well');
my %errors = (
	'a shard that does not exist' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'a', 100000)),
	'a shard of another' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'a', 0)),
	'no such id space' => q(SELECT shardid_lease.lease_shard('none', 'registry', 'a')),
	'a second lease' => q(SELECT shardid_lease.lease_shard('ids', 'registry', 'b', 4)),
	'no lease' => q(SELECT shardid_lease.take_over_shard('a')),
	'nothing to release' => q(SELECT shardid_lease.release_shard('a')),
	'another shard' => q(SELECT next_id(77, 'b')));
for my $what (sort keys %errors)
{
	like(my $error = raw_error($errors{$what}), qr/ERROR: /, "$what: an error");
	is_whole($error, $what);
}

$_->stop for $member, $registry;
done_testing();
