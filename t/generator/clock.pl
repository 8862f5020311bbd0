# The clock set back and forth, standing still and running slowly: unique and increasing ids, honest
# time while it runs forward, at most a time step a millisecond while the generator is ahead.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('clock', 'autovacuum = off'); });
sub query { return $node->safe_psql('postgres', $_[0]) }

my @told;    # every id, in the order of the calls

# Draws ids in one statement; returns how long that took, in milliseconds that really passed.
sub draw
{
	my ($count) = @_;
	my $start = clock_gettime(CLOCK_MONOTONIC);
	push @told, split /\n/, query("SELECT next_id(5) FROM generate_series(1, $count)");
	return 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
}

sub time_of { return $_[0] >> 23 }

# How many ids say a later time than a clock read after them.
sub ids_ahead
{
	my ($count) = @_;
	return query(<<SQL);
SELECT count(*) FROM (SELECT next_id(5) AS id, clock_timestamp() AS clock FROM generate_series(1, $count)) s
WHERE id_timestamp(id) > clock
SQL
}

draw(5000);
is(ids_ahead(5000), 0, 'a clock that runs forward: no id ahead of it');

# Back by a millisecond, a second, an hour; each time all goes on, no faster than real time.
for my $back ('-0.001', '-1', '-3600')
{
	set_fake_clock($clock, '+0');
	draw(1000);
	set_fake_clock($clock, $back);
	my $before = $told[-1];
	my $took = draw(20000);
	my $steps = time_of($told[-1]) - time_of($before);
	cmp_ok($told[-20000], '>', $before, "$back s: ids go on increasing");
	cmp_ok($steps, '>=', 18, "$back s: a millisecond is not overfilled ($steps steps)");
	cmp_ok($steps, '<=', $took + 1, "$back s: $steps steps in $took ms") if $back <= -1;
}

# While it is behind, at a low rate: the lead shrinks as real time passes.
my $lead = lead_ms($node, 'shardid_seq');
cmp_ok($lead, '>', 3_500_000, "behind by an hour, the generator is $lead ms ahead");
draw(1);
select undef, undef, undef, 0.5;
draw(1);
my $later = lead_ms($node, 'shardid_seq');
cmp_ok($later, '<', $lead - 400, "half a second later, $later ms");

# Many sessions at once do not make it run away either.
my $start = clock_gettime(CLOCK_MONOTONIC);
my $before = query('SELECT last_value >> 10 FROM shardid_seq');
$node->pgbench('-n -c 16 -j 2 -t 1 -M prepared', 0, [qr/processed: 16\/16/], [qr/^$/],
	'16 sessions while behind',
	{ '003_behind' => 'SELECT count(next_id(5)) FROM generate_series(1, 10000);' });
my $elapsed = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
my $steps = query('SELECT last_value >> 10 FROM shardid_seq') - $before;
cmp_ok($steps, '>=', 160_000 / 1024 - 1, "160,000 ids in $steps steps");
cmp_ok($steps, '<=', $elapsed + 1, "$steps steps in $elapsed ms");
cmp_ok(lead_ms($node, 'shardid_seq'), '<=', $later + 1, 'the lead has not grown');

# A faked clock is slow to read: with 1024 ids a millisecond nobody has to wait here. With one id a
# millisecond everybody does, so that each step ahead of the clock is one that was waited for.
query('CREATE SEQUENCE narrow');
my $narrow = q(next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0));

# Draws that many ids in one statement; returns their steps of time and the milliseconds it took.
sub draw_narrow
{
	my ($count) = @_;
	my $start = clock_gettime(CLOCK_MONOTONIC);
	my @ids = split /\n/, query("SELECT $narrow FROM generate_series(1, $count)");
	my $took = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
	is(scalar(grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids), 0, 'one id a millisecond: they increase');
	return (($ids[-1] >> 22) - ($ids[0] >> 22), $took);
}

set_fake_clock($clock, '+0');
query("SELECT $narrow");
set_fake_clock($clock, '-3600');
my ($narrow_steps, $narrow_took) = draw_narrow(300);
cmp_ok($narrow_steps, '==', 299, 'behind by an hour: one step for each');
cmp_ok($narrow_steps, '<=', $narrow_took, "$narrow_steps steps in $narrow_took ms");
$start = clock_gettime(CLOCK_MONOTONIC);
$before = query('SELECT last_value FROM narrow');
$node->pgbench('-n -c 16 -j 2 -t 1', 0, [qr/processed: 16\/16/], [qr/^$/],
	'16 sessions behind, each of which waits',
	{ '003_narrow' => "SELECT count($narrow) FROM generate_series(1, 50);" });
$elapsed = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
$steps = query('SELECT last_value FROM narrow') - $before;
is($steps, 800, 'one step for each of 800 ids');
cmp_ok($steps, '<=', $elapsed, "$steps steps in $elapsed ms");

# Set back in the middle of the waits of many, it holds nobody up.
set_fake_clock($clock, '+0');
my $run = IPC::Run::start(
	[
		'pgbench', '-n', '-c', '8', '-j', '2', '-t', '4',
		'-f', $node->basedir . '/003_narrow', $node->connstr('postgres')
	],
	'>', \my $output, '2>&1', IPC::Run::timer(60));
for my $offset ('-1', '-3600', '-1800', '-7200', '-0.3', '-3600')
{
	select undef, undef, undef, 0.15;
	set_fake_clock($clock, $offset);
}
ok(eval { $run->finish }, 'loads go on when the clock is set back under them')
  or do { diag $output; $run->kill_kill };

# Nor a session that is alone, in a wait for the end of the clock's own millisecond. Among many, one
# that begins its wait after the step would free all others. The work between the ids makes the waits
# shorter than a millisecond.
for my $round (1 .. 3)
{
	set_fake_clock($clock, '+0');
	query("CREATE SEQUENCE alone_$round");
	my $alone = IPC::Run::start(
		[
			'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', <<SQL
SELECT count(next_id(5, 'alone_$round', shard_bits => 22, sequence_bits => 0)
             + (SELECT count(md5(i::text)) FROM generate_series(1, 600) i WHERE i > -g))
FROM generate_series(1, 500) g
SQL
		],
		'>', \my $count, '2>', \my $error, IPC::Run::timer(15));
	select undef, undef, undef, 0.2;
	set_fake_clock($clock, '-3600');
	ok(eval { $alone->finish } && $count == 500, 'a session alone goes on when the clock is set back')
	  or do { diag $error // ''; $alone->kill_kill };
}

# The clock catches up: honest time again.
set_fake_clock($clock, '+0');
draw(1000);
is(ids_ahead(5000), 0, 'after it has caught up: no id ahead of it');

# An hour forward and back.
set_fake_clock($clock, '+3600');
draw(1000);
set_fake_clock($clock, '+0');
draw(3000);

# Too far: refused, with the reason, until the setting or the clock is changed.
set_fake_clock($clock, '-90000');
my ($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($stderr, qr/ERROR:  55000: generator "public\.shardid_seq" is too far ahead of the clock/, 'refused');
like($stderr, qr/DETAIL:  It is \d{8} ms ahead, and shardid\.max_lead is 86400000 ms\./, 'by how much');
like($stderr, qr/HINT:  Set the server's clock right/, 'and what to do');
my ($more) = (split /\n/, query("SET shardid.max_lead = '2d'; SELECT next_id(5)"))[-1];
cmp_ok($more, '>', $told[-1], 'a larger max_lead lets it go on');
push @told, $more;
set_fake_clock($clock, '+0');
draw(1000);

# Before the epoch: refused, and nothing lost.
set_fake_clock($clock, '-' . 20 * 365 * 86400);
($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($stderr, qr/ERROR:  22008: clock is before the epoch of the ids/, 'before the epoch');
# Beyond the field's end.
set_fake_clock($clock, '+' . 60 * 365 * 86400);
SKIP:
{
	skip "the server's time_t has 32 bits and ends in 2038", 3 if query(q(SELECT clock_timestamp() < '2080-01-01')) eq 't';
	($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
	like($stderr, qr/ERROR:  2200H: time field of the ids is exhausted/, 'after the end');
	# Beyond the sign bit, in a generator of its own.
	set_fake_clock($clock, '+' . 30 * 365 * 86400);
	query('CREATE SEQUENCE future');
	my @future = split /\n/, query(q(SELECT next_id(5, 'future') FROM generate_series(1, 3000)));
	is(scalar(grep { $_ < 0 } @future), 3000, 'beyond 2046 ids are negative');
	is(scalar(grep { $future[$_] <= $future[ $_ - 1 ] } 1 .. $#future), 0, 'and increase');
}
set_fake_clock($clock, '+0');

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
set_fake_clock($clock, '+0 x0.5');
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
set_fake_clock($clock, '2030-01-01 00:00:00');
is((clock_movement())[0], 0, 'a clock stands still');
$start = clock_gettime(CLOCK_MONOTONIC);
my @still = split /\n/, query(q(SELECT next_id(5, 'still') FROM generate_series(1, 20000)));
$elapsed = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
$steps = time_of($still[-1]) - time_of($still[0]);
is(scalar(grep { $still[$_] <= $still[ $_ - 1 ] } 1 .. $#still), 0, 'a clock that stands still: ids increase');
cmp_ok($steps, '<=', $elapsed + 1, "$steps steps in $elapsed ms");
($narrow_steps, $narrow_took) = draw_narrow(200);
cmp_ok($narrow_steps, '==', 199, 'it stands still: one step for each');
cmp_ok($narrow_steps, '<=', $narrow_took, "$narrow_steps steps in $narrow_took ms");
set_fake_clock($clock, '+0 x1');

is(judge([ \@told ])->{violations}, 0, 'all ids of these steps are right');

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
		set_fake_clock($clock, '+0 x1');
		$number++;
		my %generator = map { $_ => "stepped_${number}_$names{$_}" } keys %layouts;
		query(join '', map { "CREATE SEQUENCE $_;" } values %generator);
		my %clients = map { $_ => start_clients($node, 8, sprintf("SELECT $_", $generator{$_}), pause_ms => rounds(10, 0)) } keys %layouts;
		for my $offset (@{ $steps{$fault} })
		{
			select undef, undef, undef, 0.3 / @{ $steps{$fault} };
			set_fake_clock($clock, $offset);
		}
		select undef, undef, undef, 0.5;
		finish_clients($_, 'stop') for values %clients;
		for my $draw (keys %layouts)
		{
			my $verdict = judge_clients([ $clients{$draw} ],
				%{ $layouts{$draw} }, lead_ms => -1, clock_percent => $fault =~ /too fast/ ? 120 : 100);
			$sum{$_} += $verdict->{$_} for keys %$verdict;
		}
	}
	is_innocent(\%sum, $fault, $rounds * keys %layouts);
}

# A server whose generator is ahead by more than a second says so, once a minute, however many sessions draw.
set_fake_clock($clock, '+0 x1');
query('CREATE SEQUENCE noted; SELECT next_id(5, \'noted\')');
my $log_start = -s $node->logfile;
set_fake_clock($clock, '-0.9');
query('SELECT next_id(5, \'noted\')');
unlike(slurp_file($node->logfile, $log_start), qr/ahead of the clock/, 'less than a second ahead, it says nothing');
set_fake_clock($clock, '-3600');
$log_start = -s $node->logfile;
my $draw_for = rounds(2, 65);
query('SELECT next_id(5, \'noted\')') for 1 .. 20;
query(<<SQL);
DO \$\$
DECLARE until timestamptz := clock_timestamp() + interval '$draw_for s';
BEGIN
    WHILE clock_timestamp() < until LOOP PERFORM next_id(5, 'noted'); PERFORM pg_sleep(0.01); END LOOP;
END
\$\$
SQL
my @mentioned = slurp_file($node->logfile, $log_start) =~ /LOG:  (generator "public\.noted" is \d{7} ms ahead of the clock)/g;
is(scalar @mentioned, $draw_for > 60 ? 2 : 1, "in $draw_for s and 21 sessions, the log says: $mentioned[0]");
set_fake_clock($clock, '+0');

# A wait can be cancelled, by a timeout and by another session.
query('CREATE SEQUENCE cancelled');
($code, $stdout, $stderr) = $node->psql('postgres', <<'SQL');
SET statement_timeout = '200ms';
SELECT count(next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0)) FROM generate_series(1, 100000);
SQL
like($stderr, qr/canceling statement due to statement timeout/, 'statement_timeout ends a wait');
is(query("SELECT next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0) IS NOT NULL"),
	't', 'and leaves the generator usable');

$node->stop;
done_testing();
