# Readers that call next_rows in each way that the page shows get every committed row exactly once, in the order of ids,
# whatever the writers' transactions do: while sessions are terminated, over crashes, a clock that is set back, and failover
# to a synchronous standby; directly and through PgBouncer, without and with a lease. A reader by "id > last" next to them
# misses rows.
use Leases;
use ShardidTest;

# No SIGALRM: see with_fake_clock.
my $node = new_node('campaign', "max_prepared_transactions = 10\ndeadlock_timeout = '1h'\n", allows_streaming => 1);
sub query { return $node->safe_psql('postgres', $_[0]) }

# What is delivered twice is an error, as in the page's own tables.
query(<<'SQL');
CREATE EXTENSION shardid_readers;
CREATE SEQUENCE g CACHE 2;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), n int);
CREATE TABLE got (n bigint GENERATED ALWAYS AS IDENTITY, name text, id bigint, PRIMARY KEY (name, id));
INSERT INTO orders DEFAULT VALUES;
CREATE FUNCTION new_id() RETURNS bigint RETURN next_id(2, 'g');
CREATE ROLE pooled SUPERUSER LOGIN;
ALTER ROLE pooled SET session_preload_libraries = 'shardid_readers';
CREATE FUNCTION wrapped(name text) RETURNS SETOF orders LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1 .. 2 LOOP RETURN QUERY SELECT * FROM shardid_readers.next_rows(name, NULL::orders, 300); END LOOP; END $$;
CREATE PROCEDURE in_loop(name text) LANGUAGE plpgsql AS $$
DECLARE r record; BEGIN
	FOR i IN 1 .. 5 LOOP
		FOR r IN SELECT n.id FROM shardid_readers.next_rows(name, NULL::orders, 300) n JOIN orders USING (id) ORDER BY 1 LOOP
			BEGIN INSERT INTO got (name, id) VALUES (name, r.id); PERFORM 1 / (r.id % 7)::int;
			EXCEPTION WHEN division_by_zero THEN INSERT INTO got (name, id) VALUES (name, r.id); END;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;
SQL

my $into = 'INSERT INTO got (name, id) SELECT';
my %reads = (
	plain => ["$into 'plain', id FROM shardid_readers.next_rows('plain', NULL::orders, 500)"],
	joined => [ 'BEGIN', "$into 'joined', o.id FROM shardid_readers.next_rows('joined', NULL::orders) n JOIN orders o USING (id) ORDER BY 2", 'COMMIT' ],
	# A function that returns a set is refused in the statement that loads the library.
	wrapped => [ "LOAD 'shardid_readers'", "$into 'wrapped', o.id FROM wrapped('wrapped') n JOIN orders o USING (id) ORDER BY 2" ],
	procedure => [q{CALL in_loop('procedure')}],
	block => [ "LOAD 'shardid_readers'", q{DO $$ DECLARE r record; BEGIN FOR r IN SELECT o.id FROM wrapped('block') JOIN orders o USING (id) ORDER BY 1 LOOP
		INSERT INTO got (name, id) VALUES ('block', r.id); END LOOP; END $$} ],
	rolled_back => [ 'BEGIN', 'SAVEPOINT a', ("$into 'rolled_back', id FROM shardid_readers.next_rows('rolled_back', NULL::orders)", 'ROLLBACK TO a') x 2, 'COMMIT',
		"$into 'rolled_back', id FROM shardid_readers.next_rows('rolled_back', NULL::orders)" ],
	shares => ["$into 'shares', o.id FROM shardid_readers.next_rows('shares', NULL::orders, 200) n JOIN orders o USING (id)"]);
# Two clients have each of these in turn, in whichever session is free.
$reads{pooled} = [ map { s/'(?:plain|joined|wrapped|procedure|block|rolled_back)'/'pooled'/gr } map { @{ $reads{$_} } } grep { $_ ne 'shares' } sort keys %reads ];
query("SELECT shardid_readers.add_reader('$_', 'orders', 0, " . ($_ eq 'shares' ? 3 : 1) . ')') for sort keys %reads;

# PgBouncer in transaction mode, with fewer sessions than clients.
my ($pooler, @running);
my ($folder, $port) = (PostgreSQL::Test::Utils::tempdir_short(), PostgreSQL::Test::Cluster::get_free_port());

sub start_pooler
{
	unlink "$folder/ini";
	append_to_file("$folder/ini", <<"CONF");
[databases]
postgres = user=pooled host=@{[ $node->host ]} port=@{[ $node->port ]}
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_login_retry = 0.1
CONF
	$pooler = IPC::Run::start([ '/usr/sbin/pgbouncer', '-q', "$folder/ini" ], '>', "$folder/said", '2>&1');
	usleep 20_000 until -S "$folder/.s.PGSQL.$port" || !$pooler->pumpable;
	return "host=$folder port=$port";
}

sub await_rows
{
	my $orders = query('SELECT count(*) FROM orders');
	return $node->poll_query_until('postgres', "SELECT count(*) > $orders + 100 FROM orders") || die 'no rows';
}

sub start_load
{
	my $pool = start_pooler();
	my $row = 'INSERT INTO orders (n) VALUES (1)';
	my $sleep = q{SELECT '', pg_sleep(0.015 * random())};
	push @running, start_clients($node, 1, "$into 'last_id', id FROM orders WHERE id > (SELECT coalesce(max(id), 0) FROM got WHERE name = 'last_id')", reconnect => 1, pause_ms => 10);
	push @running, map { start_clients($_ eq 'pooled' ? $pool : $node, /pooled|shares/ ? 2 : 1, $reads{$_}, reconnect => 1, tolerate => '55000', pause_ms => 10) } sort keys %reads;
	# What is prepared by a session that ends is committed by the next one.
	push @running, map { start_clients($_ > 2 ? $pool : $node, 1, [
		$row, 'BEGIN', $row, $sleep, $row, 'COMMIT',
		'INSERT INTO orders (n) SELECT 1 FROM generate_series(1, 60)',
		q{INSERT INTO orders SELECT id FROM (SELECT new_id() AS id, pg_sleep(0.01) OFFSET 0) i},
		'BEGIN', 'SAVEPOINT a', $row, 'ROLLBACK TO a', $row, $sleep, 'COMMIT', 'BEGIN', $row, $sleep, 'ROLLBACK',
		'BEGIN', $row, 'SAVEPOINT a', $row, "PREPARE TRANSACTION 'p$_'", $sleep, "COMMIT PREPARED 'p$_'" ],
		reconnect => 1, tolerate => '42704,42710') } 1 .. 4;
	return await_rows();
}

sub end_load
{
	# Its clients would wait for a server that is gone.
	$pooler->kill_kill;
	finish_clients($_, 1) for splice @running;
	return;
}

# Ends the writers and the readers, which then have all.
sub has_all
{
	my ($what) = @_;
	my $not_got = q{FROM orders o LEFT JOIN got g ON g.name = '%s' AND g.id = o.id WHERE g.id IS NULL};
	ok($node->poll_query_until('postgres', sprintf "SELECT count(*) > 0 $not_got AND o.id < (SELECT max(id) FROM got WHERE name = 'last_id')", 'last_id'),
		"$what: id > last misses rows");
	await_rows();
	end_load();
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'}) or die 'not ended';
	query("COMMIT PREPARED '$_'") for split /\n/, query('SELECT gid FROM pg_prepared_xacts');
	my $orders = query('SELECT count(*) FROM orders');
	for my $name (sort keys %reads)
	{
		my $missed;
		for (1 .. 100)
		{
			query(join ";\n", 'SELECT pg_sleep(0.002)', @{ $reads{$name} });
			$missed = query(sprintf "SELECT count(*) $not_got", $name) or last;
		}
		my $late = $name eq 'shares' ? 0 : query("SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY n) AS is_late FROM got WHERE name = '$name') s WHERE is_late");
		is("$missed $late", '0 0', "$what: $name has all of $orders rows, in order");
		note_fault("$what: rows that $name missed", 1, $orders, $missed);
	}
	return;
}

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
for my $round (1 .. rounds(1, 10))
{
	start_load();
	end_sessions($node, rounds(2, 60));
	kill_node($node);
	set_fake_clock($clock, '-2');
	with_fake_clock($clock, sub { start_again($node) });
	end_sessions($node, rounds(2, 60));
	set_fake_clock($clock, $_), usleep 200_000 for '-3', '+0';
	has_all('sessions terminated, kill -9, clock set back');
}

# From here on the generator is leased; its ids are ahead of the clock after the takeover.
query(registry_here() . <<'SQL');
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
SELECT shardid_lease.lease_shard('ids', 'here', generator => 'g');
ALTER TABLE orders ALTER id SET DEFAULT next_id(generator => 'g');
CREATE OR REPLACE FUNCTION new_id() RETURNS bigint RETURN next_id(generator => 'g');
SQL

my $primary = $node;
my $standby = new_standby($primary, 'standby');
wait_for_standby($primary);
like(error_on($standby, q{SELECT * FROM shardid_readers.next_rows('plain', NULL::orders)}), qr/^55000: recovery is in progress/, 'refused on a standby');
start_load();
kill_node($primary);
end_load();
$standby->promote;
$node = $standby;
query("ALTER SERVER here OPTIONS (SET port '@{[ $node->port ]}'); SELECT shardid_lease.registry_was_moved(); SELECT shardid_lease.take_over_shard('g')");
start_load();
has_all('a leased generator, failover to a synchronous standby');

$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
start_again($primary);
$_->stop for $primary, $standby;
done_testing();
