# What pages say of PostgreSQL 18 and 19: a virtual column shows the time of an id, here a stored one before 18; a standby
# waits for what was written; and the first logical slot raises the WAL level.
use Docs;
use ShardidTest;

my $node = new_node('newer', '', allows_streaming => 1);
my $major = $node->pg_version->major;
sub query { return $node->safe_psql('postgres', "SET timezone = 'UTC';\n$_[0]") }

# --- docs/layouts.md: the time as a column, over all of the layout's time.

query('CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5))');
query(q(INSERT INTO photos SELECT (random() * 18446744073709551615 - 9223372036854775808)::numeric::bigint FROM generate_series(1, 1000);
	INSERT INTO photos VALUES (0), (-1), (9223372036854775807), (-9223372036854775808), (4037442497700434944)));
my $column = block_of('layouts.md', 'virtual_column');
$column =~ s/VIRTUAL/STORED/ if $major < 18;
query($column);
is(query('SELECT count(*) FROM photos WHERE created_at IS DISTINCT FROM id_timestamp(id)'), 0, 'created_at is id_timestamp');
is(query('INSERT INTO photos DEFAULT VALUES RETURNING id_timestamp(id) = created_at'), 't', 'also in RETURNING');

SKIP:
{
	skip 'a standby waits for an LSN from PostgreSQL 19 on', 2 if $major < 19;
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->start;
	my ($lsn, $wait) = map { command_of('operations.md', $_) } 'SELECT pg_current_wal_insert_lsn', 'WAIT FOR LSN';
	query('SELECT pg_create_physical_replication_slot(1::text)');
	query('INSERT INTO photos DEFAULT VALUES');
	my $until = query($lsn);
	$wait =~ s/'[^']+'/'$until'/;
	like($standby->safe_psql('postgres', "$wait; SELECT count(*) FROM photos"), qr/^(?:success\n)?1007$/, "$wait: the row is there");
	$standby->stop;
	query(q(SELECT pg_create_logical_replication_slot('first', 'pgoutput')));
	is(query('SHOW wal_level') . query('SHOW effective_wal_level'), 'replicalogical', 'the first logical slot raises the WAL level');
}

$node->stop;
done_testing();
