# A clock that is slow, fast or stands still, and one that is set under load: ids stay unique and increase,
# none is ahead of a clock that runs, and the time steps no faster than real time does.
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Clocked;
use ShardidTest;

my $pi = atan2(0, -1);
start_clocked();

# How far the server's clock moves, and how much time really passes meanwhile, in milliseconds.
sub clock_movement
{
	my $now = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)';
	my $start = clock_gettime(CLOCK_MONOTONIC);
	my $first = query($now);
	select undef, undef, undef, 0.5;
	my $moved = query($now) - $first;
	return ($moved, 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start));
}

# libfaketime slows sleeps down with the clock, so this cannot show a step that is taken too early by
# a clock that cannot be set; proof/unit/brute_force.cpp does.
# A clock at half speed is never overtaken, and one that stands still does not stop anybody.
set_clock('+0 x0.5');
my ($moved, $took) = clock_movement();
cmp_ok($moved, '<', 0.8 * $took, "a slow clock moves $moved ms in $took ms");
# Also where every id has to wait for it.
for my $case ([ 20_000, 10 ], [ 200, 0 ])
{
	my ($count, $bits) = @$case;
	query("CREATE SEQUENCE slow_$bits");
	is(query(<<SQL), "0|$count", "a slow clock, $bits bits of sequence: no id ahead of it");
SELECT count(*) FILTER (WHERE id_timestamp(id, sequence_bits => $bits) > clock), count(DISTINCT id)
FROM (SELECT next_id(5, 'slow_$bits', sequence_bits => $bits) AS id, clock_timestamp() AS clock FROM generate_series(1, $count)) s
SQL
}
query('CREATE SEQUENCE still');
set_clock('2030-01-01 00:00:00');
is((clock_movement())[0], 0, 'a clock stands still');
my $start = clock_gettime(CLOCK_MONOTONIC);
my @still = split /\n/, query(q(SELECT next_id(5, 'still') FROM generate_series(1, 20000)));
my $elapsed = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
my $steps = ($still[-1] >> 23) - ($still[0] >> 23);
is(scalar(grep { $still[$_] <= $still[ $_ - 1 ] } 1 .. $#still), 0, 'a clock that stands still: ids increase');
cmp_ok($steps, '<=', $elapsed + 1, "$steps steps in $elapsed ms");
my ($narrow_steps, $narrow_took) = draw_narrow(200);
cmp_ok($narrow_steps, '==', 199, 'it stands still: one step for each');
cmp_ok($narrow_steps, '<=', $narrow_took, "$narrow_steps steps in $narrow_took ms");
set_clock('+0 x1');

# Faults under the load of 4 sessions in each of three generators: the clock is set to the next of the offsets, from one
# of the right speed: libfaketime keeps a speed until it is told another. With one id a millisecond everybody waits all
# the time. The names are those of TigerBeetle's simulator (OffsetType in src/testing/time.zig): linear, step, and
# non-ideal, a sine whose phase is normally distributed, and a random offset, here with ticks of 10 ms, a period of 15
# ticks and an amplitude of 20 ms.
my %layouts = (
	'next_id(5, \'%s\') FROM generate_series(1, 50)' => {},
	'next_ids(5, 50, \'%s\')' => {},
	'next_id(5, \'%s\', shard_bits => 22, sequence_bits => 0)' => { shard_bits => 22, sequence_bits => 0 });
my @wave = map {
	my $normal = sqrt(-2 * log(1 - rand)) * cos($pi * 2 * rand);
	sprintf '%+.6f', -0.02 * sin($_ * 2 * $pi / (15 + 10 * $normal)) + rand(0.01) - 0.005;
} 1 .. 30;
my %faults = (
	'step: clock back 1 ms, 1 s, 1 h' => [ '-0.001', '-1', '-3600' ],
	'step: clock 1 h forward, then back' => [ '+3600', '+0' ],
	'non-ideal: clock 20 ms to and fro with jitter' => \@wave,
	'clock stands still' => ['2030-01-01 00:00:00'],
	'linear: clock 20% too fast' => ['+0 x1.2'],
	'linear: clock 20% too slow' => ['+0 x0.8']);
my $number = 0;
my %names;
@names{ keys %layouts } = 1 .. keys %layouts;
for my $fault (sort keys %faults)
{
	my @offsets = @{ $faults{$fault} };
	# Each step forward begins a millisecond before the last one is over.
	my @before = ('+0', @offsets);
	my $forward = grep { "$before[$_]$offsets[$_]" !~ /[ :]/ && $offsets[$_] > $before[$_] } 0 .. $#offsets;
	my $rounds = rounds(1, 10);
	my %sum = (ids => 0, violations => 0);
	for (1 .. $rounds)
	{
		set_clock('+0 x1');
		$number++;
		my %generator = map { $_ => "stepped_${number}_$names{$_}" } keys %layouts;
		query(join '', map { "CREATE SEQUENCE $_;" } values %generator);
		my $sessions = rounds(4, 8);
		my %clients = map { $_ => start_clients($node, $sessions, sprintf("SELECT $_", $generator{$_}), pause_ms => rounds(10, 0)) } keys %layouts;
		await_clients($node, $sessions * keys %layouts);
		await_ids(values %clients);
		for my $offset (@offsets)
		{
			select undef, undef, undef, 0.3 / @offsets;
			set_clock($offset);
		}
		select undef, undef, undef, 0.5;
		finish_clients($_, 'stop') for values %clients;
		for my $draw (keys %layouts)
		{
			my $verdict = judge_clients([ $clients{$draw} ],
				%{ $layouts{$draw} }, lead_ms => -1, clock_percent => $fault =~ /too fast/ ? 120 : 100,
				borrow_ms => $forward);
			$sum{$_} += $verdict->{$_} for keys %$verdict;
		}
	}
	is_innocent(\%sum, $fault, $rounds * keys %layouts);
}

$node->stop;
done_testing();
