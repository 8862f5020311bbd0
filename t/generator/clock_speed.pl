# A clock that is slow, fast or stands still, and one that is set under the load of 24 sessions: ids stay unique and increase,
# none is ahead of a clock that runs, and the time steps no faster than real time does.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Clocked;
use ShardidTest;

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
# a clock that cannot be set; test/unit/brute_force.cpp does.
# A clock at half speed is never overtaken, and one that stands still does not stop anybody.
query('CREATE SEQUENCE slow');
set_clock('+0 x0.5');
my ($moved, $took) = clock_movement();
cmp_ok($moved, '<', 0.8 * $took, "a slow clock moves $moved ms in $took ms");
my $slow = query(<<'SQL');
SELECT count(*) FILTER (WHERE id_timestamp(id) > clock), count(DISTINCT id)
FROM (SELECT next_id(5, 'slow') AS id, clock_timestamp() AS clock FROM generate_series(1, 20000)) s
SQL
is($slow, '0|20000', 'a slow clock: no id ahead of it');
query('CREATE SEQUENCE slow_narrow');
$slow = query(<<'SQL');
SELECT count(*) FILTER (WHERE id_timestamp(id, shard_bits => 22, sequence_bits => 0) > clock), count(DISTINCT id)
FROM (SELECT next_id(5, 'slow_narrow', shard_bits => 22, sequence_bits => 0) AS id, clock_timestamp() AS clock
      FROM generate_series(1, 200)) s
SQL
is($slow, '0|200', 'nor where every id has to wait for it');
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

# Steps under the load of 8 sessions in each of three generators: the clock is set, time and again, to the next of the
# offsets, from one of the right speed: libfaketime keeps a speed until it is told another. With one id a millisecond
# everybody waits all the time.
my %layouts = (
	'next_id(5, \'%s\') FROM generate_series(1, 50)' => {},
	'next_ids(5, 50, \'%s\')' => {},
	'next_id(5, \'%s\', shard_bits => 22, sequence_bits => 0)' => { shard_bits => 22, sequence_bits => 0 });
my %steps = (
	'clock back 1 ms' => ['-0.001'],
	'clock back 1 s' => ['-1'],
	'clock back 1 h' => ['-3600'],
	'clock back 1 ms again and again' => [ map { -$_ / 1000 } 1 .. 10 ],
	'clock 1 h forward, then back' => [ '+3600', '+0' ],
	'clock stands still' => ['2030-01-01 00:00:00'],
	'clock 20% too fast' => ['+0 x1.2'],
	'clock 20% too slow' => ['+0 x0.8']);
my $number = 0;
my %names;
@names{ keys %layouts } = 1 .. keys %layouts;
for my $fault (sort keys %steps)
{
	my $rounds = rounds(1, 10);
	my %sum = (ids => 0, violations => 0);
	for (1 .. $rounds)
	{
		set_clock('+0 x1');
		$number++;
		my %generator = map { $_ => "stepped_${number}_$names{$_}" } keys %layouts;
		query(join '', map { "CREATE SEQUENCE $_;" } values %generator);
		my %clients = map { $_ => start_clients($node, 8, sprintf("SELECT $_", $generator{$_}), pause_ms => rounds(10, 0)) } keys %layouts;
		for my $offset (@{ $steps{$fault} })
		{
			select undef, undef, undef, 0.3 / @{ $steps{$fault} };
			set_clock($offset);
		}
		select undef, undef, undef, 0.5;
		finish_clients($_, 'stop') for values %clients;
		for my $draw (keys %layouts)
		{
			my $verdict = judge_clients([ $clients{$draw} ],
				%{ $layouts{$draw} }, lead_ms => -1, clock_percent => $fault =~ /too fast/ ? 120 : 100,
				borrow_ms => $fault =~ /forward/ ? 1 : 0);    # a jump forward begins a millisecond before the last one is over
			$sum{$_} += $verdict->{$_} for keys %$verdict;
		}
	}
	is_innocent(\%sum, $fault, $rounds * keys %layouts);
}

$node->stop;
done_testing();
