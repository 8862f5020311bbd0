# Nothing gets lost between a transaction's note of its first id and the generator's position, in either order. Many
# locks of another session make the lock table slow to read, so that each gap is some milliseconds long.
use Settled;
use ShardidTest;

my $node = new_node('gaps', "max_locks_per_transaction = 700\nmax_prepared_transactions = 10\n");
create_tables($node);
my $holder = open_session($node);
ask($holder, 'SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 20000) n;');

my @names = qw(first second fourth fifth);
my $transaction = "BEGIN;\nINSERT INTO photos DEFAULT VALUES;\nSELECT pg_sleep(0.004);\nCOMMIT;\n";
# More of them read at the same time.
$node->safe_psql('postgres', q(INSERT INTO consumers SELECT (jsonb_populate_record(c, jsonb_build_object('name', n))).*
	FROM consumers c, unnest(ARRAY['fourth', 'fifth']) n WHERE name = 'first'));
# Only g moves.
$node->safe_psql('postgres', q(UPDATE consumers SET bound = $$settled_below('g')$$));
my $consumers = start_consumers($node, @names);
my $writers = start_scripts($node, 'writer', map { $transaction x rounds(500, 5000) } 1 .. 8);
unlike(finish_scripts($writers), qr/ERROR/, 'no writer has failed');
stop_consumers($node, $consumers);
is_delivered($node, 'a slow lock table', @names);
my $naive = missed($node, 'first', 'naively_delivered');
cmp_ok($naive, '>', 0, "a reader of id > last has missed $naive rows");
close_session($holder);

$node->stop;
done_testing();
