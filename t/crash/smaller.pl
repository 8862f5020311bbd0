# Ids stay unique after a crash that follows a rollback to a savepoint; and sessions with many generators keep no more pages pinned
# than their share of a small buffer pool. Storage is replaced within the transaction; pools have 16 and 256 buffers.
use ShardidTest;

my $node = new_node('smaller', "autovacuum = off\nmax_prepared_transactions = 2\nwal_level = replica");
sub query { return $node->safe_psql('postgres', $_[0]) }

# A rollback to a savepoint restores storage that the same transaction made; at the transaction's end it is updated with
# what was drawn. The generator is an hour ahead of the clock, so only its storage prevents duplicates.
query('CREATE SEQUENCE g');
query("SELECT setval('g', id_lower_bound(clock_timestamp() + interval '1 hour') >> 23 << 10)");
my $brought_back = <<'SQL';
BEGIN;
ALTER SEQUENCE g CACHE 2;
SAVEPOINT a;
ALTER SEQUENCE g CACHE 3;
SELECT max(next_id(5, 'g')) FROM generate_series(1, 3000);
ROLLBACK TO a;
SQL
my %ends = (
	'COMMIT' => 'COMMIT',
	'PREPARE TRANSACTION' => "PREPARE TRANSACTION 'altered'; COMMIT PREPARED 'altered'",
	'ROLLBACK' => 'ROLLBACK');
for my $end (sort keys %ends)
{
	query('CHECKPOINT');
	my $last = query("$brought_back; $ends{$end}");
	kill_node($node);
	start_again($node);
	cmp_ok(query("SELECT next_id(5, 'g')"), '>', $last, "$end and a crash: it goes on above what was drawn");
}

$node->stop;

# Many sessions in a small buffer pool: each keeps no more than its share of buffers pinned, so that all can read other
# pages.
sub keep_pins
{
	my ($buffers, $sessions) = @_;
	my $small = new_node("buffers_$buffers", "autovacuum = off\nshared_buffers = $buffers");
	my $connection = $small->connstr('postgres');
	my ($code, $stdout, $stderr) = $small->psql('postgres', <<SQL);
CREATE EXTENSION dblink;
CREATE EXTENSION pg_buffercache;
SELECT format('CREATE SEQUENCE many_%s', i) FROM generate_series(0, 7) i \\gexec
SELECT count(dblink_connect(format('s%s', i), \$\$$connection\$\$)), count(dblink_exec(format('s%s', i), 'BEGIN'))
FROM generate_series(1, $sessions) i;
SELECT count(*) FROM generate_series(1, $sessions) i, dblink(format('s%s', i),
    'SELECT count(next_id(5, format(''many_%s'', i % 8)::regclass)) FROM generate_series(0, 23) i') AS drawn (count bigint);
SELECT count(*) > 0 FROM pg_class, pg_attribute WHERE attrelid = pg_class.oid;
SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
WHERE c.relkind = 'S';
SQL
	$small->stop;
	return ($stderr, (split /\n/, $stdout)[-1]);
}
my ($complaints, $pins) = keep_pins('128kB', 6);
is($complaints, '', 'six sessions with eight generators each in 16 buffers');
is($pins, 0, 'keep no page pinned');
($complaints, $pins) = keep_pins('2MB', 6);
is($complaints, '', 'and in 256 buffers');
cmp_ok($pins, '>=', 6, "keep $pins, some of each");
cmp_ok($pins, '<=', 256 * 6 / 52, 'no more than their share of the pool');
done_testing();
