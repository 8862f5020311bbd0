# The clock set back and forth: unique and increasing ids, honest time while it runs forward, at most a time step a millisecond
# while the generator is ahead, for one session and many, also where it is set back in the middle of their waits.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Clocked;
use ShardidTest;

start_clocked();

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
	set_clock('+0');
	draw(1000);
	set_clock($back);
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

# One id a millisecond: everybody waits.
set_clock('+0');
query("SELECT $narrow");
set_clock('-3600');
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
set_clock('+0');
my $run = IPC::Run::start(
	[
		'pgbench', '-n', '-c', '8', '-j', '2', '-t', '4',
		'-f', $node->basedir . '/003_narrow', $node->connstr('postgres')
	],
	'>', \my $output, '2>&1', IPC::Run::timer(60));
for my $offset ('-1', '-3600', '-1800', '-7200', '-0.3', '-3600')
{
	select undef, undef, undef, 0.15;
	set_clock($offset);
}
ok(eval { $run->finish }, 'loads go on when the clock is set back under them')
  or do { diag $output; $run->kill_kill };

# Nor a session that is alone, in a wait for the end of the clock's own millisecond. Among many, one
# that begins its wait after the step would free all others. The work between the ids makes the waits
# shorter than a millisecond.
for my $round (1 .. 3)
{
	set_clock('+0');
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
	set_clock('-3600');
	ok(eval { $alone->finish } && $count == 500, 'a session alone goes on when the clock is set back')
	  or do { diag $error // ''; $alone->kill_kill };
}

# The clock catches up: honest time again.
set_clock('+0');
draw(1000);
is(ids_ahead(5000), 0, 'after it has caught up: no id ahead of it');

# An hour forward and back.
set_clock('+3600');
draw(1000);
set_clock('+0');
draw(3000);

is(judge([ \@told ])->{violations}, 0, 'all ids of these steps are right');

$node->stop;
done_testing();
