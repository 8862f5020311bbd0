# What the functions of a registry leave behind: a receipt only for what is committed, and only for rows of the caller's
# role; a commit that is flushed whatever its caller has set; and its caller's settings. (What it grants is in sql/lease_registry.)
use Leases;
use ShardidTest;

# The WAL writer sleeps: what is flushed, a commit has flushed.
my $registry = new_registry('registry', "autovacuum = off\nwal_writer_delay = 10s\n");
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
on_registry(<<'SQL');
CREATE ROLE other LOGIN;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO other;
SELECT shardid_lease.create_id_space('ids'), shardid_lease.create_id_space('dropped');
CREATE FUNCTION request(origin text, shard int, kind text) RETURNS shardid_lease.request_1[] LANGUAGE sql AS $$
	SELECT ARRAY[jsonb_populate_record(NULL::shardid_lease.request_1, jsonb_build_object('space', 'ids', 'origin', request.origin, 'family', 'i',
		'moved_at', '0/0', 'place', 'p', 'started', 1, 'shard', shard, 'kind', kind, 'host', 'h', 'port', 1, 'database', 'd',
		'clock', floor(extract(epoch FROM clock_timestamp()) * 1000)))]
$$;
SQL

# --- Receipts.

# The answers that a role is given in a transaction, which ends so; and what else is printed.
sub answers_in
{
	my ($role, $origin, $shard, $kind, $end) = @_;
	my (undef, $said, $error) = $registry->psql('postgres', <<SQL, on_error_stop => 0);
\\set VERBOSITY verbose
SET ROLE $role;
BEGIN;
SELECT shardid_lease.grant_shards(request('$origin', $shard, '$kind')) AS answers \\gset
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
sub receipt_for { return on_registry("SET ROLE $_[0]; SELECT (shardid_lease.receipts('$_[1]'))[1].receipt") }

for my $end ('ROLLBACK', 'RESET ROLE; SELECT pg_terminate_backend(pg_backend_pid())', 'COMMIT')
{
	my $answers = answers_in('member', 'm', 1, 'join', "$end;");
	like(receipt_for('member', $answers), $end eq 'COMMIT' ? qr/^1\.[^.]+\.1\.\d+\.[0-9a-f]{64}$/ : qr/^$/, "$end: what there is after it");
}
my $theirs = answers_in('other', 't', 2, 'join', 'COMMIT;');
isnt(receipt_for('other', $theirs), '', 'a role has a receipt for its own row');
is(receipt_for('member', $theirs), '', 'and another role has none');
is(receipt_for('member', $theirs =~ s/\(t,/(m,/r), '', 'nor by its own origin');
is(on_registry('SELECT count(*) FROM shardid_lease.id_space WHERE was_set_back'), 0, 'nothing is stopped');

# --- Settings, and commits.

my @calls = (q(create_id_space('new')), q(drop_id_space('dropped')), q(reserve_shard('ids', 9, 'by hand')), q(unreserve_shard('ids', 9)),
	q(grant_shards(request('s', 3, 'join'))), q(evict_shard('ids', 3)), 'registry_was_moved()', 'registry_was_restored()', q(receipts('{}')));
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

$registry->stop;
done_testing();
