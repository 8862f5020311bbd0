# contrib/portable/shardid.sql and clocks that step, crashes and failovers: ids continue, no faster than real time; ids that a
# commit has flushed are never repeated, and others not while the clock is right.
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Clocked;
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

# The WAL writer must not help.
start_clocked(<<'CONF', \&new_portable_node, 'portable');
wal_writer_delay = 10s
restart_after_crash = off
log_min_messages = error
log_min_error_statement = panic
CONF
my @portable = (dbname => 'portable');

sub refused
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('portable', "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}
sub time_of { return $_[0] >> 23 }

draw(2000);
for my $back ('-0.001', '-1', '-3600')
{
	set_clock('+0');
	my $since = clock_gettime(CLOCK_MONOTONIC);
	draw(500);
	my $before = $told[-1];
	set_clock($back);
	my $took = draw(20000);
	my $steps = time_of($told[-1]) - time_of($before);
	cmp_ok($steps, '>=', 18, "$back s: a millisecond is not overfilled ($steps steps)");
	# By a shorter way the clock can have caught up, from before it was set.
	$took = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $since) if $back == -1;
	cmp_ok($steps, '<=', $took + 1, "$back s: $steps steps in $took ms") if $back <= -1;
}
cmp_ok(lead_ms($node, 'ids.shardid_seq', 'portable'), '>', 3_000_000, 'an hour ahead of the clock, it goes on');
for my $offset ('+3600', '+0', '+0 x0.5')
{
	set_clock($offset);
	draw(500);
}
is_innocent(judge([ \@told ], lead_ms => -1), 'portable: clock steps', 6);

# A clock that is behind, under load, with many ids per millisecond and with one.
sub loads
{
	my ($seconds) = @_;
	return map { start_clients($node, 4, $_, dbname => 'portable', seconds => $seconds) } (
		q{SELECT next_ids(5, 1500, 'wide')}, "SELECT $narrow");
}

sub are_innocent
{
	my ($histories, $fault) = @_;
	is_innocent(judge_clients([ map { $_->[0] } @$histories ], lead_ms => -1), "portable: $fault", 1);
	is_innocent(judge_clients([ map { $_->[1] } @$histories ], lead_ms => -1, shard_bits => 22, sequence_bits => 0),
		"portable: $fault, each waits", 1);
	return;
}
set_clock('+0');
query("CREATE SEQUENCE wide; SELECT next_id(5, 'wide'), $narrow");
set_clock('-3600');
my @behind = loads(1);
my ($steps, $took) = draw_narrow(100);
cmp_ok($steps, '<=', $took + 1, "an hour behind, a millisecond for each id: $steps in $took ms");
finish_clients($_) for @behind;
are_innocent([ \@behind ], 'an hour behind, under load');

# Clocks that are far from the generator's time.
set_clock('-90000');
like(refused('SELECT next_id(5)'), qr/55000: generator "ids.shardid_seq" is too far ahead of the clock/, 'a day behind, it refuses');
like(query(q(SET shardid.max_lead = '2d'; SELECT next_id(5))), qr/^\d+$/, 'shardid.max_lead lets it go on');
set_clock('+0');

# Crashes. Ids that a commit has flushed are never repeated, whatever the clock shows. Other ids are not repeated if the
# clock is not behind.
my @modes = (
	{ name => 'autocommit', draw => 'SELECT next_id(5, \'crashed\')', offset => '-1h' },
	{ name => 'INSERT', draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id', offset => '-1h' },
	{ name => 'rolled back', draw => [ 'BEGIN', 'SELECT next_id(5, \'crashed\')', 'ROLLBACK' ], offset => '+0' },
	{
		name => 'synchronous_commit = off',
		draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id',
		options => '-c synchronous_commit=off',
		offset => '+0'
	});

sub crashes
{
	my ($mode, $offset, $count) = @_;
	my @histories;
	for my $round (1 .. $count)
	{
		my $clients = start_clients($node, 8, $mode->{draw}, @portable, options => $mode->{options});
		await_clients($node, 8);
		usleep 200_000 + rand 200_000;
		query('CHECKPOINT') if $round % 2;
		usleep 100_000;
		crash($offset);
		finish_clients($clients);
		push @histories, $clients;
	}
	my $after = start_clients($node, 2, $modes[0]{draw}, @portable, rounds => 20);
	finish_clients($after);
	set_clock('+0');
	return [ @histories, $after ];
}

for my $mode (@modes)
{
	query('DROP TABLE IF EXISTS crashes; DROP SEQUENCE IF EXISTS crashed; CREATE SEQUENCE crashed;'
		  . q( CREATE TABLE crashes (id bigint DEFAULT next_id(5, 'crashed'))));
	my $count = rounds(1, 10);
	is_innocent(judge_clients(crashes($mode, $mode->{offset}, $count), lead_ms => -1), "portable: kill -9, $mode->{name}", $count);
}
$node->stop;

# Failover: to an asynchronous standby whose clock is right; to a synchronous one whose clock is an hour behind.
for my $round (1 .. rounds(1, 5))
{
	for my $is_synchronous (0, 1)
	{
		my $primary = new_portable_node("primary_${round}_$is_synchronous", '', allows_streaming => 1);
		$primary->backup('base');
		my $standby = PostgreSQL::Test::Cluster->new("standby_${round}_$is_synchronous");
		$standby->init_from_backup($primary, 'base', has_streaming => 1);
		if ($is_synchronous)
		{
			restart_at('-3600', $standby);
			$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
			$primary->reload;
		}
		else
		{
			$standby->start;
		}
		my $before = start_clients($primary, 8, 'SELECT next_id(5)', @portable);
		await_clients($primary, 8);
		usleep 500_000;
		kill_node($primary);
		finish_clients($before);
		$standby->promote;
		my $after = start_clients($standby, 8, 'SELECT next_id(5)', @portable, seconds => 1);
		finish_clients($after);
		is_innocent(judge_clients([ $before, $after ], lead_ms => -1),
			'portable: failover, ' . ($is_synchronous ? 'synchronous, an hour behind' : 'asynchronous'), 1);
		set_clock('+0');
		kill_node($standby);
	}
}

done_testing();
