# After a crash under load, no id that a client received is generated again, whatever the transaction did and whatever
# the clock then shows; also if the crash comes between the insertion of WAL and its flush.
use Clocked;
use List::Util 'shuffle';
use ShardidTest;

# The WAL writer must not help: each draw must flush by itself. While the file $gate exists, nothing is written to WAL.
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
local @ENV{qw(LD_PRELOAD WAL_GATE)} = (join(' ', grep { $_ } $ENV{LD_PRELOAD}, judge_program('wal_gate.so')), $gate);
start_clocked("wal_writer_delay = 10s\nrestart_after_crash = off\ncheckpoint_timeout = 1h\n");

# Ways to lose what is in memory. Each returns when the server has ended.
sub kill_a_backend
{
	my ($pid) = split /\n/, query(q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query !~ 'CHECKPOINT' ORDER BY random()));
	kill 'KILL', $pid;
	usleep 10_000 while -e $node->data_dir . '/postmaster.pid';
	$node->{_pid} = undef;
	return;
}

# No client may have received an id that the crash then loses. If the clock was behind, the generator would need no WAL for
# long.
sub kill_before_flush
{
	set_clock('+0');
	append_to_file($gate, 'closed');
	$node->poll_query_until('postgres',
		q(SELECT count(*) = 16 FROM pg_stat_activity WHERE backend_type = 'client backend' AND lower(wait_event) = 'walwrite'))
	  or die 'not all sessions wait for WAL';
	kill_node($node);
	unlink $gate;
	return;
}

my %strike = (
	'kill -9 of the whole server' => sub { kill_node($node) },
	'immediate stop' => sub { $node->stop('immediate') },
	'kill -9 of a backend' => \&kill_a_backend,
	'crash between WAL insert and flush' => \&kill_before_flush);

# Clients record what they receive while the server crashes again and again, with a checkpoint at some moment and the
# clock an hour back after every other crash.
query('CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); CREATE SEQUENCE plain;');
my %modes = (
	'autocommit' => { draw => 'SELECT next_id(5)' },
	'rolled back' => { draw => [ 'BEGIN', 'SELECT next_id(5)', 'ROLLBACK' ] },
	'many at once, rolled back' => { draw => [ 'BEGIN', 'SELECT next_ids(5, 40)', 'ROLLBACK' ] },
	'INSERT ... RETURNING' => { inserts => 1 },
	'synchronous_commit = off' => { inserts => 1, options => '-c synchronous_commit=off' });

# One crash. It affects all clients, which have received ids.
sub history
{
	my ($mode, $crash, $clock) = @_;
	my $clients = start_clients($node, 16, $mode->{draw} // 'INSERT INTO photos DEFAULT VALUES RETURNING id', options => $mode->{options}, pause_ms => rounds(15, 0));
	await_clients($node, 16);
	await_ids($clients);
	usleep 100_000 + rand 200_000;
	query('CHECKPOINT') if rand() < 0.7;
	usleep rand 200_000;
	$strike{$crash}->();
	finish_clients($clients);
	restart_at($clock // (rand() < 0.5 ? '-1h' : '+0'));
	return $clients;
}

sub finished
{
	my $clients = start_clients($node, 2, @_);
	finish_clients($clients);
	return $clients;
}

# Outside of make test-full, each crash meets one of the modes, and autocommit. Sessions that insert rows wait for other
# locks, too, while nothing is written.
for my $crash (sort keys %strike)
{
	my @modes = grep { $crash !~ /flush/ || !$modes{$_}{inserts} } sort keys %modes;
	@modes = $ENV{FULL} ? (@modes) x 20 : (shuffle @modes)[0];
	my @histories = map { history($modes{$_}, $crash) } @modes;
	push @histories, history($modes{autocommit}, $crash, '-1h'), finished('SELECT next_id(5)', rounds => 100);
	is_innocent(judge_clients(\@histories, lead_ms => -1), $crash, 1 + @modes);
}

# The test can detect a loss: nextval returns its value without a flush.
my ($nextval, @repeats);
for (1 .. 40)
{
	push @repeats, history({ draw => [ 'BEGIN', q(SELECT nextval('plain')), 'ROLLBACK' ] }, 'kill -9 of the whole server');
	$nextval = judge_clients(\@repeats, lead_ms => -1);
	last if $nextval->{duplicates};
}
cmp_ok($nextval->{duplicates}, '>', 0, "nextval rolled back: $nextval->{duplicates} of $nextval->{ids} twice");

# With a right clock a generator is after a crash where its status said, at most a second ahead.
query('CREATE SEQUENCE ahead');
my ($status) = query(q(SELECT next_id(5, 'ahead'); SELECT logged_to FROM id_generator_status('ahead'))) =~ /\n(.*)/;
crash('+0');
is(query(q(SELECT last_ts FROM id_generator_status('ahead'))), $status, 'a crash takes it to where its status said');
is(judge_clients([ finished(q(SELECT next_id(5, 'ahead')), rounds => 100) ], lead_ms => 1000)->{violations}, 0, 'and ids are at most a second ahead');

# Crashes one after the other hardly add up, even if the clock all but stands, and no number of them makes next_id refuse
# what it has generated before. The postmaster stays, and with it its clock.
my @max_leads = (0, 500, 86400000);
query("CREATE SEQUENCE crashed_$_; SELECT next_id(5, 'crashed_$_')") for @max_leads;
query('ALTER SYSTEM SET restart_after_crash = on');
$node->reload;
set_clock('+3600 x0.001');
for my $max_lead (@max_leads)
{
	my $generator = "crashed_$max_lead";
	my @leads;
	for (1 .. 4)
	{
		my ($code, $stdout, $stderr) = $node->psql('postgres', "SET shardid.max_lead = '$max_lead'; SELECT next_id(5, '$generator');
			SELECT extract(epoch FROM lead) FROM id_generator_status('$generator')");
		push @leads, $code ? $stderr : (split /\n/, $stdout)[-1];
		my $log_start = -s $node->logfile;
		my $writer; # starts beside the first sessions
		await_event('a background writer', sub { $writer = query(q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer')) });
		kill 'KILL', $writer;
		$node->wait_for_log(qr/ready to accept connections/, $log_start);
	}
	is(scalar(grep { /^-?[\d.]+$/ && $_ <= 1.25 } @leads), 4, "crashes one after the other, max_lead $max_lead: the lead in seconds is " . join ', ', @leads);
}

$node->stop;
done_testing();
