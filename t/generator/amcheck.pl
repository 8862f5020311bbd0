# Whatever was drawn, other readers of a sequence's page find it in order: amcheck, pageinspect, and queries in every
# isolation level. If a generator's page cannot be read, each call fails, nothing is drawn, and nothing leaks.
use ShardidTest;

my $node = new_node('amcheck', "autovacuum = off\nmax_prepared_transactions = 2\n", extra => ['--data-checksums']);
sub query { return $node->safe_psql('postgres', $_[0]) }
query('CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');

# What amcheck finds wrong with the sequences.
sub complaints
{
	return query(q(SELECT oid::regclass, v.* FROM pg_class, verify_heapam(oid, check_toast => true) v WHERE relkind = 'S'));
}

# Runs the query for each sequence, whose name is :g in it; returns the distinct results.
sub of_all
{
	my ($query, $level) = @_;
	my @generators = split /\n/, query(q(SELECT oid::regclass FROM pg_class WHERE relkind = 'S'));
	my $all = join ' UNION ', map { $query =~ s/:g/$_/gr } @generators;
	return query("BEGIN ISOLATION LEVEL $level; $all; COMMIT");
}

# One tuple, alive and seen by all.
sub is_in_order
{
	my ($after) = @_;
	is(complaints(), '', "$after: amcheck finds nothing");
	my $items = "heap_page_items(get_raw_page(':g', 0)) WHERE t_data IS NOT NULL AND lp_flags = 1";
	is(of_all("SELECT count(*) FROM $items", 'READ COMMITTED'), '1', "$after: pageinspect shows one tuple");
	is(of_all('SELECT count(last_value), count(xmin), count(cmax) FROM :g', $_), '1|1|1', "$after: seen by $_")
	  for 'READ COMMITTED', 'SERIALIZABLE';
	return;
}

# Each kind of draw, and each other change to a generator, on a sequence of its own.
my %draws = (
	next_id => q(SELECT next_id(5, 'g')),
	next_ids => q(SELECT count(*) FROM next_ids(5, 5000, 'g')),
	nextval => q(SELECT nextval('g'), next_id(5, 'g'), nextval('g')),
	nextval_range => q(SELECT nextval_range('g', 1000)),
	setval => q(SELECT next_id(5, 'g'); SELECT setval('g', 1000); SELECT next_id(5, 'g')),
	raised => q(SELECT raise_generator('g', id_lower_bound(now() + interval '1 minute')); SELECT next_id(5, 'g')),
	restarted => q(SELECT next_id(5, 'g'); ALTER SEQUENCE g RESTART; SELECT next_id(6, 'g')),
	rolled_back => q(BEGIN; SELECT next_id(5, 'g'); ALTER SEQUENCE g CACHE 2; SELECT next_id(5, 'g'); ROLLBACK),
	prepared => q(BEGIN; SELECT next_id(5, 'g'); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'),
	unlogged_and_back => q(SELECT next_id(5, 'g'); ALTER SEQUENCE g SET UNLOGGED; ALTER SEQUENCE g SET LOGGED;
		SELECT next_id(5, 'g')));
for my $name (sort keys %draws)
{
	query('CREATE SEQUENCE g');
	query($draws{$name});
	query("ALTER SEQUENCE g RENAME TO $name");
}
query('SELECT count(uuid_v1()), count(objectid()), count(next_id(5)) FROM generate_series(1, 5000)');
is_in_order('all kinds of draws');
query('CHECKPOINT; SELECT uuid_v1(), objectid(), next_id(5)');
kill_node($node);
start_again($node);
is_in_order('crash recovery');

# Overwrites bytes of a generator's file while the server is stopped.
sub damage
{
	my ($name, $offset_of, $bytes) = @_;
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('$name')");
	$node->stop;
	open my $file, '+<:raw', $path or die;
	my $offset = $offset_of->($file);
	seek $file, $offset, 0;
	print $file $bytes;
	close $file;
	$node->start;
	return;
}

damage('setval', sub { 5000 }, 'x');
my $try = <<'SQL';
DO $$
BEGIN
    PERFORM next_id(1, 'setval');
    RAISE NOTICE 'drawn';
EXCEPTION WHEN data_corrupted THEN
    RAISE NOTICE 'caught';
END
$$;
SQL
my (undef, $stdout, $stderr) =
  $node->psql('postgres', "BEGIN;\n$try$try SELECT next_id(1, 'raised') > 0;\n$try COMMIT;");
is($stdout, 't', 'another generator goes on');
is(scalar(() = $stderr =~ /NOTICE:  caught/g), 3, 'each draw is refused');
unlike($stderr, qr/drawn|leak/, 'none is drawn and nothing leaks');

# A page that can be read but is no sequence's: its magic number, at the page header's pd_special, is overwritten. And
# amcheck does look at these pages: it reports a tuple whose data begin in its header.
$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
my $in_tuple = 22 + query(q(SELECT lp_off FROM heap_page_items(get_raw_page('next_id', 0))));
damage('next_id', sub { $in_tuple }, chr 16);
like(complaints(), qr/^next_id\|0\|1\|/m, 'amcheck complains of a damaged one');
damage('setval', sub { seek $_[0], 16, 0; read $_[0], my $special, 2; return unpack 'S', $special }, "\0\0\0\0");
like(error_on($node, q(SELECT next_id(1, 'setval'))), qr/^XX001: bad magic number in sequence page: 0/, 'no magic');

$node->stop;
done_testing();
