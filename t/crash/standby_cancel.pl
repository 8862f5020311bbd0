# A cancel, a timeout or the end of the session ends the wait of next_id for a synchronous standby, which is absent, and
# withholds the id; also where a commit could not report that, and again and again in one statement.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Test::More;
use Standbys;

start_primary();
want_standbys('absent');

# A cancelled commit reports that by a warning, if the settings let it.
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
my $draw = start_session('SELECT next_id(5)');
waits_for_standby($draw, 'next_id waits');
query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '$draw->{name}'");
is_withheld($draw, qr/server closed the connection unexpectedly|terminating connection/, 'terminated');
is(query(q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend')),
	0, 'nobody is left waiting');

stop_primary();
done_testing();
