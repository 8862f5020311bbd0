# What the functions of a registry leave behind: a receipt only for what is committed, and only for rows of the caller's
# role; a commit that is flushed whatever its caller has set; its caller's settings; and errors that are valid UTF-8, with
# whole sentences. (What it grants is in sql/lease_registry.)
use Encode ();
use Leases;
use ShardidTest;

# The WAL writer sleeps: what is flushed, a commit has flushed.
my $registry = new_registry('registry', "autovacuum = off\nwal_writer_delay = 10s\n");
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
on_registry(<<'SQL');
CREATE ROLE other LOGIN;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO other;
SELECT shardid_lease.create_id_space('ids'), shardid_lease.create_id_space('dropped');
CREATE FUNCTION request(origin text, shard int, joins boolean) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_array(jsonb_build_object('space', 'ids', 'origin', request.origin, 'incarnation', 'i', 'place', 'p', 'started', 1,
		'shard', shard, 'joins', joins, 'host', 'h', 'port', 1, 'database', 'd', 'clock', floor(extract(epoch FROM clock_timestamp()) * 1000)))
$$;
SQL

# --- Receipts.

# The answers that a role is given in a transaction, which ends so; and what else is printed.
sub answers_in
{
	my ($role, $origin, $shard, $joins, $end) = @_;
	my (undef, $said, $error) = $registry->psql('postgres', <<SQL, on_error_stop => 0);
\\set VERBOSITY verbose
SET ROLE $role;
BEGIN;
SELECT shardid_lease.grant_shards(request('$origin', $shard, $joins)) AS answers \\gset
\\echo :answers
SAVEPOINT before;
SELECT shardid_lease.receipts(:'answers');
ROLLBACK TO before;
$end
SQL
	my ($answers, $rest) = split /\n/, $said, 2;
	is($rest // '', '', "$role, $end: no receipt within the transaction");
	like($error, qr/ERROR:  25001: /, 'as the error says');
	return $answers;
}
sub receipt_for { return on_registry("SET ROLE $_[0]; SELECT shardid_lease.receipts('$_[1]')->0->>'receipt'") }

for my $end ('ROLLBACK', 'RESET ROLE; SELECT pg_terminate_backend(pg_backend_pid())', 'COMMIT')
{
	my $answers = answers_in('member', 'm', 1, 'true', "$end;");
	like(receipt_for('member', $answers), $end eq 'COMMIT' ? qr/^1\.[^.]+\.1\.\d+\.[0-9a-f]{64}$/ : qr/^$/, "$end: what there is after it");
}
my $session = $registry->background_psql('postgres', on_error_die => 1);
my $lost = $session->query_safe(q(SET ROLE member; BEGIN; SELECT shardid_lease.grant_shards(request('m', 1, false))));
like($lost, qr/"ok": true/, 'a renewal, which is not committed');
is(receipt_for('member', $lost), '', 'no receipt from another session');
$registry->stop('immediate');
eval { $session->quit };
$registry->start;
is(receipt_for('member', $lost), '', 'nor after a crash');
my $renewed = answers_in('member', 'm', 1, 'false', 'COMMIT;');
like($renewed, qr/\Q$_\E,?/, 'its serial is used again') for $lost =~ /("serial": \d+)/;
isnt(receipt_for('member', $renewed), '', 'then there is one');
my $theirs = answers_in('other', 't', 2, 'true', 'COMMIT;');
isnt(receipt_for('other', $theirs), '', 'a role has a receipt for its own row');
is(receipt_for('member', $theirs), '', 'and another role has none');
is(receipt_for('member', $theirs =~ s/"t"/"m"/r), '', 'nor by its own origin');
is(on_registry('SELECT count(*) FROM shardid_lease.id_space WHERE was_set_back'), 0, 'nothing is stopped');

# --- Settings, and commits.

my @calls = (q(create_id_space('new')), q(drop_id_space('dropped')), q(reserve_shard('ids', 9, 'by hand')), q(unreserve_shard('ids', 9)),
	q(grant_shards(request('s', 3, true))), q(evict_shard('ids', 3)), 'registry_was_moved()', 'registry_was_restored()', q(receipts('[]')));
my $settings = join ' || ', map { "current_setting('$_')" } qw(synchronous_commit lock_timeout statement_timeout search_path);
for my $call (@calls)
{
	my $said = on_registry(<<SQL);
SET synchronous_commit = local; SET lock_timeout = '70s'; SET statement_timeout = '80s'; SET search_path = pg_catalog, public;
BEGIN; SELECT shardid_lease.$call; SELECT $settings; ROLLBACK;
SET synchronous_commit = off;
BEGIN; SELECT shardid_lease.$call; SELECT pg_current_wal_insert_lsn() AS changed \\gset
COMMIT; SELECT pg_current_wal_flush_lsn() > :'changed';
SQL
	my $flushed = $call =~ /^receipts/ ? '[tf]' : 't';    # which changes nothing
	like($said, qr/^local70s80spg_catalog, public\n.*^$flushed\z/ms, "$call keeps its caller's settings, and is flushed");
}

# --- Text: letters of two and of three bytes, which a cut at any byte splits.

my $member = new_node('member', "autovacuum = off\n");
connect_to_registry($member, $registry);
$member->safe_psql('postgres', 'SET ROLE app; CREATE SEQUENCE a');
my $shard = 10;
for my $comment ('é', 'é' x 300, (map { 'x' x $_ . 'é' x 3000 } 0, 1), (map { 'x' x $_ . '€' x 2100 } 0 .. 2))
{
	my $refused = error_of($registry, 'postgres', 'SELECT shardid_lease.reserve_shard(\'ids\', ' . ++$shard . ", '$comment')");
	my $error = $refused eq 'no error' ? error_of($member, 'postgres', "SET ROLE app; SELECT shardid_lease.lease_shard('ids', 'registry', 'a', $shard)") : $refused;
	like($error, $refused eq 'no error' ? qr/^DETAIL:  [\p{Lu}\d"].*(?:é|€)/m : qr/ERROR: /, 'a comment of ' . length($comment) . ' bytes');
	ok(defined eval { Encode::decode('UTF-8', my $copy = $error, Encode::FB_CROAK) }, 'in valid UTF-8') || diag $error;
}

$_->stop for $member, $registry;
done_testing();
