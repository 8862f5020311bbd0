# A shard moves between two servers, to and fro, by examples/move/move_shard.py, under sixteen writers that change to
# the other server when they are refused; one clock is 5 s behind; some movers are killed or terminated at a random
# moment, and run again or undone. Every id that a writer received is afterwards in the shard, once, and on one server;
# no id is repeated, whether its row was kept or not; and writers wait for less than a second.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(sum);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $seed = $ENV{SHARDID_SEED} || time;
note "SHARDID_SEED=$seed";
diag "SHARDID_SEED=$seed" if $ENV{FULL};
srand $seed;

my $moves = $ENV{ROUNDS} || 200;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
my $conf = "max_prepared_transactions = 5\nwal_retrieve_retry_interval = 100ms\n";
my $north = new_node('north', $conf, allows_streaming => 'logical');
my $south;
set_fake_clock($clock, '-5s');
with_fake_clock($clock, sub { $south = new_node('south', $conf, allows_streaming => 'logical') });
$north->safe_psql('postgres', slurp_file('examples/move/shard.sql'));
my @servers = map { $_->connstr('postgres') } $north, $south;
my $behind = $north->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())') -
  $south->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())');
ok(abs($behind - 5) < 1, 'one clock is 5 s behind');

sub now { return clock_gettime(CLOCK_MONOTONIC) }

# --- Writers: some commit, some roll back, and some draw ids and write nothing.

my $insert = q(INSERT INTO shard5.photos (name) VALUES ('rolled back') RETURNING id);
my %writers = (
	keep => [ 16, 40 ],
	roll => [ 2, 20, 'BEGIN', $insert, 'ROLLBACK' ],
	draw => [ 2, 20, q(SELECT next_id(5, 'shard5.ids')) ]);

sub start_writers
{
	my ($name, $sessions, $pause_ms, @statements) = @_;
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDERR, '>', "$dir/$name.error" or die;
		exec 'examples/move/writer.py', '--sessions', $sessions, '--pause-ms', $pause_ms, (map { ('--statement', $_) } @statements),
		  "$dir/$name", @servers;
		die "exec: $!";
	}
	return { pid => $pid, files => [ map { "$dir/$name.$_" } 1 .. $sessions ] };
}

sub finish_writers
{
	my ($writers) = @_;
	kill 'TERM', $writers->{pid};
	waitpid $writers->{pid}, 0;
	return $?;
}

# --- The mover.

my $log = "$dir/mover";

sub start_mover
{
	my ($command, $from, $to, @options) = @_;
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', $log or die;
		open STDERR, '>&', \*STDOUT or die;
		exec 'examples/move/move_shard.py', @options, $command, 'shard5', '--from', $servers[$from], '--to', $servers[$to];
		die "exec: $!";
	}
	return $pid;
}

sub run_mover
{
	my $pid = start_mover(@_);
	waitpid $pid, 0;
	return $? >> 8;
}

# Ends the mover at a random moment of the time that a move usually takes.
sub interrupt_mover
{
	my ($from, $to, $usual) = @_;
	my $pid = start_mover('finish', $from, $to);
	usleep 1_000_000 * rand $usual;
	kill rand() < 0.3 ? 'TERM' : 'KILL', $pid;
	waitpid $pid, 0;
	return;
}

my $at = 0;
my (@moves, @usual, $interruptions, $undone);

sub move
{
	my ($is_interrupted) = @_;
	my ($from, $to) = ($at, 1 - $at);
	my $begin = now();
	if ($is_interrupted)
	{
		my $usual = @usual ? sum(@usual) / @usual : 3;
		do
		{
			interrupt_mover($from, $to, $usual);
			$interruptions++;
			if (rand() < 0.2)
			{
				my $refused = run_mover('undo', $from, $to);
				$undone++ unless $refused;
			}
		} while (rand() < 0.3);
	}
	my $status = run_mover('finish', $from, $to);
	push @moves, { begin => $begin, is_interrupted => $is_interrupted };
	push @usual, now() - $begin unless $is_interrupted;
	return 0 if $status;
	$at = $to;
	return 1;
}

# --- Moves.

my %running = map { $_ => start_writers($_, @{ $writers{$_} }) } sort keys %writers;
usleep 500_000;
my $done = 0;
for my $n (1 .. $moves)
{
	last unless move($n > 2 && rand() < 0.25);
	$done++;
	usleep 1_000_000 * rand 0.3;
}
is($done, $moves, "$moves moves came to their end, with " . ($interruptions // 0) . ' interruptions') or diag slurp_file($log);
note sprintf '%d of them undone', $undone // 0;

# --- The switch waits for a prepared transaction, whose row moves as well.

my @nodes = ($north, $south);
my $prepared = $nodes[$at]->safe_psql('postgres', "BEGIN; INSERT INTO shard5.photos (name) VALUES ('prepared') RETURNING id; PREPARE TRANSACTION 'long'");
push @moves, { begin => now(), is_interrupted => 1 };
my $waiting = start_mover('finish', $at, 1 - $at);
usleep 2_000_000;
is($nodes[1 - $at]->safe_psql('postgres', q(SELECT count(*) FROM pg_class WHERE oid = to_regclass('shard5.ids'))), 0, 'the target is not open');
$nodes[$at]->safe_psql('postgres', q(COMMIT PREPARED 'long'));
waitpid $waiting, 0;
is($?, 0, 'the move goes on when it is committed');
$at = 1 - $at;
is($nodes[$at]->safe_psql('postgres', "SELECT name FROM shard5.photos WHERE id = $prepared"), 'prepared', 'its row is there');

usleep 300_000;
for my $name (sort keys %running)
{
	is(finish_writers($running{$name}), 0, "writers: $name: no other error than those of a shard that is elsewhere")
	  or diag slurp_file("$dir/$name.error");
}

# --- No row is lost or doubled, no id is repeated.

sub query { return $nodes[$at]->safe_psql('postgres', $_[0]) }
my %told = map { $_ => 1 } map { @$_ } @{ read_told($running{keep}) };
my %stored = map { $_ => 1 } split /\n/, query(q(SELECT id FROM shard5.photos WHERE name <> 'prepared'));
my $lost = grep { !$stored{$_} } keys %told;
my $untold = grep { !$told{$_} } keys %stored;
is($lost, 0, 'of ' . keys(%told) . ' rows that were told none is lost');
is($untold, 0, 'and none is there that nobody was told of');
is(query('SELECT count(*) - count(DISTINCT id) FROM shard5.photos'), 0, 'none is twice on the server that has the shard');
is($nodes[ 1 - $at ]->safe_psql('postgres', q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard5')), 0, 'and none on the other');
is(query('SELECT sum(photos) FROM shard5.tallies'), scalar keys %told, 'updates are counted as often as they were made');
is(query('SELECT count(DISTINCT photo) FROM shard5.events'), scalar keys %told, 'a row that came with it is there');
is(query('SELECT last_value >= (SELECT max(number) FROM shard5.events) FROM shard5.events_number_seq'), 't', 'the plain sequence has come along');
note_fault("moves of a shard, $done, rows lost or twice", $done, scalar keys %told, $lost + $untold);
is_innocent(judge_clients([ values %running ], lead_ms => -1), 'moves of a shard, the clock of one server 5 s behind', $done);

for my $node (@nodes)
{
	is($node->safe_psql('postgres', <<'SQL'), '', $node->name . ': nothing is left behind');
SELECT slot_name FROM pg_replication_slots UNION ALL SELECT pubname FROM pg_publication
UNION ALL SELECT subname FROM pg_subscription UNION ALL SELECT shard FROM shard_move.sealed
UNION ALL SELECT move FROM shard_move.marker UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
SQL
}

# --- How long a writer waited: from its last row on one server to its first on the other.

sub pauses
{
	my ($file) = @_;
	my (@pauses, $end_before, $server_before);
	for (split /\n/, slurp_file($file))
	{
		my (undef, undef, $end, undef, $server) = split / /;
		push @pauses, [ $end / 1e9, ($end - $end_before) / 1e6 ] if defined $server_before && $server != $server_before;
		($end_before, $server_before) = ($end, $server);
	}
	return @pauses;
}

sub of_interrupted
{
	my ($pause) = @_;
	return (grep { $pause->[0] >= $_->{begin} } @moves)[-1]{is_interrupted};
}

sub quantile
{
	my ($share, @values) = @_;
	return (sort { $a <=> $b } @values)[ POSIX::floor($share * $#values + 0.5) ];
}

sub tell_pauses
{
	my ($which, @pauses) = @_;
	return unless @pauses;
	my $ms = sprintf 'median %.0f, p99 %.0f, longest %.0f ms', map { quantile($_, @pauses) } 0.5, 0.99, 1;
	note "$which: $ms";
	note_fault("pauses of writers, $which, above a second: $ms", $done, scalar @pauses, scalar grep { $_ >= 1000 } @pauses);
	return;
}

my (@whole, @interrupted);
for my $pause (map { pauses($_) } @{ $running{keep}{files} })
{
	if (of_interrupted($pause)) { push @interrupted, $pause->[1] }
	else { push @whole, $pause->[1] }
}
tell_pauses('moves', @whole);
tell_pauses('movers interrupted, and the one that had to wait', @interrupted);
cmp_ok(scalar @whole, '>', 0.9 * 16 * (grep { !$_->{is_interrupted} } @moves), 'the writers have met the moves');
cmp_ok(quantile(0.99, @whole), '<', 1000, 'p99 of the pauses is under a second') if $ENV{FULL};

# --- The judge detects a generator that was not raised: here one that is reset while the clock is behind.

set_fake_clock($clock, '-60s');
run_mover('finish', 1, 0) if $at == 1;
my $before = start_clients($north, 2, q(SELECT next_id(5, 'shard5.ids')), rounds => 20);
finish_clients($before);
is(run_mover('finish', 0, 1), 0, 'one move more');
my $raised = start_clients($south, 2, q(SELECT next_id(5, 'shard5.ids')), rounds => 20);
finish_clients($raised);
is(judge_clients([ $before, $raised ], lead_ms => -1)->{violations}, 0, 'a generator that was raised goes on above');
$south->safe_psql('postgres', 'ALTER SEQUENCE shard5.ids RESTART');
my $forgetful = start_clients($south, 2, q(SELECT next_id(5, 'shard5.ids')), rounds => 20);
finish_clients($forgetful);
cmp_ok(judge_clients([ $before, $forgetful ], lead_ms => -1)->{crossings}, '>', 0, 'one that forgets is seen');

$_->stop for @nodes;
done_testing();
