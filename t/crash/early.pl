# The record that covers the next ids is written before they are needed, and is waited for only when they are. If it is
# lost, in a crash or because a synchronous standby has not got it, no id that a client received comes again, whatever the
# clock then shows, and wherever a checkpoint has begun.
use Clocked;
use List::Util 'sum0';
use ShardidTest;

# While the file $gate exists, nothing is written to WAL.
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
my $conf = "wal_writer_delay = 10s\nrestart_after_crash = off\ncheckpoint_timeout = 1h\n";
{
	local @ENV{qw(LD_PRELOAD WAL_GATE)} = (join(' ', grep { $_ } $ENV{LD_PRELOAD}, judge_program('wal_gate.so')), $gate);
	start_clocked($conf);
}
query('CREATE EXTENSION pageinspect; CREATE SEQUENCE early');

sub restart_gated
{
	local @ENV{qw(LD_PRELOAD WAL_GATE)} = (join(' ', grep { $_ } $ENV{LD_PRELOAD}, judge_program('wal_gate.so')), $gate);
	unlink $gate;
	return restart_at(@_);
}

# Ahead of the clock WAL is written 100 ids ahead here, so that no time decides: the next record is there after half of
# them. As long as it is not flushed, ids up to the end of the first one are returned, and no others.
query("SELECT setval('narrow', id_lower_bound(now() + interval '1 hour', shard_bits => 22, sequence_bits => 0) >> 22)");
my $first = query("SELECT $narrow");
append_to_file($gate, 'closed');
my $client = start_clients($node, 1, "SELECT $narrow");
my $is_waiting = q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND wait_event ~* '^walwrite');
my $watching = open_session($node);
await_event('it waits', sub { @{ read_told($client)->[0] // [] } > 150 || ask($watching, "$is_waiting;") eq 't' });
$watching->{psql}->kill_kill;
kill_node($node);
finish_clients($client);
my @ids = @{ read_told($client)->[0] };
is(join(' ', map { ($_ >> 22) - ($first >> 22) } @ids), join(' ', 1 .. 100), 'ids up to the end of the record that is flushed are returned, and no others');
restart_gated('+0');
cmp_ok(query("SELECT $narrow"), '>', $ids[-1], 'and the next is above them');

# Random crashes.
my $layout = 'shard_bits => 18, sequence_bits => 5';
my @draws = ("SELECT next_id(5, 'early', $layout)",
	[ 'BEGIN', "SELECT next_id(5, 'early', $layout)", "SELECT next_ids(5, 40, 'early', $layout)", 'ROLLBACK' ]);
my ($early, @histories) = 0;

sub told { return sum0(map { scalar @$_ } @{ read_told($_[0]) }) }

# Clients generate ids until the generator has written a record above $durable, an expression, or all of them wait; and
# some more while it is in flight. $strike ends the server.
sub until_lost
{
	my ($close, $durable, $strike) = @_;
	my $clients = start_clients($node, 8, $draws[ rand @draws ], pause_ms => 2);
	await_clients($node, 8);
	await_ids($clients);
	my $session = open_session($node);
	for (1 .. 2)
	{
		usleep rand 300_000;
		ask($session, 'CHECKPOINT;') if rand() < 0.3;
	}
	my $checkpoint = open_session($node) if rand() < 0.3;
	$close->();
	send_to($checkpoint, 'CHECKPOINT;') if $checkpoint;
	my $in_flight;
	await_event('a record in flight, or all wait', sub {
		($in_flight, my $all_wait) = split /\|/, ask($session, <<"SQL");
SELECT lsn > ($durable), (SELECT count(*) = 8 FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND query ~ 'next_id' AND wait_event ~* '^(walwrite|syncrep)')
FROM page_header(get_raw_page('early', 0));
SQL
		return "$in_flight $all_wait" =~ /t/;
	});
	my $before = told($clients);
	usleep rand 200_000;
	$_->{psql}->kill_kill for grep { $_ } $session, $checkpoint;
	$strike->();
	finish_clients($clients);
	$early += told($clients) - $before if $in_flight eq 't';
	push @histories, $clients;
	return;
}

sub are_innocent
{
	my ($fault, $rounds) = @_;
	cmp_ok($early, '>', 0, "$fault: $early ids were returned while the last record was in flight");
	is_innocent(judge_clients(\@histories, lead_ms => -1, shard_bits => 18, sequence_bits => 5), $fault, $rounds);
	($early, @histories) = 0;
	return;
}

sub finished
{
	push @histories, start_clients($node, 2, $draws[0], rounds => 100);
	finish_clients($histories[-1]);
	return;
}

my $rounds = rounds(5, 200);
for (1 .. $rounds)
{
	until_lost(sub { append_to_file($gate, 'closed') }, 'pg_current_wal_flush_lsn()', sub { kill_node($node) });
	restart_gated(rand() < 0.5 ? '-1h' : '+0');
	finished();
}
are_innocent('crash while the next record is in flight', $rounds);
$node->stop;

# Random promotions of a standby whose clock is an hour behind, of which the last record is kept. The promoted one has a
# right clock again for its own standby.
my $dir = PostgreSQL::Test::Utils::tempdir();

sub late_standby
{
	my ($name) = @_;
	my $clock = "$dir/$name.clock";
	set_fake_clock($clock, '-3600');
	my $standby = with_fake_clock($clock, sub { new_standby($node, $name) });
	wait_for_standby($node);
	return ($standby, $clock);
}

$node = new_node('primary', $conf, allows_streaming => 1);
$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect; CREATE SEQUENCE early');
my $round = 0;
while ($round < rounds(1, 10) || !$early && $round < 10)
{
	my ($standby, $clock) = late_standby('standby_' . ++$round);
	until_lost(
		sub { kill 'STOP', $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_replication') },
		'SELECT flush_lsn FROM pg_stat_replication',
		sub { kill_node($node) });
	# A killed server leaves its shared memory behind until it is started once more.
	start_again($node);
	$node->stop('immediate');
	$node = $standby;
	$node->promote;
	$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$node->reload;
	finished();
	set_fake_clock($clock, '+0');
	finished();
}
are_innocent('failover while the next record is in flight', $round);
$node->stop;
done_testing();
