# What the functions of a registry leave behind: a commit that is flushed whatever its caller has set, and its caller's
# settings. (What it grants, and for what it gives receipts, is in sql/lease_registry.)
use Leases;
use ShardidTest;

# The WAL writer sleeps: what is flushed, a commit has flushed.
my $registry = new_registry('registry', "autovacuum = off\nwal_writer_delay = 10s\n");
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
on_registry(<<'SQL');
SELECT shardid_lease.create_id_space('ids'), shardid_lease.create_id_space('dropped');
CREATE FUNCTION request(origin text, shard int, kind text) RETURNS shardid_lease.request_1[] LANGUAGE sql AS $$
	SELECT ARRAY[jsonb_populate_record(NULL::shardid_lease.request_1, jsonb_build_object('space', 'ids', 'origin', request.origin, 'family', 'i',
		'moved_at', '0/0', 'place', 'p', 'started', 1, 'shard', shard, 'kind', kind, 'host', 'h', 'port', 1, 'database', 'd',
		'clock', floor(extract(epoch FROM clock_timestamp()) * 1000)))]
$$;
SQL

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
