# A draw waits for synchronous standbys by the server's current settings, not those that the session has read; each
# waiter has an LSN of its own; a wait ends by what ends that of a commit, and by a cancel, which withholds the id.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $node = new_node('standby_settings', "wal_level = logical\nautovacuum = off\ncheckpoint_timeout = 1h\n", allows_streaming => 1);

# For queries while no standby answers: they must write nothing.
sub query { return $node->safe_psql('postgres', $_[0]) }

query(<<'SQL');
CREATE TABLE notes (note text);
CREATE PUBLICATION notes FOR TABLE notes;
SELECT pg_create_logical_replication_slot('notes', 'pgoutput');
SELECT next_id(5);
SQL

sub want_standbys
{
	my ($names) = @_;
	$node->append_conf('postgresql.conf', "synchronous_standby_names = '$names'");
	$node->reload;
	return;
}

# Starts a session in the background that runs the statements, each sent alone.
my $sessions = 0;

sub start_session
{
	my (@statements) = @_;
	my $session = { name => 'session ' . ++$sessions, said => '', failed => '' };
	my $connection = $node->connstr('postgres') . " application_name='$session->{name}'";
	$session->{psql} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $connection, map { ('-c', $_) } @statements ],
		'>', \$session->{said}, '2>', \$session->{failed},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $session;
}

sub is_over { return !$_[0]{psql}->pumpable }

# Of the session in pg_stat_activity.
sub activity
{
	my ($session, $columns) = @_;
	return query("SELECT $columns FROM pg_stat_activity WHERE application_name = '$session->{name}'");
}

# Whether the session starts to wait for this event; false if it ends instead.
sub comes_to_wait
{
	my ($session, $event) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	while (time < $end)
	{
		return 1 if activity($session, "coalesce(wait_event, '')") eq $event;
		$session->{psql}->pump_nb;
		return 0 if is_over($session);
		usleep 10_000;
	}
	return 0;
}

sub waits_for_standby
{
	my ($session, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(comes_to_wait($session, 'SyncRep'), $test) || diag("said: $session->{said}$session->{failed}");
}

sub is_told_an_id
{
	my ($session, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$session->{psql}->finish;
	return like("$session->{said}$session->{failed}", qr/\A\d+\n\z/, $test);
}

# The session received no id, for this reason.
sub is_withheld
{
	my ($session, $why, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$session->{psql}->finish;
	like($session->{failed}, $why, $test);
	return is($session->{said}, '', 'and the id is withheld');
}

# The setting is withdrawn while its standby is absent.
want_standbys('absent');
my $commit = start_session("INSERT INTO notes VALUES ('waits')");
my $draw = start_session('SELECT next_id(5)');
my $batch = start_session('SELECT min(id) FROM next_ids(5, 100) AS id');
waits_for_standby($commit, 'a commit waits for an absent standby');
waits_for_standby($draw, 'next_id waits');
waits_for_standby($batch, 'next_ids waits');
want_standbys('');
$commit->{psql}->finish;
is($commit->{failed}, '', 'the setting taken back: the commit gets through');
is_told_an_id($draw, 'so does next_id');
is_told_an_id($batch, 'so does next_ids');

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
$draw = start_session('SELECT next_id(5)');
comes_to_wait($draw, 'SyncRep') or die 'the setting is not read';
query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$lock->{name}'");
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
my $pid = activity($draw, 'pid');
$commit = start_session("INSERT INTO notes VALUES ('waits')");
comes_to_wait($commit, 'SyncRep') or die 'the commit does not wait';
kill 'STOP', $pid;
query("SELECT pg_log_backend_memory_contexts($pid)");
want_standbys('');
$commit->{psql}->finish;
want_standbys('absent');
my $later = start_session('SELECT next_id(5)');
waits_for_standby($later, 'the setting taken back and made again: a new next_id waits');
kill 'CONT', $pid;
$node->wait_for_log(qr/logging memory contexts of PID $pid\b/);
waits_for_standby($draw, 'the one that was woken waits on');
want_standbys('');
is_told_an_id($draw, 'and is told an id when it is taken back for good');
is_told_an_id($later, 'as the new one');

# Cancelled, also where a commit could not report it; timed out; terminated.
want_standbys('absent');
my $canceled = qr/^ERROR:  57014: canceling statement while it waits for a synchronous standby$/m;
for my $levels ('notice', 'error')
{
	my $session =
	  start_session("SET client_min_messages = $levels", "SET log_min_messages = $levels", 'SELECT next_id(5)');
	waits_for_standby($session, "messages from $levels on: next_id waits");
	query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '$session->{name}'");
	is_withheld($session, $canceled, 'pg_cancel_backend');
	is($session->{failed} =~ /WARNING/ ? 'warned' : 'not warned', $levels eq 'error' ? 'not warned' : 'warned',
		'by PostgreSQL as well, if it is let');
	unlike($session->{failed}, qr/already committed/, 'of no commit');
}
is_withheld(start_session("SET statement_timeout = '200ms'", 'SELECT next_id(5)'),
	qr/^ERROR:  57014: canceling statement/m, 'statement_timeout');
my $caught = start_session(<<'SQL');
DO $$
BEGIN
    FOR i IN 1 .. 3 LOOP
        BEGIN
            PERFORM next_id(5);
        EXCEPTION WHEN query_canceled THEN
            RAISE NOTICE 'caught %', i;
        END;
    END LOOP;
    RAISE 'over'; -- since a commit would wait as well
END
$$
SQL
for my $i (1 .. 3)
{
	waits_for_standby($caught, "in one statement, draw $i waits");
	query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '$caught->{name}'");
	$caught->{psql}->pump until is_over($caught) || $caught->{failed} =~ /caught $i/;
}
$caught->{psql}->finish;
like($caught->{failed}, qr/caught 3.*over/s, 'each of them cancelled');
$draw = start_session('SELECT next_id(5)');
waits_for_standby($draw, 'next_id waits');
query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$draw->{name}'");
is_withheld($draw, qr/server closed the connection unexpectedly|terminating connection/, 'terminated');
is(query(q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend')),
	0, 'nobody is left waiting');
want_standbys('');

# A connected standby that does not answer, and many sessions that wait for it.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
want_standbys('*');
$node->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication));
query("INSERT INTO notes VALUES ('the standby answers')");
my $walsender = query('SELECT pid FROM pg_stat_replication');
kill 'STOP', $walsender;
# Ahead of the clock, so that one record covers the ids of all sessions, however slow they are.
query(<<'SQL');
SET synchronous_commit = local;
CREATE SEQUENCE shared;
SELECT setval('shared', ((extract(epoch FROM now()) * 1000)::bigint - 1314220021721 + 3600000) << 10);
SQL
my $from = query('SELECT pg_current_wal_insert_lsn()');
my @waiting = map { start_session("SELECT next_id(5, 'shared')") } 1 .. 8;
waits_for_standby($_, 'next_id waits for a standby that does not answer') for @waiting;

# In a transaction that has written since, and in a subtransaction whose first record it is.
query('SET synchronous_commit = local; CREATE SEQUENCE written; CREATE SEQUENCE of_another');
push @waiting, start_session("INSERT INTO notes VALUES (next_id(5, 'written')) RETURNING note");
push @waiting, start_session("BEGIN; SAVEPOINT sub; SELECT next_id(5, 'of_another'); COMMIT");
waits_for_standby($_, 'likewise in a transaction that writes') for @waiting[ -2, -1 ];

# PostgreSQL shows in the process title for which LSN a session waits.
SKIP:
{
	my @pids = map { activity($_, 'pid') } @waiting;
	skip 'no /proc here, where the title of a process shows what it waits for', 1
	  unless -r "/proc/$pids[0]/cmdline";
	my %lsns = map { slurp_file("/proc/$_/cmdline") =~ m{waiting for ([0-9A-F]+/[0-9A-F]+)} ? ($1 => 1) : () } @pids;
	is(scalar keys %lsns, scalar @waiting, 'each of them for an LSN of its own');
}

# The session that wrote the record waits for it, and each of the seven others for a record that does nothing.
my $to = query('SELECT pg_current_wal_insert_lsn()');
my ($records) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $from, '-e', $to ]);
my $empty = () = $records =~ /rmgr: XLOG .* desc: NOOP/g;
is($empty, 7, 'a record for each who wrote none, and no other');

kill 'CONT', $walsender;
is_told_an_id($_, 'the standby answers: an id is told') for @waiting;
my %ids = map { $_->{said} => 1 } @waiting[ 0 .. 7 ];
is(scalar keys %ids, 8, 'of one generator each another');
$node->wait_for_catchup($standby);
query(q(SELECT pg_logical_slot_get_binary_changes('notes', NULL, NULL, 'proto_version', '1', 'publication_names', 'notes')));
pass('logical decoding reads such records');

my $before = query('SELECT next_id(5)');
$standby->promote;
cmp_ok($standby->safe_psql('postgres', 'SELECT next_id(5)'), '>', $before, 'so does a standby, which is promoted');

$standby->stop;
want_standbys('');
$node->stop;
unlike(slurp_file($_->logfile), qr/TRAP|PANIC|terminated by signal (?:6|11)\b/, $_->name . "'s log shows no crash")
  for $node, $standby;
done_testing();
