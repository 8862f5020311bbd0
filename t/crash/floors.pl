# No committed position of a generator is ever undone: random transactions of setval, RESTART, TRUNCATE ... RESTART
# IDENTITY, other ALTER SEQUENCE, raise_generator and ids in two layouts, often ahead of the clock, with savepoints, are
# compared with a model, on the server, on its standby and after crashes. SHARDID_SEED repeats a run.
use Time::HiRes 'time';
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || int rand 1e9;
srand $seed;
diag("SHARDID_SEED=$seed");
my $most_ahead_ms = 2 * 60 * 60 * 1000;
my $is_over_ms = 60 * 60 * 1000;

my $node = new_node('primary', "autovacuum = off\nmax_prepared_transactions = 1\nwal_consistency_checking = 'sequence'\n", allows_streaming => 1);
$node->safe_psql('postgres', 'CREATE TABLE items (id bigint); CREATE SEQUENCE s OWNED BY items.id; CREATE TABLE flushed ()');
my $standby = new_standby($node, 'standby', "wal_retrieve_retry_interval = '100ms'\n");
my ($on_primary, $on_standby) = map { open_session($_) } $node, $standby;

# --- The model: what the generator must not be below, whatever a transaction and its savepoints do.

my $epoch_ms = 1314220021721;
my %sequence_bits = (a => 10, b => 14);
my %arguments = (a => '', b => ', shard_bits => 9, sequence_bits => 14');

sub position_at
{
	my ($layout, $ms, $number) = @_;
	return ($ms - $epoch_ms) << $sequence_bits{$layout} | $number;
}

sub tick_of
{
	my ($layout, $id) = @_;
	return $id >> 23 << $sequence_bits{$layout} | $id & (1 << $sequence_bits{$layout}) - 1;
}

# The storage in use, and that from before the transaction; what was drawn in the transaction, by tick; what a ROLLBACK TO
# has lost. Of storage: its position, whether that is drawn, and its layout. Of a savepoint: its storage, and what was
# drawn since from other storage than the original.
my $storage = { floor => 1, called => 0 };
my ($original, %drawn_in, @lost, @savepoints);

sub is_replaced { return $storage != $original }

# As storage remembers what was drawn from other storage of the generator: in its own layout, else not.
sub remember
{
	my ($which, $layout, $tick) = @_;
	return if ($which->{layout} // $layout) ne $layout || $tick < $which->{floor} + $which->{called};
	@$which{qw(floor called layout)} = ($tick, 1, $layout);
	return;
}

# What is lost is remembered by the storage that is in use when the generator is next used, or at the end. The last
# layout comes first, and storage without a layout takes that one only.
sub used
{
	my @others = grep { $_->[0] != $storage } splice @lost;
	return if !@others || !is_replaced();
	my $layout = $storage->{layout} // $others[0][1];
	my ($most) = sort { $b <=> $a } map { $_->[2] } grep { $_->[1] eq $layout } @others;
	remember($storage, $layout, $most) if defined $most;
	return;
}

# Each of these returns what is wrong, if anything is.
sub drawn
{
	my ($layout, $tick) = @_;
	used();
	my $wrong = $tick < $storage->{floor} + $storage->{called} ? "$tick drawn below $storage->{floor}" : '';
	@$storage{qw(floor called layout)} = ($tick, 1, $layout);
	$drawn_in{$tick} = $layout;
	if (is_replaced())
	{
		remember($original, $layout, $tick);
		unshift @{ $_->{lost} }, [ $storage, $layout, $tick ] for @savepoints;
	}
	return $wrong;
}

# A raise generates an id, too, if the storage was replaced; else it binds storage that is further already, too.
sub raised
{
	my ($layout, $tick) = @_;
	used();
	return drawn($layout, $tick) if is_replaced();
	@$storage{qw(floor called layout)} = ($tick > $storage->{floor} ? $tick : $storage->{floor}, 1, $layout);
	return '';
}

sub moved
{
	@$storage{qw(floor called)} = @_;
	return '';
}

# New storage: at a position, or as it was, without its layout.
sub altered
{
	my ($floor) = @_;
	$storage = defined $floor ? { floor => $floor, called => 0 } : { floor => $storage->{floor}, called => $storage->{called} };
	return '';
}

sub rolled_back_to
{
	my $savepoint = $savepoints[-1];
	$storage = $savepoint->{storage};
	@lost = @{ $savepoint->{lost} } if @{ $savepoint->{lost} };
	$savepoint->{lost} = [];
	return '';
}

# Between transactions, what follows continues from the position that is seen. After a crash, storage with a layout is
# ahead of what was drawn from it by what was logged ahead, and an ALTER SEQUENCE copies this to storage without one.
# Storage that has remembered a tick without need has taken its layout, too. Nothing can be later than $last_ms. Storage
# without a layout can be at any tick of the transaction: after ROLLBACK TO, what was drawn before a RESTART is
# remembered, too.
sub seen
{
	my ($position, $last_ms) = @_;
	my ($floor, $layout) = @$storage{qw(floor layout)};
	return "at $position, below $floor" if $position < $floor;
	return '' if $position == $floor;
	@$storage{qw(floor called layout)} = ($position, 1, $layout // $drawn_in{$position});
	my $most = defined $layout ? position_at($layout, $last_ms, 0) : $floor;
	return '' if $position <= $most || !defined $layout && $drawn_in{$position};
	return "at $position, and may be at $floor or $most";
}

# --- Random transactions.

sub one_of { return $_[ rand @_ ] }

# Small, or up to two hours ahead in one of the layouts.
sub position
{
	return 1 + int rand 2000 if rand() < 0.2;
	return position_at(one_of('a', 'b'), int(1000 * time + rand $most_ahead_ms), int rand 1024);
}

# Each returns a statement and what it does to the model when it has returned this.
my ($last_layout, $drawn, @wrong) = 'a';
my %kinds = (
	draw => sub {
		my $its = rand() < 0.7 ? $last_layout : one_of('a', 'b');
		$last_layout = $its;
		return ("SELECT next_id(1, 's'$arguments{$its})", sub { ++$drawn; drawn($its, tick_of($its, $_[0])) });
	},
	raise => sub {
		my $its = $last_layout;
		my $id = int(1000 * time + rand $most_ahead_ms) - $epoch_ms << 23;
		return ("SELECT raise_generator('s', $id$arguments{$its})", sub { raised($its, tick_of($its, $_[0]) - 1) });
	},
	setval => sub {
		my ($to, $called) = (position(), int rand 2);
		return ("SELECT setval('s', $to, '$called')", sub { moved($to, $called) });
	},
	restart => sub {
		my $to = position();
		return ("ALTER SEQUENCE s RESTART WITH $to", sub { altered($to) });
	},
	restart_at_start => sub { return (one_of('ALTER SEQUENCE s RESTART', 'TRUNCATE items RESTART IDENTITY'), sub { altered(1) }) },
	alter => sub { return ('ALTER SEQUENCE s CACHE ' . int(1 + rand 9), sub { altered() }) },
	savepoint => sub { return ('SAVEPOINT a', sub { push @savepoints, { storage => $storage, lost => [] }; '' }) },
	release => sub { return ('RELEASE a', sub { pop @savepoints; '' }) },
	rollback_to => sub { return ('ROLLBACK TO a', \&rolled_back_to) });
my @kinds = (('draw') x 8, ('savepoint') x 4, ('rollback_to') x 4, ('alter') x 3, ('setval') x 2, ('restart') x 2, qw(restart_at_start raise release));

# Some transactions end with storage that they have made and restored, which then learns what was drawn; some move restored
# storage before it is replaced again. Else a savepoint is released or rolled back to only where there is one.
my @lost_at_end = qw(alter savepoint alter draw draw rollback_to);
my @moved_between = qw(savepoint alter draw rollback_to setval restart_at_start draw rollback_to);

sub planned
{
	return map { [ $kinds{$_}->() ] } one_of(\@lost_at_end, (\@moved_between) x 2)->@* if rand() < 0.3;
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
	my ($returned, @outcomes) = '';
	for my $line (split /\n/, ask($on_primary, join '', map { "$_;\n\\echo = :ERROR\n" } @_))
	{
		if ($line =~ /^= (\w+)/) { push @outcomes, [ $1 eq 'true', $returned ]; $returned = '' }
		elsif ($line =~ /^-?\d+$/) { $returned = $line }
	}
	return @outcomes;
}

# A transaction; of a statement that fails, psql's ON_ERROR_ROLLBACK or a ROLLBACK TO leaves nothing.
sub transaction
{
	my @planned = planned();
	my ($end, $errors) = (one_of('COMMIT', q(PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'), 'ROLLBACK'), one_of('on', 'off'));
	my @outcomes = run("\\set ON_ERROR_ROLLBACK $errors\nBEGIN", (map { $_->[0] } @planned), $end);
	my @said = ("seed $seed, ON_ERROR_ROLLBACK $errors: BEGIN");
	my $is_aborted = 0;
	$original = $storage;
	%drawn_in = ();
	shift @outcomes;
	for my $planned (@planned)
	{
		my ($statement, $told) = @$planned;
		my ($failed, $returned) = @{ shift @outcomes };
		push @said, $statement . ($failed ? ' (failed)' : " -> $returned");
		$is_aborted = 0 if !$failed && $statement =~ /^ROLLBACK TO/;
		used() if $failed && !$is_aborted && $statement =~ /next_id|raise/;
		$is_aborted = 1 if $failed && $errors eq 'off';
		next if $failed;
		my $complaint = $told->($returned);
		push @wrong, join "\n", @said, $complaint if $complaint;
	}
	used();
	$storage = $original if $is_aborted || $end eq 'ROLLBACK';
	@savepoints = ();
	return join "\n", @said, $end;
}

# The WAL of what was rolled back is flushed, too, by another commit.
sub compare
{
	my ($said) = @_;
	my ($position, $lsn) = split /\|/,
	  ask($on_primary, 'INSERT INTO flushed DEFAULT VALUES; SELECT last_value, pg_current_wal_lsn() FROM s;');
	my $complaint = seen($position, 1000 * time + $most_ahead_ms + $is_over_ms);
	push @wrong, "$said\nthe server is $complaint" if $complaint;
	await_event("the standby replays $lsn", sub { ask($on_standby, "SELECT pg_last_wal_replay_lsn() >= '$lsn';") eq 't' });
	my $there = ask($on_standby, 'SELECT last_value FROM s;');
	push @wrong, "$said\nthe standby is at $there, below $position" if $there < $position;
	return;
}

for my $round (1 .. rounds(4, 60))
{
	my $said;
	for (1 .. 30)
	{
		$said = transaction();
		compare($said);
	}
	close_session($on_primary);
	kill_node($node);
	start_again($node);
	$on_primary = open_session($node);
	compare("$said\nand a crash");
}
is(scalar @wrong, 0, 'no position was undone') or diag(join "\n\n", @wrong[ 0 .. ($#wrong > 2 ? 2 : $#wrong) ]);
cmp_ok($drawn, '>', 100, "$drawn ids were generated");

close_session($_) for $on_primary, $on_standby;
$standby->stop;
$node->stop;
done_testing();
