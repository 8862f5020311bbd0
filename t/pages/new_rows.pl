# The readers of contrib/readers/README.md, in Python, and with FULL=1 in JavaScript, process each row once, while writers
# commit late and roll back, sessions of writers and readers are ended, and the server is killed. So they do where the table
# had the shared generator before. And the statement of that page reads no row twice.
use Clients;
use Docs;
use ShardidTest;

my ($page, $readers) = ('new-rows.md', 'contrib/readers/README.md');
my $folder = PostgreSQL::Test::Utils::tempdir();
my $node = clients_node('new_rows');
$ENV{PGDATABASE} = 'postgres';
on('CREATE ROLE mailer LOGIN; CREATE ROLE app');
on('CREATE SCHEMA ids; ALTER EXTENSION shardid SET SCHEMA ids; ALTER DATABASE postgres SET shardid.shard_id = 5');

sub make_tables
{
	on('DROP EXTENSION IF EXISTS shardid_readers; DROP TABLE IF EXISTS orders, mails');
	on('DROP SEQUENCE IF EXISTS ids.order_ids; DROP FUNCTION IF EXISTS notify_readers');
	on(block_of($readers, 'CREATE EXTENSION shardid_readers'));
	on(block_of($page, 'CREATE FUNCTION notify_readers'));
	on(q(ALTER TABLE mails ADD n bigint GENERATED ALWAYS AS IDENTITY));
	return;
}

# Of its role, from the first row on.
sub add_reader
{
	on(q(SELECT shardid_readers.add_reader('mailer', 'orders', 0, role => 'mailer')));
	on(block_of($readers, 'readers_rights'));
	return;
}

# The page's statement in psql, while the generator is new, moved back and restarted: no row is read twice.
make_tables();
add_reader();
my $insert = q(INSERT INTO orders (item) VALUES ('stamp'); SELECT pg_sleep(0.002));
my $read = block_of($readers, 'INSERT INTO mails SELECT');
sub read_once { return ($node->psql('postgres', $read, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]))[2] }
on('ALTER SEQUENCE ids.order_ids RESTART');
like(read_once(), qr/55000/, 'a generator without an id is refused');
for my $move ('SELECT 1', q(SELECT setval('ids.order_ids', 1)), 'ALTER SEQUENCE ids.order_ids CACHE 2', 'ALTER SEQUENCE ids.order_ids RESTART')
{
	on($insert);
	on($move);
	unlike(read_once() . read_once(), qr/ERROR:  (?!55000)/, "$move, and each row is read once");
}
on($insert);
read_once() for 1, 2;
is(on('SELECT count(*), (SELECT count(*) FROM orders) FROM mails'), '7|7', 'and none is missed');

# A table whose ids are an identity gets a generator of its own.
make_tables();
on('DROP SEQUENCE ids.order_ids CASCADE; ALTER TABLE orders ALTER id ADD GENERATED ALWAYS AS IDENTITY');
on("$insert; " . block_of($page, 'existing_table'));
on($insert);
add_reader();
read_once();
is(on(q(SELECT string_agg(ids.id_shard(id)::text, ' ' ORDER BY id) FROM mails)), '0 5 5 5', 'an identity becomes a generator, and all rows are read');

# Starts a reader twice: the second one waits for the first.
sub start_readers
{
	my (@command) = @_;
	return map { IPC::Run::start(\@command, '>', "$folder/out.$_", '2>', "$folder/err.$_") } 1, 2;
}

# Where the table had the shared generator before, the page's block runs again and again while transactions are open, and
# then the readers begin. That generator has a lead, which the new one does not have.
sub reads_each_row
{
	my ($name, $case, @command) = @_;
	my $was_shared = $case eq 'shared before';
	make_tables();
	on(<<'SQL') if $was_shared;
ALTER TABLE orders ALTER id SET DEFAULT ids.next_id();
DROP SEQUENCE ids.order_ids;
SELECT ids.raise_generator('ids.shardid_seq', ids.id_lower_bound(now() + interval '1 hour'));
INSERT INTO orders (item) SELECT 5 FROM generate_series(1, 100);
SQL
	my @readers;
	if (!$was_shared)
	{
		on(q(INSERT INTO orders (item) VALUES ('first')));
		add_reader();
		@readers = start_readers(@command);
	}
	my $writers = start_clients($node, 12, [
			'BEGIN', 'INSERT INTO orders (item) VALUES (1) RETURNING id', q(SELECT '', pg_sleep(random() * 0.3)), 'COMMIT',
			'BEGIN', 'INSERT INTO orders (item) VALUES (2) RETURNING id', 'SAVEPOINT s', 'INSERT INTO orders (item) VALUES (3)',
			'ROLLBACK TO s', q(SELECT '', pg_sleep(random() * 0.1)), 'COMMIT',
			'BEGIN', 'INSERT INTO orders (item) VALUES (4)', 'ROLLBACK' ],
		reconnect => 1);
	$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM orders') or die 'no rows of clients';
	if ($was_shared)
	{
		my ($code, $first, $err);
		await_event('the block gets its lock', sub {
			($code, $first, $err) = $node->psql('postgres', block_of($page, 'existing_table'), on_error_stop => 1);
			die $err if $code && $err !~ /lock timeout/;
			return !$code;
		});
		add_reader();
		@readers = start_readers(@command);
		$node->poll_query_until('postgres', "SELECT count(*) > 100 FROM orders WHERE id >= $first") or die 'no new ids';
		is(on("SELECT count(*) > 100 FROM orders WHERE id < $first"), 't', "$name: new ids are above the old ones");
	}
	end_sessions($node, rounds(5, 80));
	kill_node($node);
	start_again($node);
	end_sessions($node, rounds(5, 80));
	finish_clients($writers, 1);
	my $missed = q(SELECT count(*) FROM orders LEFT JOIN mails USING (id) WHERE mails.id IS NULL);
	ok($node->poll_query_until('postgres', $missed, '0'), "$name: has each of " . on('SELECT count(*) FROM orders') . ' rows');
	is(on('SELECT count(*) FROM mails LEFT JOIN orders USING (id) WHERE orders.id IS NULL'), 0, "$name: and no other");
	is(on('SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY n) AS is_late FROM mails) m WHERE is_late'), 0, "$name: in the order of ids");
	$_->kill_kill for @readers;
	return;
}

append_to_file("$folder/reader.py", slurp_file('examples/new-rows/reader.py') . <<'EOF');

def process(cursor, row_id, item):
    cursor.execute('INSERT INTO mails VALUES (%s, %s)', [row_id, item])

while True:
    try:
        follow('user=mailer', process)
    except psycopg2.Error:
        time.sleep(0.2)
EOF
reads_each_row('Python, of a table that had the shared generator', 'shared before', 'python3', "$folder/reader.py");

SKIP:
{
	skip 'node-postgres takes long, see make test-full', 1 unless $ENV{FULL};
	my ($client, $why) = fetched_by_npm('failover');
	skip "node-postgres: $why", 1 unless $client;
	append_to_file("$client/reader.js", slurp_file('examples/new-rows/reader.js') . <<'EOF');

(async () => {
    for (;;) {
        await follow({ user: 'mailer' }, (client, row) => client.query('INSERT INTO mails VALUES ($1, $2)', [row.id, row.item])).catch(() => {});
        await sleep(200);
    }
})();
EOF
	reads_each_row('JavaScript', 'in order', 'node', "$client/reader.js");
}

$node->stop;
done_testing();
