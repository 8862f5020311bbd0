# Consumers that read below settled_below get each committed row exactly once, whatever the writers' transactions do,
# and while sessions are terminated and the generator is moved and altered. Readers of "id > last" miss rows of the same
# writers. SHARDID_SEED repeats the scripts of a run.
use Settled;
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || time;
srand $seed;
note "SHARDID_SEED=$seed";

my $node = new_node('settled', <<'CONF');
max_prepared_transactions = 500
deadlock_timeout = '20ms'
autovacuum_naptime = '1s'
CONF
create_tables($node);
my @names = qw(first second third);

# In transactions that also generate ids: the storage is replaced, and comes back.
my @altered = map { my $alter = $_; (
	[ 'BEGIN;', 'INSERT INTO photos DEFAULT VALUES;', "ALTER SEQUENCE g $alter;", 'INSERT INTO photos DEFAULT VALUES;', 'SLEEP', 'END' ],
	[ 'BEGIN;', 'SAVEPOINT a;', "ALTER SEQUENCE g $alter;", q{SELECT next_id(1, 'g') AS id \gset}, 'ROLLBACK TO a;', 'SLEEP',
		'INSERT INTO photos VALUES (:id);', 'INSERT INTO photos DEFAULT VALUES;', 'SLEEP', 'END' ])
} 'INCREMENT BY 1', 'CACHE 3', 'RESTART', 'CACHE 1';
# A rollback to the savepoint alone ends CACHE 1.
@altered = grep { "@$_" !~ /CACHE 1/ || "@$_" =~ /SAVEPOINT/ } @altered;

sub repeat
{
	my ($times, @statements) = @_;
	return "SET lock_timeout = '100ms';\n" . join '',
	  map { $statements[ rand @statements ] =~ s/NUMBER/$_/r . sprintf("SELECT pg_sleep(%.3f);\n", 0.01 + 0.05 * rand) } 1 .. $times;
}

my %others = (
	'sessions that are terminated' => {
		script => sub { repeat($_[0], "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'writer' ORDER BY random() LIMIT 1;\n") } },
	# g, which is not ahead of the clock, goes back; h, which is, forward only.
	'generators that are moved' => {
		script => sub { repeat($_[0], "SELECT setval('g', 1);\n",
			"SELECT raise_generator('h', id_lower_bound(clock_timestamp() + interval '300 ms'));\n",
			"SELECT setval('h', id_lower_bound(clock_timestamp() + interval '1 s' * NUMBER) >> 23 << 10);\n") } },
	'generators that are altered' => { script => sub { repeat($_[0], "CHECKPOINT;\n", "ANALYZE photos;\n") }, also => \@altered },
	'other commands' => {
		script => sub { repeat($_[0], "VACUUM photos;\n", "CREATE INDEX CONCURRENTLY by_name ON photos (name);\n",
			"DROP INDEX CONCURRENTLY IF EXISTS by_name;\n", "SELECT count(*) FROM pg_locks;\n") } });

for my $round (1 .. rounds(1, 40))
{
	for my $what (sort keys %others)
	{
		my $consumers = start_consumers($node, @names);
		my $writers = start_scripts($node, 'writer',
			map { random_script(transactions => rounds(60, 400), also => $others{$what}{also}) } 1 .. 8);
		my $other = start_scripts($node, 'other', $others{$what}{script}->(rounds(25, 100)));
		finish_scripts($writers);
		finish_scripts($other);
		stop_consumers($node, $consumers);
		finish_prepared($node);
		is_delivered($node, $what, @names);
	}
}

my $naive = missed($node, 'first', 'naively_delivered') + missed($node, 'second', 'naively_delivered');
cmp_ok($naive, '>', 0, "readers of id > last have missed $naive rows");
is($node->safe_psql('postgres', q(SELECT decreased FROM consumers WHERE name = 'third')), 0,
	'the id that settled_below returns never decreased for the generator that nothing moved');

$node->stop;
done_testing();
