# The clock set back and forth: unique and increasing ids, honest time while it runs forward, at most a time step a
# millisecond while the generator is ahead, also where it is set back in the middle of a wait. A generator far ahead of
# the clock is refused, with the reason, as is a clock out of the ids' range, for next_id, uuid_v1 and objectid; one
# that is ahead is mentioned in the log once a minute. The same for a clock that is slow, fast or stands still, and one that
# is set under load.
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Clocked;
use ShardidTest;

start_clocked();

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

# One id a millisecond: everybody waits.
set_clock('+0');
query("SELECT $narrow");
set_clock('-3600');
my ($narrow_steps, $narrow_took) = draw_narrow(300);
cmp_ok($narrow_steps, '==', 299, 'behind by an hour: one step for each');
cmp_ok($narrow_steps, '<=', $narrow_took, "$narrow_steps steps in $narrow_took ms");

# Set back while a session that is alone waits for the end of the clock's own millisecond, it does not hold it up. Among
# many, as below, one that begins its wait after the step would free all others. The work between the ids makes the waits
# shorter than a millisecond.
my $alone = open_session($node);
for my $round (1 .. 3)
{
	set_clock('+0');
	query("CREATE SEQUENCE alone_$round");
	send_to($alone, <<SQL);
SELECT count(next_id(5, 'alone_$round', shard_bits => 22, sequence_bits => 0)
             + (SELECT count(md5(i::text)) FROM generate_series(1, 600) i WHERE i > -g))
FROM generate_series(1, 500) g;
SQL
	$node->poll_query_until('postgres', "SELECT is_called FROM alone_$round") or die 'the session does not begin';
	set_clock('-3600');
	is(answer($alone), 500, 'a session alone goes on when the clock is set back');
}
close_session($alone);

# Ids increase, also with a clock that is behind, and when it catches up: honest time again.
set_clock('-3600');
draw(1000);
set_clock('+0');
draw(1000);
is(ids_ahead(5000), 0, 'after it has caught up: no id ahead of it');

sub error_of { return said_of($node, "SET timezone = 'UTC'; SELECT $_[0]") }

query('SELECT uuid_v1(), objectid()');

# Too far: refused, with the reason, until the setting or the clock is changed.
set_clock('-90000');
my %generator_of =
  ('next_id(5)' => 'shardid_seq', 'uuid_v1()' => 'shardid_uuid_seq', 'objectid()' => 'shardid_objectid_seq');
for my $call (sort keys %generator_of)
{
	my $error = error_of($call);
	like($error, qr/ERROR:  55000: generator "public\.$generator_of{$call}" is too far ahead of/, "$call: refused");
	like($error, qr/DETAIL:  It is \d{8} ms ahead, and shardid\.max_lead is 86400000 ms\.\nHINT:  Set the server's clock/,
		"$call: by how much, and what to do");
}
my ($more) = (split /\n/, query("SET shardid.max_lead = '2d'; SELECT next_id(5)"))[-1];
cmp_ok($more, '>', $told[-1], 'a larger max_lead lets it go on');
push @told, $more;
set_clock('+0');
draw(1000);

# Before the epoch: refused, and nothing lost.
query('CREATE SEQUENCE unused; CREATE SEQUENCE settled CACHE 2; SELECT next_id(5, $$settled$$)');
set_clock('-' . 20 * 365 * 86400);
like(error_of($_), qr/ERROR:  22008: clock is before the epoch of the ids/, "$_: before the epoch") for 'next_id(5)', q(settled_below('settled'));
is(query(q(SELECT lead FROM id_generator_status('unused'))), '', 'then an unused generator has no lead');
# Beyond the field's end.
my %end_of = (
	'next_id(5)' => [ 60, '41 bits of milliseconds since 2011-08-24 21:07:01\.721\+00 hold no later time' ],
	'objectid()' => [ 90, 'the last time that they hold is 2106-02-07 06:28:15\.999\+00' ],
	'uuid_v1()' => [ 3300, 'the last time that they hold is 5236-03-31 21:21:00\.684697\+00' ]);
set_clock('+' . 60 * 365 * 86400);
SKIP:
{
	skip "the server's time_t has 32 bits and ends in 2038", 5
	  if query(q(SELECT clock_timestamp() < '2080-01-01')) eq 't';
	for my $call (sort keys %end_of)
	{
		my ($years, $reason) = @{ $end_of{$call} };
		set_clock('+' . $years * 365 * 86400);
		like(error_of($call), qr/ERROR:  2200H: time field of the ids is exhausted\nDETAIL:  The clock is .*, and $reason/,
			"$call: refused after its last time");
	}
	# Beyond the sign bit, in a generator of its own.
	set_clock('+' . 30 * 365 * 86400);
	query('CREATE SEQUENCE future');
	my @future = split /\n/, query(q(SELECT next_id(5, 'future') FROM generate_series(1, 3000)));
	is(scalar(grep { $_ < 0 } @future), 3000, 'beyond 2046 ids are negative');
	is(scalar(grep { $future[$_] <= $future[ $_ - 1 ] } 1 .. $#future), 0, 'and increase');
}

# A server whose generator is ahead by more than a second says so, once a minute, however many sessions draw.
set_clock('+0');
query('CREATE SEQUENCE noted; SELECT next_id(5, \'noted\')');
my $log_start = -s $node->logfile;
set_clock('-0.9');
my $open = open_session($node);
ask($open, q(SELECT next_id(5, 'noted');));
unlike(slurp_file($node->logfile, $log_start), qr/ahead of the clock/, 'less than a second ahead, it says nothing');
set_clock('-3600');
$log_start = -s $node->logfile;
my $draw_for = rounds(2, 80);
my $start = clock_gettime(CLOCK_MONOTONIC);
ask($open, q(SELECT next_id(5, 'noted');));
like(slurp_file($node->logfile, $log_start), qr/ahead of the clock/, 'also in a session that is open');
query("SELECT next_id(5, 'noted');\n\\c -\n" x 20);
query(<<SQL);
DO \$\$
DECLARE until timestamptz := clock_timestamp() + interval '$draw_for s';
BEGIN
    WHILE clock_timestamp() < until LOOP PERFORM next_id(5, 'noted'); PERFORM pg_sleep(0.01); END LOOP;
END
\$\$
SQL
my $mention = qr/LOG:  (generator "public\.noted" is \d{7} ms ahead of the clock)/;
my @mentioned = slurp_file($node->logfile, $log_start) =~ /$mention/g;
my $minutes = (clock_gettime(CLOCK_MONOTONIC) - $start) / 60;
cmp_ok(scalar @mentioned, '>=', $draw_for > 60 ? 2 : 1, "in $draw_for s and 21 sessions, the log says: $mentioned[0]");
cmp_ok(scalar @mentioned, '<=', 1 + $minutes, 'once a minute');
set_clock('+0');
is(judge([ \@told ])->{violations}, 0, 'all ids of these steps are right');

# libfaketime slows sleeps down with the clock, so this cannot show a step that is taken too early by
# a clock that cannot be set; proof/unit/brute_force.cpp does.
# A clock at half speed is never overtaken, and one that stands still does not stop anybody.
set_clock('+0 x0.5');
# Nor where every id has to wait for it.
for my $case ([ 20_000, 10 ], [ 200, 0 ])
{
	my ($count, $bits) = @$case;
	query("CREATE SEQUENCE slow_$bits");
	$start = clock_gettime(CLOCK_MONOTONIC);
	my ($ahead, $ids, $steps) = split /\|/, query(<<SQL);
SELECT count(*) FILTER (WHERE id_timestamp(id, sequence_bits => $bits) > clock), count(DISTINCT id), max(id) - min(id) >> 13 + $bits
FROM (SELECT next_id(5, 'slow_$bits', sequence_bits => $bits) AS id, clock_timestamp() AS clock FROM generate_series(1, $count)) s
SQL
	my $took = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
	is("$ahead $ids", "0 $count", "a slow clock, $bits bits of sequence: no id ahead of it");
	cmp_ok($steps, '<', 0.8 * $took, "$steps steps in $took ms");
}
set_clock('2030-01-01 00:00:00');
is(query(q(SELECT clock_timestamp() = '2030-01-01')), 't', 'a clock stands still');
($narrow_steps, $narrow_took) = draw_narrow(200);
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
my $pi = atan2 0, -1;
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
	# Each step forward begins a millisecond before the last one is over, also that of a speed: it counts from the server's start.
	my @before = ('+0', @offsets);
	my $forward = grep { $offsets[$_] =~ /:| x1/ || $offsets[$_] !~ / x/ && $offsets[$_] > $before[$_] } 0 .. $#offsets;
	my $rounds = rounds(1, 10);
	my %sum = (ids => 0, violations => 0);
	for (1 .. $rounds)
	{
		set_clock('+0 x1');
		$number++;
		my %generator = map { $_ => "stepped_${number}_$names{$_}" } keys %layouts;
		query(join '', map { "CREATE SEQUENCE $_;" } values %generator);
		my $sessions = rounds(4, 8);
		my %clients = map { $_ => start_clients($node, $sessions, sprintf("SELECT $_", $generator{$_}), pause_ms => rounds(20, 0)) } keys %layouts;
		await_clients($node, $sessions * keys %layouts);
		await_ids(values %clients);
		for my $offset (@offsets)
		{
			select undef, undef, undef, 0.3 / @offsets;
			set_clock($offset);
		}
		select undef, undef, undef, 0.3;
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
