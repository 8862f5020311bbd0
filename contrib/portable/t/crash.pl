# contrib/portable/shardid.sql and clocks that step, crashes and failovers: ids continue, no faster than real time; ids that a
# commit has flushed are never repeated, and others not while the clock is right.
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

draw(2000);
set_clock($_), draw(500) for '-0.001', '-1', '-3600';
cmp_ok(lead_ms($node, 'ids.shardid_seq', 'portable'), '>', 3_000_000, 'an hour ahead of the clock, it goes on');
set_clock($_), draw(500) for '+3600', '+0', '+0 x0.5';
is_innocent(judge([ \@told ], lead_ms => -1), 'portable: clock steps', 6);

# A clock that is behind, under load, with many ids per millisecond and with one.
set_clock('+0');
query("CREATE SEQUENCE wide; SELECT next_id(5, 'wide'), $narrow");
set_clock('-3600');
my ($wide, $one) = map { start_clients($node, 4, $_, @portable, seconds => 1) } (q{SELECT next_ids(5, 1500, 'wide')}, "SELECT $narrow");
my ($steps, $took) = draw_narrow(100);
cmp_ok($steps, '<=', $took + 1, "an hour behind, a millisecond for each id: $steps in $took ms");
finish_clients($_) for $wide, $one;
is_innocent(judge_clients([$wide], lead_ms => -1), 'portable: an hour behind, under load', 1);
is_innocent(judge_clients([$one], lead_ms => -1, shard_bits => 22, sequence_bits => 0), 'portable: an hour behind, under load, each waits', 1);
set_clock('-90000');
like((query(q(SET shardid.max_lead = '2d'; SELECT next_id(5)))), qr/^\d+$/, 'a day behind, shardid.max_lead lets it go on');
set_clock('+0');

# Crashes. Ids that a commit has flushed are never repeated, whatever the clock shows. Other ids are not repeated if the
# clock is not behind.
my $insert = 'INSERT INTO crashes DEFAULT VALUES RETURNING id';
my @modes = (
	[ 'autocommit', '-1h', q(SELECT next_id(5, 'crashed')) ],
	[ 'INSERT', '-1h', $insert ],
	[ 'rolled back', '+0', [ 'BEGIN', q(SELECT next_id(5, 'crashed')), 'ROLLBACK' ] ],
	[ 'synchronous_commit = off', '+0', $insert, '-c synchronous_commit=off' ]);
for my $mode (@modes)
{
	my ($name, $offset, $draw, $options) = @$mode;
	my $count = rounds(1, 10);
	my @histories;
	query('DROP TABLE IF EXISTS crashes; DROP SEQUENCE IF EXISTS crashed; CREATE SEQUENCE crashed;'
		  . q( CREATE TABLE crashes (id bigint DEFAULT next_id(5, 'crashed'))));
	for my $round (1 .. $count)
	{
		push @histories, start_clients($node, 8, $draw, @portable, options => $options);
		await_clients($node, 8);
		usleep 200_000 + rand 200_000;
		query('CHECKPOINT') if $round % 2;
		usleep 100_000;
		crash($offset);
		finish_clients($histories[-1]);
	}
	push @histories, start_clients($node, 2, $modes[0][2], @portable, rounds => 20);
	finish_clients($histories[-1]);
	set_clock('+0');
	is_innocent(judge_clients(\@histories, lead_ms => -1), "portable: kill -9, $name", $count);
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
