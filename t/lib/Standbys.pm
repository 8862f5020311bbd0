# Sessions in the background that wait for a synchronous standby, by a commit or by next_id, and what they received.
package Standbys;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

our @EXPORT = qw(start_primary stop_primary query want_standbys start_session is_over activity comes_to_wait
  waits_for_standby is_told_an_id is_withheld $node);
our $node;

sub start_primary
{
	my ($conf) = @_;
	$node = new_node('primary', "autovacuum = off\ncheckpoint_timeout = 1h\n" . ($conf // ''), allows_streaming => 1);
	query('CREATE TABLE notes (note text); SELECT next_id(5)');
	return;
}

sub stop_primary
{
	want_standbys('');
	$node->stop;
	unlike(slurp_file($node->logfile), qr/TRAP|PANIC|terminated by signal (?:6|11)\b/, "the primary's log shows no crash");
	return;
}

# While no standby answers, queries must write nothing.
sub query { return $node->safe_psql('postgres', $_[0]) }

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

1;
