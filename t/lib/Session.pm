# A session of psql that is led step by step: each step costs a query, not a process and a connection; and the guard of
# what may never end.
package Session;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;

our @EXPORT = qw(guard guard_said open_session ask ask_safe send_to answer close_session);

# What the guard says. It allows ten times what a slow machine needs: tools/sandbox.sh sets the time.
sub guard_said { return "the guard has ended this after $PostgreSQL::Test::Utils::timeout_default s: $_[0]" }

# For a program of IPC::Run.
sub guard { return IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default, exception => guard_said($_[0])) }

# On a node, or by a connection string.
sub open_session
{
	my ($node, @options) = @_;
	my $address = ref $node ? $node->connstr('postgres') : $node;
	my %session = (in => '', out => '', guard => guard('a step of psql'));
	$session{psql} = IPC::Run::start([ 'psql', '-XAtq', @options, '-d', $address ],
		'<', \$session{in}, '>', \$session{out}, '2>&1', $session{guard});
	return \%session;
}

# Sends it statements.
sub send_to
{
	my ($session, $sql) = @_;
	$session->{out} = '';
	$session->{in} .= "$sql\n\\echo done\n";
	return $session->{psql}->pump_nb;
}

# What it prints for them.
sub answer
{
	my ($session) = @_;
	$session->{guard}->start;
	$session->{psql}->pump until $session->{out} =~ /^done$/m;
	$session->{guard}->reset;
	return $session->{out} =~ s/\n?^done\n\z//mr;
}

sub ask
{
	send_to(@_);
	return answer(@_);
}

# The same for statements that must succeed.
sub ask_safe
{
	my $answer = ask(@_);
	die $answer if $answer =~ /^(?:ERROR|FATAL):/m;
	return $answer;
}

# The end of its input does not end it: sessions that were opened later have inherited the pipe.
sub close_session
{
	my ($session) = @_;
	$session->{in} .= "\\q\n";
	$session->{guard}->start;
	return $session->{psql}->finish;
}

1;
