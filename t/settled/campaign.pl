# Consumers that read below settled_below get each committed row exactly once, whatever the writers' transactions do: while
# sessions are terminated, the generators are moved and altered, over crashes, a clock that is set back and forth, and
# failover to a synchronous standby. An idle generator that is ahead of the clock delivers its last row by the second
# poll. SHARDID_SEED repeats the scripts of a run.
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || time;
srand $seed;
note "SHARDID_SEED=$seed";

my $node = new_node('settled', <<'CONF', allows_streaming => 1);
max_prepared_transactions = 500
deadlock_timeout = '20ms'
autovacuum_naptime = '1s'
CONF
sub query { return $node->safe_psql('postgres', $_[0]) }

# Photos have ids of the generators g and h, with other shards, clips ids of k, in another layout. Each consumer keeps
# what was delivered to it in a table. A row that is delivered twice is an error.
query(<<'SQL');
CREATE SEQUENCE g CACHE 2;
CREATE SEQUENCE h CACHE 2;
CREATE SEQUENCE k CACHE 2;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), name text);
CREATE TABLE clips (id bigint PRIMARY KEY DEFAULT next_id(1, 'k', '2020-01-01 00:00:00+00', 4, 8), name text);
CREATE TABLE readers (name text PRIMARY KEY, below bigint NOT NULL);
CREATE TABLE consumers (name text PRIMARY KEY, source regclass, bound text, last bigint DEFAULT 0,
	polls bigint DEFAULT 0, decreased bigint DEFAULT 0);
CREATE TABLE delivered (name text, id bigint, PRIMARY KEY (name, id));
CREATE TABLE control (stop boolean);
INSERT INTO control VALUES (false);
INSERT INTO consumers (name, source, bound) VALUES
	('photos', 'photos', $$least(settled_below('g'), settled_below('h'))$$),
	('clips', 'clips', $$settled_below('k', '2020-01-01 00:00:00+00', 4, 8)$$);
SQL

# The script of one poll. A generator that notes or knows nothing for the moment is asked again.
sub poll
{
	my ($name) = @_;
	my ($source, $bound) = split /\|/, query(
		"INSERT INTO readers VALUES ('$name', 0) ON CONFLICT DO NOTHING; SELECT source, bound FROM consumers WHERE name = '$name'");
	return <<"SQL";
BEGIN;
SELECT below AS first FROM readers WHERE name = '$name' FOR UPDATE \\gset
SELECT $bound AS bound \\gset
INSERT INTO delivered SELECT '$name', id FROM $source WHERE id >= :first AND id < :bound;
UPDATE readers SET below = greatest(below, :bound) WHERE name = '$name';
COMMIT;
UPDATE consumers SET last = :bound, polls = polls + 1, decreased = decreased + (:bound < last)::int
WHERE name = '$name';
SQL
}

my $quietly = "\\set VERBOSITY sqlstate\n\\set bound 0\n\\set stop f\n";

# Without a pause, consumers would keep the processors from the writers.
sub start_consumers
{
	my ($pause, @names) = @_;
	query('UPDATE control SET stop = false');
	my $dir = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$dir/$_", "SELECT stop FROM control \\gset\n" . poll($_) . "SELECT pg_sleep($pause * random());\n") for @names;
	return start_scripts('consumer', map { $quietly . "\\if :stop \\else\n\\i $dir/$_\n\\endif\n" x rounds(20_000, 1_000_000) } @names);
}

sub stop_consumers
{
	my ($consumers) = @_;
	query('UPDATE control SET stop = true');
	unlike(finish_scripts($consumers), qr/ERROR:  (?!55000|25P02)/, 'no consumer has failed');
	return;
}

# One psql for each script. A session that was terminated connects again with the rest, in parts.
sub start_scripts
{
	my ($name, @scripts) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my @running;
	for my $n (0 .. $#scripts)
	{
		my @parts = split /^-- part\n/m, $scripts[$n];
		append_to_file("$dir/$n.$_", $parts[$_]) for 0 .. $#parts;
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			$ENV{PGAPPNAME} = $name;
			open STDOUT, '>', "$dir/said.$n" or die;
			open STDERR, '>&', \*STDOUT or die;
			my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-f');
			exec @psql, "$dir/$n.0" if @parts == 1;
			for (0 .. $#parts) { system @psql, "$dir/$n.$_" }
			POSIX::_exit(0);
		}
		push @running, $pid;
	}
	return { dir => $dir, pids => \@running };
}

# What they have printed.
sub finish_scripts
{
	my ($scripts) = @_;
	waitpid $_, 0 for @{ $scripts->{pids} };
	return join '', map { slurp_file($_) } glob "$scripts->{dir}/said.*";
}

my $prepared = 0;

# A script of random transactions. Each kind is a list of statements; SLEEP is some milliseconds, END the end of a
# transaction. Some transactions stay prepared, unless there are also kinds that wait for their locks.
sub random_script
{
	my (@also) = @_;
	my $row = q{INSERT INTO photos DEFAULT VALUES;};
	my $h = q{INSERT INTO photos (id) VALUES (next_id(101, 'h'));};
	my $clip = q{INSERT INTO clips DEFAULT VALUES;};
	my @kinds = (
		[$row], [$h], [$clip],
		[ 'BEGIN;', $row, 'SLEEP', $clip, $h, 'END' ],
		[ 'BEGIN;', $clip, 'SLEEP', $row, 'SLEEP', 'END' ],
		[ 'BEGIN;', 'SAVEPOINT a;', $row, 'ROLLBACK TO a;', 'SLEEP', $row, $clip, 'SLEEP', 'END' ],
		[ 'BEGIN;', 'SAVEPOINT a;', q{SELECT next_id(3, 'g') AS id \gset}, 'ROLLBACK TO a;', 'SLEEP',
			'INSERT INTO photos VALUES (:id);', 'SLEEP', 'END' ],
		[ 'BEGIN;', 'SAVEPOINT a;', $h, 'RELEASE a;', 'SAVEPOINT a;', 'SAVEPOINT b;', $row, 'ROLLBACK TO a;', 'SLEEP', $row, 'END' ],
		[ q{INSERT INTO photos (id) SELECT next_id(n % 50, 'g') FROM generate_series(1, 100) n;} ],
		[ 'BEGIN;', q{INSERT INTO photos (id) SELECT next_ids(107, 40, 'h');}, 'SLEEP', 'END' ],
		[ 'BEGIN;', "COPY photos (name) FROM STDIN;\nharbour\ncliff\n\\.", 'SLEEP', 'END' ],
		# More ids than a millisecond has, of which some get rows: each consumer copies every row.
		[ q{SET shardid.max_borrow = '50ms';}, q{INSERT INTO photos (id) SELECT id FROM (SELECT n, next_id(102, 'h') AS id
			FROM generate_series(1, 1200) n OFFSET 0) s WHERE n % 40 = 0;}, 'RESET shardid.max_borrow;' ],
		[ q{DO $$ BEGIN INSERT INTO photos DEFAULT VALUES; PERFORM 1 / (random() < 0.5)::int; EXCEPTION WHEN division_by_zero
			THEN INSERT INTO clips DEFAULT VALUES; PERFORM pg_sleep(0.004); END $$;} ],
		[ 'BEGIN;', $row, $clip, $h, 'PREPARE' ],
		@also);
	my $script = '';
	for my $n (1 .. rounds(60, 400))
	{
		my @statements = @{ $kinds[ rand @kinds ] };
		for (@statements)
		{
			s/^SLEEP$/sprintf 'SELECT pg_sleep(%.4f);', 0.012 * rand/e;
			s/^END$/rand() < 0.7 ? 'COMMIT;' : 'ROLLBACK;'/e;
			if ($_ eq 'PREPARE')
			{
				my $name = 'p' . ++$prepared;
				my $later = !@also && rand() < 0.3 ? '' : sprintf 'SELECT pg_sleep(%.4f); COMMIT PREPARED \'%s\';', 0.03 * rand, $name;
				$_ = "PREPARE TRANSACTION '$name'; $later";
			}
		}
		# An id must not be used in a later transaction than its own.
		$script .= (@also ? "SET lock_timeout = '100ms';\n" : '') . "\\set id NULL\n" . join("\n", @statements) . "\n" . ($n % 20 ? '' : "-- part\n");
	}
	return $script;
}

# One assertion for each consumer, after two polls, of which the second may be for the last millisecond; and a line in
# the table of faults. The least of several generators is not later than the one that was idle for longest: so of photos
# those count that the consumer has passed.
sub is_delivered
{
	my ($what, @names) = @_;
	for my $name (@names)
	{
		my $poll = poll($name);
		$node->psql('postgres', "$quietly$poll;SELECT pg_sleep(0.002);\n$poll");
		my ($source, $below, $polls) = split /\|/, query("SELECT source, below, polls FROM consumers JOIN readers USING (name) WHERE name = '$name'");
		my $passed = $source eq 'photos' ? "s.id < $below" : 'true';
		my ($got, $missed) = split /\|/, query(<<"SQL");
SELECT count(d.id), count(*) FILTER (WHERE $passed AND d.id IS NULL) FROM $source s LEFT JOIN delivered d ON d.name = '$name' AND d.id = s.id
SQL
		is($missed, 0, "$what: the consumer of $name has missed none of $got rows in $polls polls");
		note_fault("$what: rows that a consumer missed", 1, $got, $missed);
	}
	return;
}

my @names = ('photos', 'clips');

sub start_load
{
	my (@also) = @_;
	return (start_consumers(rounds(0.012, 0.0005), @names), start_scripts('writer', map { random_script(@also) } 1 .. 8));
}

# What is done meanwhile, to writers and consumers, which then have each row.
sub delivers_under_load
{
	my ($what, $meanwhile, @also) = @_;
	my ($consumers, $writers) = start_load(@also);
	$meanwhile->();
	finish_scripts($writers);
	stop_consumers($consumers);
	query("COMMIT PREPARED '$_'") for split /\n/, query('SELECT gid FROM pg_prepared_xacts');
	is_delivered($what, @names);
	return;
}

sub kill_under_load
{
	my @running = start_load();
	usleep 400_000 + rand 400_000;
	kill_node($node);
	finish_scripts($_) for @running;
	return;
}

# Another session, which runs some of the statements in turn.
sub repeat
{
	my (@statements) = @_;
	my $script = join '', map { $statements[ rand @statements ] =~ s/NUMBER/$_/r . sprintf(";\nSELECT pg_sleep(%.3f);\n", 0.01 + 0.05 * rand) }
	  1 .. rounds(40, 100);
	return sub { finish_scripts(start_scripts('other', "SET lock_timeout = '100ms';\n$script")) };
}

# g, which is not ahead of the clock, is moved back; h, which is, forward only.
my @moves = (q(SELECT setval('g', 1)),
	q(SELECT raise_generator('h', id_lower_bound(clock_timestamp() + interval '300 ms'))),
	q(SELECT setval('h', id_lower_bound(clock_timestamp() + interval '1 s' * NUMBER) >> 23 << 10)));
my $terminate = q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'writer' ORDER BY random() LIMIT 1);
my @commands = ('VACUUM photos', 'CREATE INDEX CONCURRENTLY by_name ON photos (name)', 'DROP INDEX CONCURRENTLY IF EXISTS by_name',
	'SELECT count(*) FROM pg_locks', 'CHECKPOINT', 'ANALYZE photos');

# In transactions that also generate ids: the storage is replaced, and comes back. A rollback to the savepoint alone ends
# CACHE 1.
my @altered = map {
	[ 'BEGIN;', 'SAVEPOINT a;', "ALTER SEQUENCE g $_;", q{SELECT next_id(1, 'g') AS id \gset}, 'ROLLBACK TO a;', 'SLEEP',
		'INSERT INTO photos VALUES (:id);', 'INSERT INTO photos DEFAULT VALUES;', 'SLEEP', 'END' ],
	  $_ eq 'CACHE 1' ? () : [ 'BEGIN;', 'INSERT INTO photos DEFAULT VALUES;', "ALTER SEQUENCE g $_;", 'INSERT INTO photos DEFAULT VALUES;',
		'SLEEP', 'END' ]
} 'INCREMENT BY 1', 'CACHE 3', 'RESTART', 'CACHE 1';

# Nothing gets lost between a transaction's note of its first id and the generator's position, in either order. Many locks
# of another session make the lock table slow to read, so that each gap is some milliseconds long; and only k moves.
my $holder = open_session($node);
ask($holder, 'SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 20000) n;');
my @together = qw(clips clips_2 clips_3 clips_4);
query("INSERT INTO consumers SELECT '$_', source, bound FROM consumers WHERE name = 'clips'") for @together[ 1 .. 3 ];
my $consumers = start_consumers(rounds(0.004, 0.0005), @together);
my $transaction = "BEGIN;\nINSERT INTO clips DEFAULT VALUES;\nSELECT pg_sleep(0.004);\nCOMMIT;\n";
unlike(finish_scripts(start_scripts('writer', ($transaction x rounds(200, 5000)) x 8)), qr/ERROR/, 'no writer has failed');
stop_consumers($consumers);
is_delivered('a slow lock table', @together);
close_session($holder);

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
delivers_under_load('sessions terminated, generators moved and altered', repeat(@moves, ($terminate) x 3, @commands), @altered)
  for 1 .. rounds(1, 30);

# From here on the server follows another clock, which is slow to read. No SIGALRM: see with_fake_clock.
$node->append_conf('postgresql.conf', "deadlock_timeout = '1h'\n");
for my $round (1 .. rounds(1, 30))
{
	kill_under_load();
	my $behind = $round % 2 ? -3 : 0;
	set_fake_clock($clock, sprintf '%+d', $behind);
	with_fake_clock($clock, sub { start_again($node) });
	delivers_under_load('kill -9, and the clock set back and forth', sub {
		for my $offset (-0.1, 0.3, 0.05, 0)
		{
			usleep 150_000 + rand 150_000;
			set_fake_clock($clock, sprintf '%+.2f', $behind + $offset);
		}
	});
}

# Idle, and 10 s ahead of the clock: time passes for the generator as it is polled.
set_fake_clock($clock, '+0');
query('INSERT INTO clips DEFAULT VALUES');
set_fake_clock($clock, '-10');
is_delivered('idle and ahead of the clock', 'clips');
set_fake_clock($clock, '+0');

# Failover.
my $primary = $node;
my $standby = new_standby($primary, 'standby');
wait_for_standby($primary);
like(error_on($standby, q(SELECT settled_below('g'))), qr/^55000: recovery is in progress/, 'refused on a standby');
kill_under_load();
$standby->promote;
$node = $standby;
delivers_under_load('failover to a synchronous standby', sub { });

is(query(q(SELECT decreased FROM consumers WHERE name = 'clips')), 0,
	'the id that settled_below returns never decreased for the generator that nothing moved');

# A killed server leaves its shared memory behind until it is started once more.
$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
start_again($primary);
$_->stop for $primary, $standby;
done_testing();
