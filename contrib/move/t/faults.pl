# A shard moves between two servers, to and fro, by contrib/move/move_shard.py, under sixteen writers that change to
# the other server when they are refused; one clock is 5 s behind; some movers are killed or terminated at a random
# moment, and run again or undone. Every id that a writer received is afterwards in the shard, once, and on one server,
# and no id is repeated, whether its row was kept or not.
use List::Util qw(sum);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);
use Mover;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $seed = $ENV{SHARDID_SEED} || time;
note "SHARDID_SEED=$seed";
diag "SHARDID_SEED=$seed" if $ENV{FULL};
srand $seed;

my $moves = $ENV{ROUNDS} || 200;
my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
set_fake_clock($clock, '-5s');
start_with_shard_on('north', $clock);
my @servers = qw(north south);
my @clock = map { on($_, 'SELECT extract(epoch FROM clock_timestamp())') } qw(north south north);
ok($clock[0] < $clock[1] + 5 && $clock[1] + 5 < $clock[2], 'one clock is 5 s behind');

sub now { return clock_gettime(CLOCK_MONOTONIC) }

# --- Writers: some commit, some roll back, and some draw ids and write nothing.

my %writers = (
	keep => [ 16, 40 ],
	roll => [ 2, 20, 'BEGIN', $insert, 'ROLLBACK' ],
	draw => [ 2, 20, $draw ]);

# --- The mover.

# Ends the mover at a random moment of the time that a move usually takes.
sub interrupt_mover
{
	my ($from, $to, $usual) = @_;
	my $mover = start_mover('finish', $from, $to);
	usleep 1_000_000 * rand $usual;
	$mover->signal(rand() < 0.3 ? 'TERM' : 'KILL');
	$mover->finish;
	return;
}

my $at = 0;
my (@usual, $interruptions, $undone);

sub move
{
	my ($is_interrupted) = @_;
	my ($from, $to) = @servers[ $at, 1 - $at ];
	my $begin = now();
	if ($is_interrupted)
	{
		my $usual = @usual ? sum(@usual) / @usual : 3;
		do
		{
			interrupt_mover($from, $to, $usual);
			$interruptions++;
			$undone++ if rand() < 0.2 && !mover('undo', $from, $to);
		} while (rand() < 0.3);
	}
	my $status = mover('finish', $from, $to);
	push @usual, now() - $begin unless $is_interrupted;
	return 0 if $status;
	$at = 1 - $at;
	return 1;
}

# --- Moves.

my %running = map { $_ => start_writers("$dir/$_", @{ $writers{$_} }) } sort keys %writers;
await_writers(undef, values %running);
my $done = 0;
for my $n (1 .. $moves)
{
	last unless move($n > 2 && rand() < 0.25);
	$done++;
	usleep 1_000_000 * rand 0.3;
}
is($done, $moves, "$moves moves came to their end, with " . ($interruptions // 0) . ' interruptions') or diag $said;
note sprintf '%d of them undone', $undone // 0;

usleep 300_000;
stop_writers(values %running);

# --- No row is lost or doubled, no id is repeated.

sub query { return on($servers[$at], $_[0]) }
my %told = map { $_ => 1 } map { @$_ } @{ read_told($running{keep}) };
my %stored = map { $_ => 1 } split /\n/, query('SELECT id FROM shard5.photos');
my $lost = grep { !$stored{$_} } keys %told;
my $untold = grep { !$told{$_} } keys %stored;
is($lost, 0, 'of ' . keys(%told) . ' rows that were told none is lost');
is($untold, 0, 'and none is there that nobody was told of');
is(on($servers[ 1 - $at ], q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard5')), 0, 'and none on the other');
is(query('SELECT sum(photos) FROM shard5.tallies'), scalar keys %told, 'updates are counted as often as they were made');
is(query('SELECT count(DISTINCT photo) FROM shard5.events'), scalar keys %told, 'a row that came with it is there');
is(query('SELECT last_value >= (SELECT max(number) FROM shard5.events) FROM shard5.events_number_seq'), 't', 'the plain sequence has come along');
note_fault("moves of a shard, $done, rows lost or twice", $done, scalar keys %told, $lost + $untold);
is_innocent(judge_clients([ values %running ], lead_ms => -1), 'moves of a shard, the clock of one server 5 s behind', $done);

for my $server (@servers)
{
	is(on($server, <<'SQL'), '', "$server: nothing is left behind");
SELECT slot_name FROM pg_replication_slots UNION ALL SELECT pubname FROM pg_publication
UNION ALL SELECT subname FROM pg_subscription UNION ALL SELECT shard FROM shard_move.sealed
UNION ALL SELECT move FROM shard_move.marker UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
SQL
}

# --- A writer's file names the server of each row in its last column.

my $changes = sum(map { my @servers = slurp_file($_) =~ / (\d)$/mg; scalar grep { $servers[$_] != $servers[ $_ - 1 ] } 1 .. $#servers } @{ $running{keep}{files} });
cmp_ok($changes, '>', 0.9 * 16 * ($done - ($interruptions // 0)), 'the writers have met the moves');

$_->stop for values %node;
done_testing();
