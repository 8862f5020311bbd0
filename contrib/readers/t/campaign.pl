# Readers that call next_rows in each way that the page shows get every committed row exactly once, in the order of ids,
# whatever the writers' transactions do: while sessions are terminated, over crashes, a clock that is set back, and failover
# to a synchronous standby. A reader by "id > last" next to them misses rows. SHARDID_SEED repeats the scripts of a run.
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || time;
srand $seed;
note "SHARDID_SEED=$seed";

my $node = new_node('campaign', "max_prepared_transactions = 500\ndeadlock_timeout = '20ms'\n", allows_streaming => 1);
sub query { return $node->safe_psql('postgres', $_[0]) }

# What is delivered twice is an error, as in the page's own tables.
query(<<'SQL');
CREATE EXTENSION shardid_readers;
CREATE SEQUENCE g CACHE 2;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), n int);
CREATE TABLE stock (id bigint PRIMARY KEY);
CREATE TABLE got (n bigint GENERATED ALWAYS AS IDENTITY, name text, id bigint, PRIMARY KEY (name, id));
CREATE TABLE control (stop boolean);
INSERT INTO control VALUES (false);
INSERT INTO orders DEFAULT VALUES;
CREATE FUNCTION wrapped(name text) RETURNS SETOF orders LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 2 LOOP
		RETURN QUERY SELECT * FROM shardid_readers.next_rows(name, NULL::orders, 300);
	END LOOP;
END
$$;
CREATE PROCEDURE in_loop(name text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR i IN 1 .. 5 LOOP
		FOR r IN SELECT n.id FROM shardid_readers.next_rows(name, NULL::orders, 300) n JOIN orders USING (id) ORDER BY 1 LOOP
			BEGIN
				INSERT INTO got (name, id) VALUES (name, r.id);
				PERFORM 1 / (r.id % 7)::int;
			EXCEPTION WHEN division_by_zero THEN
				INSERT INTO got (name, id) VALUES (name, r.id);
			END;
		END LOOP;
		COMMIT;
	END LOOP;
END
$$;
SQL

my $into = 'INSERT INTO got (name, id) SELECT';
my %reads = (
	plain => "$into 'plain', id FROM shardid_readers.next_rows('plain', NULL::orders, 500);",
	joined => "BEGIN; $into 'joined', o.id FROM shardid_readers.next_rows('joined', NULL::orders) n JOIN orders o USING (id) ORDER BY 2; COMMIT;",
	# A function that returns a set is refused in the statement that loads the library.
	wrapped => "LOAD 'shardid_readers'; $into 'wrapped', o.id FROM wrapped('wrapped') n JOIN orders o USING (id) ORDER BY 2;",
	procedure => q{CALL in_loop('procedure');},
	block => q{LOAD 'shardid_readers'; DO $$ DECLARE r record; BEGIN FOR r IN SELECT o.id FROM wrapped('block') JOIN orders o USING (id) ORDER BY 1 LOOP
		INSERT INTO got (name, id) VALUES ('block', r.id); END LOOP; END $$;},
	rolled_back => "BEGIN; SAVEPOINT a; $into 'rolled_back', id FROM shardid_readers.next_rows('rolled_back', NULL::orders);
		SELECT random() < 0.5 AS again \\gset\n\\if :again\nROLLBACK TO a;\n\\endif\nCOMMIT;",
	shares => "$into 'shares', o.id FROM shardid_readers.next_rows('shares', NULL::orders, 200) n JOIN orders o USING (id);",
	last_id => "$into 'last_id', id FROM orders WHERE id > (SELECT coalesce(max(id), 0) FROM got WHERE name = 'last_id');");
query("SELECT shardid_readers.add_reader('$_', 'orders', 0, " . ($_ eq 'shares' ? 3 : 1) . ')') for grep { $_ ne 'last_id' } sort keys %reads;

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/$_.sql", ("SELECT stop FROM control \\gset\n\\if :stop\n\\q\n\\endif\n$reads{$_}\nSELECT pg_sleep(0.02 * random());\n") x 2000) for keys %reads;

# Each connects again after its session, or its server, has ended.
sub start_loop { return IPC::Run::start([ 'bash', '-c', "until test -e $dir/end; do PGAPPNAME=load psql -XAtq -d '" . $node->connstr('postgres') . "' -v VERBOSITY=sqlstate -f $_[0]; sleep 0.05; done" ],
		'>', '/dev/null', '2>>', "$dir/$_[1]") }

sub writes
{
	my $row = 'INSERT INTO orders (n) VALUES (1);';
	my @kinds = ([$row], [ 'BEGIN;', $row, 'SLEEP', $row, 'END' ], [ "BEGIN; SELECT next_id(2, 'g') AS id \\gset\n", 'SLEEP', 'INSERT INTO orders VALUES (:id);', 'SLEEP', 'END' ],
		[ 'BEGIN; SAVEPOINT a;', $row, 'ROLLBACK TO a;', $row, 'SLEEP', 'END' ], [ 'INSERT INTO orders (n) SELECT 1 FROM generate_series(1, 60);' ],
		[ 'BEGIN;', $row, 'SAVEPOINT a;', $row, 'PREPARE' ]);
	my ($n, $script) = (0, '');
	for (1 .. 400)
	{
		for my $statement (@{ $kinds[ rand @kinds ] })
		{
			my $name = sprintf 'p%d', rand 1e9;
			$script .= $statement =~ s/^SLEEP/sprintf 'SELECT pg_sleep(%.4f);', 0.015 * rand/er =~ s/^END/rand() < 0.7 ? 'COMMIT;' : 'ROLLBACK;'/er
			  =~ s/^PREPARE/"PREPARE TRANSACTION '$name'; SELECT pg_sleep(0.02); COMMIT PREPARED '$name';"/er . "\n";
		}
	}
	return $script;
}

my @running;

sub start_load
{
	unlink "$dir/end";
	query('UPDATE control SET stop = false');
	unlink glob "$dir/writer.*";
	append_to_file("$dir/writer.$_", writes()) for 1 .. 4;
	@running = ((map { start_loop("$dir/writer.$_", 'writers') } 1 .. 4), map { start_loop("$dir/$_.sql", 'readers') } sort(keys %reads), 'shares');
	return;
}

# Ends the writers, and then the readers when they have all.
sub has_all
{
	my ($what) = @_;
	append_to_file("$dir/end", '');
	query(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load'; UPDATE control SET stop = true});
	$_->finish for @running;
	query("COMMIT PREPARED '$_'") for split /\n/, query('SELECT gid FROM pg_prepared_xacts');
	$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'load'}) or die 'not ended';
	my $orders = query('SELECT count(*) FROM orders');
	for my $name (sort keys %reads)
	{
		my $missed;
		for (1 .. ($name eq 'last_id' ? 2 : 100))
		{
			$node->psql('postgres', "SELECT pg_sleep(0.002);\n$reads{$name}");
			$missed = query("SELECT count(*) FROM orders o LEFT JOIN got g ON g.name = '$name' AND g.id = o.id WHERE g.id IS NULL") or last;
		}
		my $late = query("SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY n) AS is_late FROM got WHERE name = '$name') s WHERE is_late");
		if ($name eq 'last_id')
		{
			cmp_ok($missed, '>', 0, "$what: id > last has missed $missed of $orders rows");
			next;
		}
		is($missed . ($name eq 'shares' ? '' : " $late"), $name eq 'shares' ? '0' : '0 0', "$what: $name has all of $orders rows, in order");
		note_fault("$what: rows that $name missed", 1, $orders, $missed);
	}
	unlike(slurp_file("$dir/readers"), qr/ERROR: +(?!57P01|55000)/, "$what: no reader has failed");
	return;
}

sub end_sessions
{
	for (1 .. rounds(2, 60))
	{
		usleep 200_000;
		query(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load' ORDER BY random() LIMIT 3});
	}
	return;
}

my $clock = "$dir/clock";
for my $round (1 .. rounds(1, 10))
{
	start_load();
	end_sessions();
	kill_node($node);
	set_fake_clock($clock, '-2');
	with_fake_clock($clock, sub { start_again($node) });
	end_sessions();
	set_fake_clock($clock, '+0');
	usleep 300_000;
	has_all('sessions terminated, kill -9, clock set back');
}

my $primary = $node;
my $standby = new_standby($primary, 'standby');
wait_for_standby($primary);
like(error_on($standby, q{SELECT * FROM shardid_readers.next_rows('plain', NULL::orders)}), qr/^55000: recovery is in progress/, 'refused on a standby');
start_load();
usleep 300_000;
kill_node($primary);
$_->kill_kill for @running;
@running = ();
$standby->promote;
$node = $standby;
start_load();
usleep 300_000;
has_all('failover to a synchronous standby');

$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
start_again($primary);
$_->stop for $primary, $standby;
done_testing();
