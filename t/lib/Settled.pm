# What the tests of settled_below share: tables whose rows consumers read while writers insert, and the count of rows that
# a consumer has missed; and what Session has.
package Settled;

use Docs;
use ShardidTest;
use Exporter 'import';
use Session;

our @EXPORT = (
	qw(create_tables start_consumers stop_consumers start_scripts finish_scripts random_script finish_prepared deliver_all
	  missed is_delivered),
	@Session::EXPORT);

# Photos have ids of the generators g and h, with other shards, clips ids of k, in another layout. Each consumer keeps
# what was delivered to it in a table. A row that is delivered twice is an error. Next to it each reads "id > last".
sub create_tables
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE g CACHE 2;
CREATE SEQUENCE h CACHE 2;
CREATE SEQUENCE k CACHE 2;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), name text);
CREATE TABLE clips (id bigint PRIMARY KEY DEFAULT next_id(1, 'k', '2020-01-01 00:00:00+00', 4, 8), name text);
CREATE TABLE readers (name text PRIMARY KEY, below bigint NOT NULL);
CREATE TABLE consumers (name text PRIMARY KEY, source regclass, bound text, last bigint DEFAULT 0, naive bigint DEFAULT 0,
	polls bigint DEFAULT 0, decreased bigint DEFAULT 0);
CREATE TABLE delivered (name text, id bigint, PRIMARY KEY (name, id));
CREATE TABLE naively_delivered (name text, id bigint);
CREATE INDEX ON naively_delivered (name, id);
CREATE TABLE control (stop boolean);
INSERT INTO control VALUES (false);
INSERT INTO consumers (name, source, bound) VALUES
	('first', 'photos', $$least(settled_below('g'), settled_below('h'))$$),
	('second', 'photos', $$least(settled_below('h'), settled_below('g'))$$),
	('third', 'clips', $$settled_below('k', '2020-01-01 00:00:00+00', 4, 8)$$);
SQL
	return;
}

# The script of one poll: the transaction of docs/new-rows.md as it is printed, except for names, and "id > last". A
# generator that notes or knows nothing for the moment is asked again.
sub poll
{
	my ($node, $name) = @_;
	my ($source, $bound) = split /\|/, $node->safe_psql('postgres',
		"INSERT INTO readers VALUES ('$name', 0) ON CONFLICT DO NOTHING; SELECT source, bound FROM consumers WHERE name = '$name'");
	my $read = block_of('new-rows.md', "BEGIN;\nSELECT below");
	$read =~ s/'mailer'/'$name'/g;
	$read =~ s/ids\.settled_below\('ids\.order_ids'\)/$bound/ or die;
	$read =~ s/mails SELECT id, item FROM orders/delivered SELECT '$name', id FROM $source/ or die;
	return <<"SQL";
$read
INSERT INTO naively_delivered SELECT '$name', id FROM $source WHERE id > (SELECT naive FROM consumers WHERE name = '$name');
UPDATE consumers SET last = :bound, polls = polls + 1, decreased = decreased + (:bound < last)::int,
	naive = greatest(naive, (SELECT max(id) FROM naively_delivered WHERE name = '$name'))
WHERE name = '$name';
SQL
}

my $quietly = "\\set VERBOSITY sqlstate\n\\set bound 0\n\\set stop f\n";

sub start_consumers
{
	my ($node, @names) = @_;
	$node->safe_psql('postgres', 'UPDATE control SET stop = false');
	# Without a pause, consumers would keep the processors from the writers.
	my $pause = rounds(0.004, 0.0005);
	my $dir = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$dir/$_", "SELECT stop FROM control \\gset\n" . poll($node, $_) . "SELECT pg_sleep($pause * random());\n") for @names;
	return start_scripts($node, 'consumer', map { $quietly . "\\if :stop \\else\n\\i $dir/$_\n\\endif\n" x rounds(20_000, 1_000_000) } @names);
}

sub stop_consumers
{
	my ($node, $consumers) = @_;
	$node->safe_psql('postgres', 'UPDATE control SET stop = true');
	my $said = finish_scripts($consumers);
	unlike($said, qr/ERROR:  (?!55000|25P02)/, 'no consumer has failed');
	return;
}

# One psql for each script. A session that was terminated connects again with the rest, in parts.
sub start_scripts
{
	my ($node, $name, @scripts) = @_;
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
# %params: transactions; also, a list of such kinds.
sub random_script
{
	my (%params) = @_;
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
		@{ $params{also} // [] });
	my $script = '';
	for my $n (1 .. $params{transactions})
	{
		my @statements = @{ $kinds[ rand @kinds ] };
		for (@statements)
		{
			s/^SLEEP$/sprintf 'SELECT pg_sleep(%.4f);', 0.012 * rand/e;
			s/^END$/rand() < 0.7 ? 'COMMIT;' : 'ROLLBACK;'/e;
			if ($_ eq 'PREPARE')
			{
				my $name = 'p' . ++$prepared;
				my $later = !$params{also} && rand() < 0.3 ? '' : sprintf 'SELECT pg_sleep(%.4f); COMMIT PREPARED \'%s\';', 0.03 * rand, $name;
				$_ = "PREPARE TRANSACTION '$name'; $later";
			}
		}
		# An id must not be used in a later transaction than its own.
		$script .= "SET lock_timeout = '100ms';\n\\set id NULL\n" . join("\n", @statements) . "\n" . ($n % 20 ? '' : "-- part\n");
	}
	return $script;
}

# Commits what is still prepared.
sub finish_prepared
{
	my ($node) = @_;
	$node->safe_psql('postgres', "COMMIT PREPARED '$_'")
	  for split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	return;
}

# Two polls, of which the second may be for the last millisecond.
sub deliver_all
{
	my ($node, @names) = @_;
	for (@names)
	{
		my $poll = poll($node, $_);
		$node->psql('postgres', "$quietly$poll;SELECT pg_sleep(0.002);\n$poll");
	}
	return;
}

# How many rows of its source a consumer has not got, of the table that keeps them. The least of several generators is
# not later than the one that was idle for longest: so of photos those count that the consumer has passed.
sub missed
{
	my ($node, $name, $table) = @_;
	$table //= 'delivered';
	my ($source, $last, $naive) = split /\|/,
	  $node->safe_psql('postgres', "SELECT source, below, naive FROM consumers JOIN readers USING (name) WHERE name = '$name'");
	my $passed = $table ne 'delivered' ? "s.id < $naive" : $source eq 'photos' ? "s.id < $last" : 'true';
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM $source s WHERE $passed AND NOT EXISTS (SELECT FROM $table d WHERE d.name = '$name' AND d.id = s.id)");
}

# One assertion for each consumer, and a line in the table of faults.
sub is_delivered
{
	my ($node, $what, @names) = @_;
	deliver_all($node, @names);
	for my $name (@names)
	{
		my ($got, $polls) = split /\|/, $node->safe_psql('postgres',
			"SELECT (SELECT count(*) FROM delivered WHERE name = '$name'), polls FROM consumers WHERE name = '$name'");
		my $missed = missed($node, $name);
		is($missed, 0, "$what: the $name consumer has missed none of $got rows in $polls polls");
		note_fault("$what: rows that a consumer missed", 1, $got, $missed);
	}
	return;
}

1;
