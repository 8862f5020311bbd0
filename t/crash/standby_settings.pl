# next_id waits for synchronous standbys by the server's current settings, not by those that its session has read. The
# standby is absent, and the setting is withdrawn while sessions wait, made while a statement runs, or withdrawn and
# made again before a session has noticed.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Test::More;
use Standbys;

start_primary();

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

stop_primary();
done_testing();
