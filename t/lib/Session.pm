# A session of psql that is led step by step: each step costs a query, not a process and a connection. A step that hangs
# dies when PostgreSQL's tests would.
package Session;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;

our @EXPORT = qw(open_session ask send_to answer close_session);

# On a node, or by a connection string.
sub open_session
{
	my ($node, @options) = @_;
	my $address = ref $node ? $node->connstr('postgres') : $node;
	my %session = (in => '', out => '', guard => IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default, name => 'a step of psql'));
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

# The end of its input does not end it: sessions that were opened later have inherited the pipe.
sub close_session
{
	my ($session) = @_;
	$session->{in} .= "\\q\n";
	$session->{guard}->start;
	return $session->{psql}->finish;
}

1;
