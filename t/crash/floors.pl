# No committed position of a generator is ever undone: random transactions of setval, RESTART, other ALTER SEQUENCE,
# raise_generator and ids in two layouts, often ahead of the clock, with savepoints, are compared with a model, on the
# server, on its standby and after crashes. SHARDID_SEED repeats a run.
use Time::HiRes 'time';
use Floors;
use Session;
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || int rand 1e9;
srand $seed;
diag("SHARDID_SEED=$seed");
my $most_ahead_ms = 2 * 60 * 60 * 1000;
my $is_over_ms = 60 * 60 * 1000;

my $node = new_node('primary', "autovacuum = off\nwal_consistency_checking = 'sequence'\n", allows_streaming => 1);
$node->safe_psql('postgres', 'CREATE SEQUENCE s; CREATE TABLE flushed ()');
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', "wal_retrieve_retry_interval = '100ms'\n");
$standby->start;
my ($on_primary, $on_standby) = map { open_session($_) } $node, $standby;

sub one_of { return $_[ rand @_ ] }

# Small, or up to two hours ahead in one of the layouts.
sub position
{
	return 1 + int rand 2000 if rand() < 0.2;
	return Floors::position_at(one_of('a', 'b'), int(1000 * time + rand $most_ahead_ms), int rand 1024);
}

# Each returns a statement and what it does to the model when it has returned this.
my $model = Floors->new;
my ($layout, $drawn, @wrong) = 'a';
my %kinds = (
	draw => sub {
		my $its = rand() < 0.7 ? $layout : one_of('a', 'b');
		$layout = $its;
		return ("SELECT next_id(1, 's'$Floors::arguments{$its})",
			sub { ++$drawn; $model->drawn($its, Floors::tick_of($its, $_[0])) });
	},
	raise => sub {
		my $its = $layout;
		my $id = int(1000 * time + rand $most_ahead_ms) - 1314220021721 << 23;
		return ("SELECT raise_generator('s', $id$Floors::arguments{$its})",
			sub { $model->raised($its, Floors::tick_of($its, $_[0]) - 1) });
	},
	setval => sub {
		my ($to, $called) = (position(), int rand 2);
		return ("SELECT setval('s', $to, '$called')", sub { $model->set($to, $called) });
	},
	restart => sub {
		my $to = position();
		return ("ALTER SEQUENCE s RESTART WITH $to", sub { $model->altered($to) });
	},
	restart_at_start => sub { return ('ALTER SEQUENCE s RESTART', sub { $model->altered(1) }) },
	alter => sub { return ('ALTER SEQUENCE s CACHE ' . int(1 + rand 9), sub { $model->altered }) },
	savepoint => sub { return ('SAVEPOINT a', sub { $model->savepoint }) },
	release => sub { return ('RELEASE a', sub { $model->release }) },
	rollback_to => sub { return ('ROLLBACK TO a', sub { $model->rolled_back_to }) });
my @kinds = (('draw') x 8, ('savepoint') x 4, ('rollback_to') x 4, ('alter') x 3, ('setval') x 2, ('restart') x 2, qw(restart_at_start raise release));

# A savepoint is released or rolled back to only where there is one.
sub planned
{
	my ($open, @planned) = 0;
	for (1 .. 3 + rand 12)
	{
		my $kind = one_of(@kinds);
		redo if !$open && $kind =~ /^r(elease|ollback_to)/;
		$open += { savepoint => 1, release => -1 }->{$kind} // 0;
		push @planned, [ $kinds{$kind}->() ];
	}
	return @planned;
}

# Runs the statements; returns for each whether it failed, and what it returned.
sub run
{
	my @lines = split /\n/, ($node->psql('postgres', join('', map { "$_;\n\\echo = :ERROR\n" } @_), on_error_stop => 0))[1];
	my ($returned, @outcomes) = '';
	for my $line (@lines)
	{
		if ($line =~ /^= (\w+)/) { push @outcomes, [ $1 eq 'true', $returned ]; $returned = '' }
		else { $returned = $line }
	}
	return @outcomes;
}

# A transaction; of a statement that fails, psql's ON_ERROR_ROLLBACK or a ROLLBACK TO leaves nothing.
sub transaction
{
	my @planned = planned();
	my ($end, $errors) = (one_of('COMMIT', 'COMMIT', 'ROLLBACK'), one_of('on', 'off'));
	my @outcomes = run("\\set ON_ERROR_ROLLBACK $errors\nBEGIN", (map { $_->[0] } @planned), $end);
	my @said = ("seed $seed, ON_ERROR_ROLLBACK $errors: BEGIN");
	my $is_aborted = 0;
	$model->begin;
	shift @outcomes;
	for my $planned (@planned)
	{
		my ($statement, $told) = @$planned;
		my ($failed, $returned) = @{ shift @outcomes };
		push @said, $statement . ($failed ? ' (failed)' : " -> $returned");
		$is_aborted = 0 if !$failed && $statement =~ /^ROLLBACK TO/;
		$model->used if $failed && $errors eq 'off' && !$is_aborted && $statement =~ /next_id|raise/;
		$is_aborted = 1 if $failed && $errors eq 'off';
		next if $failed;
		my $complaint = $told->($returned);
		push @wrong, join "\n", @said, $complaint if $complaint;
	}
	$model->ended($end eq 'COMMIT' && !$is_aborted);
	return join "\n", @said, $end;
}

# The WAL of what was rolled back is flushed, too, by another commit.
sub compare
{
	my ($said) = @_;
	my ($position, $lsn) = split /\|/,
	  ask($on_primary, 'INSERT INTO flushed DEFAULT VALUES; SELECT last_value, pg_current_wal_lsn() FROM s;');
	my $complaint = $model->judge($position, 1000 * time + $most_ahead_ms + $is_over_ms);
	push @wrong, "$said\nthe server is $complaint" if $complaint;
	$model->seen($position);
	my $until = time + 180;
	until (ask($on_standby, "SELECT pg_last_wal_replay_lsn() >= '$lsn';") eq 't')
	{
		die "the standby does not replay $lsn" if time > $until;
		usleep 1_000;
	}
	my $there = ask($on_standby, 'SELECT last_value FROM s;');
	push @wrong, "$said\nthe standby is at $there, below $position" if $there < $position;
	return;
}

for my $round (1 .. rounds(8, 60))
{
	my $said;
	for (1 .. 15)
	{
		$said = transaction();
		compare($said);
	}
	kill_node($node);
	start_again($node);
	close_session($on_primary);
	$on_primary = open_session($node);
	compare("$said\nand a crash");
}
is(scalar @wrong, 0, 'no position was undone') or diag(join "\n\n", @wrong[ 0 .. ($#wrong > 2 ? 2 : $#wrong) ]);
cmp_ok($drawn, '>', 100, "$drawn ids were generated");

close_session($_) for $on_primary, $on_standby;
$standby->stop;
$node->stop;
done_testing();
