# After a crash under load, no id that a client received is generated again, whatever the transaction did and whatever
# the clock then shows; also if the crash comes between the insertion of WAL and its flush.
use Clocked;
use ShardidTest;

# The WAL writer must not help: each draw must flush by itself.
start_clocked("wal_writer_delay = 10s\nrestart_after_crash = off\ncheckpoint_timeout = 1h\n");

# Ways to lose what is in memory. Each returns when the server has ended.
sub kill_a_backend
{
	my ($pid) = split /\n/, query(<<'SQL');
SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random()
SQL
	kill 'KILL', $pid;
	usleep 10_000 while -e $node->data_dir . '/postmaster.pid';
	$node->{_pid} = undef;
	return;
}

my %strike = (
	'kill -9 of the whole server' => sub { kill_node($node) },
	'immediate stop' => sub { $node->stop('immediate') },
	'kill -9 of a backend' => \&kill_a_backend);

# Clients record what they receive while the server crashes again and again, with a checkpoint at some moment and the
# clock an hour back after every other crash.
query('CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); CREATE SEQUENCE plain;');
my @modes = (
	{ name => 'autocommit', draw => 'SELECT next_id(5)' },
	{ name => 'INSERT ... RETURNING', draw => 'INSERT INTO photos DEFAULT VALUES RETURNING id' },
	{
		name => 'synchronous_commit = off',
		draw => 'INSERT INTO photos DEFAULT VALUES RETURNING id',
		options => '-c synchronous_commit=off'
	},
	{ name => 'rolled back', draw => [ 'BEGIN', 'SELECT next_id(5)', 'ROLLBACK' ] },
	{ name => 'many at once, rolled back', draw => [ 'BEGIN', 'SELECT next_ids(5, 40)', 'ROLLBACK' ] });

sub checkpoint_at_some_moment
{
	usleep 100_000 + rand 200_000;
	query('CHECKPOINT') if rand() < 0.7;
	usleep rand 200_000;
	return;
}

# Waits until all are connected, so that the crash affects all of them, and ids come.
sub start_16_clients
{
	my ($mode) = @_;
	my $clients = start_clients($node, 16, $mode->{draw}, options => $mode->{options}, pause_ms => rounds(15, 0));
	await_clients($node, 16);
	await_ids($clients);
	return $clients;
}

sub history
{
	my ($mode, $crash, $rounds) = @_;
	my @histories;
	for my $round (1 .. $rounds)
	{
		my $clients = start_16_clients($mode);
		checkpoint_at_some_moment();
		$strike{$crash}->();
		finish_clients($clients);
		restart_at(rand() < 0.5 ? '-1h' : '+0');
		push @histories, $clients;
	}
	return @histories;
}

for my $crash (sort keys %strike)
{
	my $rounds = rounds(1, 20);
	my @histories = map { history($_, $crash, $rounds) } @modes;
	is_innocent(judge_clients(\@histories, lead_ms => -1), $crash, $rounds * @modes);
}

# The test can detect a loss: nextval returns its value without a flush.
my ($nextval, @repeats);
for (1 .. 20)
{
	push @repeats, history({ draw => [ 'BEGIN', q(SELECT nextval('plain')), 'ROLLBACK' ] }, 'kill -9 of the whole server', 2);
	$nextval = judge_clients(\@repeats, lead_ms => -1);
	last if $nextval->{duplicates};
}
cmp_ok($nextval->{duplicates}, '>', 0, "nextval rolled back: $nextval->{duplicates} of $nextval->{ids} twice");

# With a right clock a generator is after a crash where its status said, at most a second ahead.
query('CREATE SEQUENCE ahead');
my ($status) = query(q(SELECT next_id(5, 'ahead'); SELECT logged_to FROM id_generator_status('ahead'))) =~ /\n(.*)/;
crash('+0');
is(query(q(SELECT last_ts FROM id_generator_status('ahead'))), $status, 'a crash takes it to where its status said');
my $first = start_clients($node, 2, q(SELECT next_id(5, 'ahead')), rounds => 100);
finish_clients($first);
is(judge_clients([$first], lead_ms => 1000)->{violations}, 0, 'and ids are at most a second ahead');

# A crash between the insertion of WAL and its flush: from some moment on no WAL is written, until all sessions wait for
# it. No client may have received an id that the crash then loses.
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
my @stopped;
my $rounds = rounds(3, 21);
my @unflushed = @modes[ 0, 3, 4 ];
for my $round (1 .. $rounds)
{
	$node->stop;
	{
		local @ENV{qw(LD_PRELOAD WAL_GATE)} = (join(' ', grep { $_ } $ENV{LD_PRELOAD}, judge_program('wal_gate.so')), $gate);
		restart_at('+0');
	}
	my $clients = start_16_clients($unflushed[ $round % 3 ]);
	usleep 200_000 + rand 300_000;
	append_to_file($gate, 'closed');
	$node->poll_query_until('postgres',
		q(SELECT count(*) = 16 FROM pg_stat_activity WHERE backend_type = 'client backend' AND lower(wait_event) = 'walwrite'))
	  or die 'not all sessions wait for WAL';
	kill_node($node);
	unlink $gate;
	finish_clients($clients);
	restart_at('-1h');
	my $after = start_clients($node, 2, 'SELECT next_id(5)', rounds => 100);
	finish_clients($after);
	push @stopped, $clients, $after;
}
is_innocent(judge_clients(\@stopped, lead_ms => -1), 'crash between WAL insert and flush', $rounds);

$node->stop;
done_testing();
