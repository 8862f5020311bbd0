# Whatever was drawn, other readers of a sequence's page find it in order: amcheck, pageinspect, pgstattuple,
# and queries of the sequence, with its system columns and in every isolation level.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('amcheck', "autovacuum = off\nmax_prepared_transactions = 2\n", allows_streaming => 1);
my $database = 'postgres';
sub query { return $node->safe_psql($database, $_[0]) }
query('CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect; CREATE EXTENSION pgstattuple');

sub generators { return split /\n/, query(q(SELECT oid::regclass FROM pg_class WHERE relkind = 'S' ORDER BY 1)) }

# What amcheck finds wrong with the sequences.
sub complaints
{
	return query(q(SELECT oid::regclass, v.* FROM pg_class, verify_heapam(oid, check_toast => true) v WHERE relkind = 'S'));
}

# Runs the query for each sequence, whose name is :g in it; returns the distinct results.
sub of_all
{
	my ($query, $level) = @_;
	my $all = join ' UNION ', map { $query =~ s/:g/$_/gr } generators();
	return query("BEGIN ISOLATION LEVEL $level; $all; COMMIT");
}

# One tuple, alive and seen by all.
sub is_in_order
{
	my ($after) = @_;
	is(complaints(), '', "$after: amcheck finds nothing");
	my $items = "heap_page_items(get_raw_page(':g', 0)) WHERE t_data IS NOT NULL AND lp_flags = 1";
	is(of_all("SELECT count(*) FROM $items", 'READ COMMITTED'), '1', "$after: pageinspect shows one tuple");
	is(of_all(q(SELECT tuple_count, dead_tuple_count FROM pgstattuple(':g')), 'READ COMMITTED'),
		'1|0', "$after: pgstattuple counts it");
	my $columns = 'last_value, log_cnt, is_called, ctid, xmin, xmax, cmin, cmax, tableoid' =~ s/(\w+)/count($1)/gr;
	is(of_all("SELECT $columns FROM :g", $_), '1|1|1|1|1|1|1|1|1', "$after: seen by $_")
	  for 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE';
	return;
}

is_in_order('nothing drawn');

# Each kind of draw, and each other change to a generator, on a sequence of its own.
my %draws = (
	next_id => q(SELECT next_id(5, 'g')),
	next_ids => q(SELECT count(*) FROM next_ids(5, 5000, 'g')),
	next_id_other_layout => q(SELECT next_id(5, 'g', '2010-11-04 01:42:54.657+00', 10, 12)),
	next_id_widest_sequence => q(SELECT next_id(0, 'g', '2024-01-01+00', 0, 22)),
	nextval => q(SELECT nextval('g'), next_id(5, 'g'), nextval('g')),
	nextval_range => q(SELECT nextval_range('g', 1000)),
	setval => q(SELECT next_id(5, 'g'); SELECT setval('g', 1000); SELECT next_id(5, 'g')),
	setval_last => q(SELECT next_id(5, 'g'); SELECT setval('g', 1000, false)),
	raised => q(SELECT raise_generator('g', id_lower_bound(now() + interval '1 minute'))),
	ahead => q(SELECT raise_generator('g', id_lower_bound(now() + interval '1 minute')); SELECT next_id(5, 'g')),
	restarted => q(SELECT next_id(5, 'g'); ALTER SEQUENCE g RESTART; SELECT next_id(6, 'g')),
	restarted_last => q(SELECT next_id(5, 'g'); ALTER SEQUENCE g RESTART),
	rolled_back => q(BEGIN; SELECT next_id(5, 'g'); ALTER SEQUENCE g CACHE 2; SELECT next_id(5, 'g'); ROLLBACK),
	prepared => q(BEGIN; SELECT next_id(5, 'g'); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'),
	in_steps => q(ALTER SEQUENCE g INCREMENT 7 CACHE 3; SELECT next_id(5, 'g'); SELECT nextval('g')),
	unlogged_and_back => q(SELECT next_id(5, 'g'); ALTER SEQUENCE g SET UNLOGGED; ALTER SEQUENCE g SET LOGGED; SELECT next_id(5, 'g')));
for my $name (sort keys %draws)
{
	query('CREATE SEQUENCE g');
	query($draws{$name});
	query("ALTER SEQUENCE g RENAME TO $name");
}
query('SELECT count(uuid_v1()), count(objectid()), count(next_id(5)) FROM generate_series(1, 5000)');
is_in_order('all kinds of draws');

query('CHECKPOINT; SELECT uuid_v1(), objectid(), next_id(5)');
query("SELECT next_id(5, 'next_id')");
$node->stop('immediate');
$node->start;
is_in_order('crash recovery');
query('SELECT uuid_v1(), objectid(), next_id(5)');
query("SELECT next_id(5, 'next_id')");
is_in_order('draws after it');
query('SELECT renew_identity(); SELECT uuid_v1(), objectid()');
is_in_order('renew_identity()');

$node->command_ok([ 'pg_amcheck', '--no-password', $node->connstr('postgres') ], 'pg_amcheck is content with the database');

for my $strategy ('wal_log', 'file_copy')
{
	$database = 'template1';
	query("CREATE DATABASE copied_by_$strategy TEMPLATE postgres STRATEGY $strategy");
	$database = "copied_by_$strategy";
	is_in_order("a copy by $strategy");
	query('SELECT uuid_v1(), objectid(), next_id(5)');
	is_in_order('draws from it');
}
$database = 'postgres';

# After replay on a standby.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
query('SELECT uuid_v1(), objectid(), next_id(5)');
query("SELECT next_id(5, 'next_id')");
$node->wait_for_catchup($standby);
my $primary = $node;
$node = $standby;
is(complaints(), '', 'a standby: amcheck finds nothing');
$standby->promote;
is_in_order('a promoted standby');
$standby->stop;
$node = $primary;

# A serializable reader at the same time as a session that draws.
query('CREATE TABLE seen (last bigint)');
my $verdict = query(<<'SQL');
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO seen SELECT last_value FROM next_id;
SELECT next_id(5, 'next_id') > 0;
INSERT INTO seen SELECT last_value FROM next_id;
COMMIT;
SELECT count(DISTINCT last) FROM seen;
SQL
is($verdict, "t\n2", 'a serializable transaction reads a generator, draws and reads it again');

# amcheck does look at these pages: it reports a tuple whose data begin in its header.
my $path = $node->data_dir . '/' . query(q(SELECT pg_relation_filepath('next_id')));
my $offset = query(q(SELECT lp_off FROM heap_page_items(get_raw_page('next_id', 0))));
$node->stop;
open my $file, '+<:raw', $path or die;
seek $file, $offset + 22, 0;
print $file chr 16;
close $file;
$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
$node->start;
like(complaints(), qr/^next_id\|0\|1\|/, 'amcheck complains of a damaged one');

$node->stop;
done_testing();
