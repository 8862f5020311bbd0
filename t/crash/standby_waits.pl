# next_id waits for synchronous standbys: by the server's current settings, each session for a WAL record of its own,
# until a cancel or the end of the session, which withholds the id. The standby is absent.
use ShardidTest;

my $node = new_node('primary', "autovacuum = off\ncheckpoint_timeout = 1h\n", allows_streaming => 1);

# While no standby answers, queries must write nothing.
my $watching = open_session($node);
sub query { return ask($watching, "$_[0];") }

sub want_standbys
{
	$node->append_conf('postgresql.conf', "synchronous_standby_names = '$_[0]'");
	$node->reload;
	# The checkpointer tells sessions whether there are any: it has read the setting before it does this.
	return $node->safe_psql('postgres', 'CHECKPOINT');
}

# Starts a session in the background that runs the statements, each sent alone.
my $sessions = 0;

sub start_session
{
	my (@statements) = @_;
	my $session = { name => 'session ' . ++$sessions, said => '', failed => '' };
	$session->{psql} = IPC::Run::start(
		[ qw(psql -XAtq -v VERBOSITY=verbose -d), $node->connstr('postgres') . " application_name='$session->{name}'",
			map { ('-c', $_) } @statements ],
		'>', \$session->{said}, '2>', \$session->{failed}, guard($session->{name}));
	return $session;
}

# Of the session in pg_stat_activity.
sub activity
{
	return query("SELECT $_[1] FROM pg_stat_activity WHERE application_name = '$_[0]{name}'");
}

# Whether the session starts to wait for this event, and does not end instead.
sub comes_to_wait
{
	my ($session, $event) = @_;
	my $is_waiting;
	await_event(
		$event,
		sub {
			$session->{psql}->pump_nb;
			return ($is_waiting = activity($session, 'wait_event') eq $event) || !$session->{psql}->pumpable;
		});
	return $is_waiting;
}

sub waits_for_standby
{
	my ($session, $test) = @_;
	return ok(comes_to_wait($session, 'SyncRep'), $test) || diag("said: $session->{said}$session->{failed}");
}

sub is_told_an_id
{
	my ($session, $test) = @_;
	$session->{psql}->finish;
	return like("$session->{said}$session->{failed}", qr/\A\d+\n\z/, $test);
}

# The session received no id, for this reason.
sub is_withheld
{
	my ($session, $why, $test) = @_;
	$session->{psql}->finish;
	like($session->{failed}, $why, $test);
	return is($session->{said}, '', 'and the id is withheld');
}

my $canceled = qr/^ERROR:  57014: canceling statement while it waits for a synchronous standby$/m;
query(q(CREATE TABLE notes (note text); CREATE SEQUENCE noted CACHE 2; SELECT next_id(5), next_id(5, 'noted')));

# The setting is made while a statement runs: its session has not read it.
my $lock = start_session('SELECT pg_advisory_lock(1)', 'SELECT pg_sleep(3600)');
comes_to_wait($lock, 'PgSleep') or die 'the lock is not taken';
my $statement = start_session(<<'SQL');
DO $$
BEGIN
    PERFORM next_id(5);
    PERFORM pg_advisory_xact_lock(1);
    RAISE 'drawn: %', next_id(5); -- commits nothing, so no commit waits
END
$$
SQL
comes_to_wait($statement, 'advisory') or die 'the statement has not drawn its first id';
want_standbys('absent');
my $draw = start_session('SELECT next_id(5)');
comes_to_wait($draw, 'SyncRep') or die 'the setting is not read';
activity($lock, 'pg_terminate_backend(pid)');
$lock->{psql}->finish;
waits_for_standby($statement, 'the setting made: a statement that runs waits at its next draw');
want_standbys('');
$statement->{psql}->finish;
like($statement->{failed}, qr/\AERROR:  P0001: drawn: \d+\n/, 'and shows the id when the setting is taken back');
is_told_an_id($draw, 'as the other');

# The setting is withdrawn and made again before the waiter, which that wakes, has run: it continues to wait. Another
# interrupt meanwhile is no cancel.
want_standbys('absent');
$draw = start_session('SELECT next_id(5)');
waits_for_standby($draw, 'next_id waits');
is(query(q(SELECT settled_before IS NOT NULL FROM id_generator_status('noted'))), 't', 'id_generator_status does not');
my $pid = activity($draw, 'pid');
my $commit = start_session("INSERT INTO notes VALUES ('waits')");
comes_to_wait($commit, 'SyncRep') or die 'the commit does not wait';
kill 'STOP', $pid;
query("SELECT pg_log_backend_memory_contexts($pid)");
want_standbys('');
$commit->{psql}->finish;
want_standbys('absent');
my $later = start_session('SELECT next_id(5)');
waits_for_standby($later, 'the setting taken back and made again: a new next_id waits');
kill 'CONT', $pid;
$node->wait_for_log(qr/logging memory contexts of PID $pid\b.*Grand total: /s);
query("SELECT pg_cancel_backend($pid)");
is_withheld($draw, $canceled, 'the one that was woken waits on, until it is canceled');
want_standbys('');
is_told_an_id($later, 'as the new one');

# A cancel, a timeout and a termination end the wait, and the id is withheld.
want_standbys('absent');
$draw = start_session('SELECT next_id(5)');
waits_for_standby($draw, 'next_id waits');
activity($draw, 'pg_cancel_backend(pid)');
is_withheld($draw, $canceled, 'pg_cancel_backend');
is_withheld(start_session("SET statement_timeout = '200ms'", $_), qr/^ERROR:  57014: cancel/m, "statement_timeout: $_")
  for 'SELECT next_id(5)', 'SELECT next_ids(5, 3) LIMIT 1', q(SELECT nextval_range('shardid_seq', 1000));
$draw = start_session('SELECT next_id(5)');
waits_for_standby($draw, 'next_id waits');
activity($draw, 'pg_terminate_backend(pid)');
is_withheld($draw, qr/server closed the connection unexpectedly|terminating connection/, 'terminated');
is_told_an_id(start_session('SET synchronous_commit = local', 'SELECT next_id(5)'), 'local waits for no standby');
want_standbys('');

# Each session that calls next_id waits for a WAL record of its own, also if another session has written that of its id.
# The generator is ahead of the clock, so that one record covers the ids of all sessions, however slow they are.
query(q(CREATE SEQUENCE shared; SELECT setval('shared', id_lower_bound(now() + interval '1 hour') >> 23 << 10)));
want_standbys('absent');
my $from = query('SELECT pg_current_wal_insert_lsn()');
my @waiting = map { start_session("SELECT next_id(5, 'shared')") } 1 .. 8;
waits_for_standby($_, 'next_id waits') for @waiting;

# The session that wrote the record waits for it, and each of the seven others for a record that does nothing.
my $to = query('SELECT pg_current_wal_insert_lsn()');
my ($records) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $from, '-e', $to ]);
my $empty = () = $records =~ /rmgr: XLOG .* desc: NOOP/g;
is($empty, 7, 'a record for each who wrote none, and no other');
want_standbys('');
is_told_an_id($_, 'the setting withdrawn: an id is told') for @waiting;
my %ids = map { $_->{said} => 1 } @waiting;
is(scalar keys %ids, 8, 'of one generator each another');

# A standby that flushes WAL no earlier than with the end of a segment: what it has written is enough for remote_write only.
query(q(SELECT pg_create_physical_replication_slot('writes')));
my $standby = IPC::Run::start([ qw(pg_receivewal -n -s 1 -S writes -D), PostgreSQL::Test::Utils::tempdir(), '-d', $node->connstr('postgres') ]);
want_standbys('*');
await_event('a standby', sub { return query('SELECT sync_state FROM pg_stat_replication') eq 'sync' });
is_told_an_id(start_session('SET synchronous_commit = remote_write', q(SELECT next_id(5, 'shared'))), 'remote_write does not wait for a flush');
$draw = start_session(q(SELECT next_id(5, 'shared')));
waits_for_standby($draw, 'on waits for it, also if another session wrote the record');
want_standbys('');
is_told_an_id($draw, 'and then has an id');
$standby->kill_kill;

close_session($watching);
$node->stop;
done_testing();
