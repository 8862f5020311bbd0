# Ids under load are unique and increase, with the layout's rate and honest time.
use ShardidTest;

my $node = new_node('load');

# Each row has its id, its session, its place in the session's order, and a clock that was read after the id: defaults
# are computed in the order of the columns.
$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE second_generator;
CREATE SEQUENCE call_order CACHE 1000;
CREATE TABLE one (
    id bigint PRIMARY KEY DEFAULT next_id(5),
    session int DEFAULT pg_backend_pid(),
    call bigint DEFAULT nextval('call_order'),
    clock timestamptz DEFAULT clock_timestamp(),
    n int);
CREATE TABLE two (LIKE one INCLUDING DEFAULTS);
ALTER TABLE two ALTER id SET DEFAULT next_id(6, 'second_generator'), ADD PRIMARY KEY (id);
SQL

sub query { return $node->safe_psql('postgres', $_[0]) }

# 16 sessions, nine single rows for each bulk of 2,500.
my %files = map { (
	"single_$_\@9" => "INSERT INTO $_ (n) VALUES (1);",
	"bulk_$_\@1" => "INSERT INTO $_ (n) SELECT generate_series(1, 2500);") } 'one', 'two';
$node->pgbench('-n -c 16 -j 2 -t 80 -M prepared', 0, [qr/processed: (\d+)\/\1/], [qr/^$/], 'load without an error', \%files);
for my $table ('one', 'two')
{
	my $rows = query("SELECT count(*) FROM $table");
	cmp_ok($rows, '>', 50_000, "$table: $rows ids, none twice");
	is( query("SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY call) AS previous FROM $table) s WHERE id <= previous"),
		0,
		"$table: the ids of each session increase");
	my $most = query("SELECT max(n) FROM (SELECT count(*) AS n FROM $table GROUP BY id >> 23) s");
	cmp_ok($most, '<=', 1024, "$table: at most 1024 ids in a millisecond (most: $most)");
	is(query("SELECT count(*) FROM $table WHERE id_timestamp(id) > clock"),
		0, "$table: no id later than the clock read after it");
}

$node->stop;
done_testing();
