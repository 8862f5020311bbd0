# Single ids and sessions that draw continuously and record ids and errors; and one account of all ids of all servers.
package LeaseDraws;

use ShardidTest;
use Exporter 'import';
use POSIX ();
use Test::More ();
use Time::HiRes qw(time usleep);

our @EXPORT = qw(answered draw_one draw_at_once draw_from_all start_drawing finish_drawing ids_of all_ids no_id_comes_twice);

my @accounts;    # lists of ids, each from one session
my @files;       # histories of clients

# What a call returns or raises, once the registry has answered it: a machine that is slow may need more than one.
sub answered
{
	my ($call) = @_;
	my ($result, $end) = (undef, time + $PostgreSQL::Test::Utils::timeout_default);
	do { $result = $call->() }
	  while $result =~ /did not answer within [1-9]|no answer about the lease of generator/ && time < $end;
	return $result;
}

# Returns one id, which is put on the account, or the error that the registry has caused.
sub draw_one
{
	my ($node, $generator, %params) = @_;
	my $sql = "\\set VERBOSITY verbose\n" . ($params{settings} // '') . "\nSELECT next_id(generator => '$generator')";
	return answered(sub {
		my ($status, $id, $error) = $node->psql($params{dbname} // 'postgres', $sql, on_error_stop => 1, timeout => 180);
		return $error =~ /ERROR/ ? $error : '?' . $error if $status;
		push @accounts, [$id];
		return $id;
	});
}

# Draws from several [node, database, generator] at the same time, by 4 sessions each, for some seconds. A refusal is no
# failure. Returns how many ids each received.
sub draw_at_once
{
	my ($seconds, @places) = @_;
	my @clients = map { clients_of(@$_, seconds => $seconds) } @places;
	finish_clients($_) for @clients;
	return ids_received(@clients);
}

# The same for half a second and until each has received ids: on a machine that is slow, a lease can end first.
sub draw_from_all
{
	my (@places) = @_;
	my @clients = map { clients_of(@$_) } @places;
	usleep 500_000;
	await_ids(@clients);
	finish_clients($_, 1) for @clients;
	return ids_received(@clients);
}

sub clients_of
{
	my ($node, $dbname, $generator, %params) = @_;
	return start_clients($node, 4, "SELECT next_id(generator => '$generator') FROM generate_series(1, 100)",
		dbname => $dbname, pause_ms => 10, tolerate => '55000,57P03', %params);
}

sub ids_received
{
	my (@clients) = @_;
	push @files, map { @{ $_->{files} } } @clients;
	return map { my $n = 0; $n += @$_ for @{ read_told($_) }; $n } @clients;
}

# A session that draws an id every $params{ms} (25) for $params{seconds} (600) or until finish_drawing, also after
# errors.
sub start_drawing
{
	my ($node, $generator, %params) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $ms = $params{ms} // 25;
	append_to_file("$dir/told", '');
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', "$dir/told" or die;
		open STDERR, '>&', \*STDOUT or die;
		my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr($params{dbname} // 'postgres'));
		my $psql_pid = open my $psql, '|-', @command or die;
		my $end = 0;
		local $SIG{TERM} = sub { $end = 1 };
		local $SIG{PIPE} = 'IGNORE';
		$psql->autoflush;
		print $psql $params{settings} // '', "\n";
		for (1 .. 1000 * ($params{seconds} // 600) / $ms)
		{
			last if $end || !print $psql "SELECT next_id(generator => '$generator'), extract(epoch FROM clock_timestamp());\n\\echo done @{[ time ]}\n";
			usleep 1000 * $ms;
		}
		# psql has received more statements than it has run.
		kill 'TERM', $psql_pid if $end;
		close $psql;
		POSIX::_exit(0);
	}
	return { pid => $pid, file => "$dir/told" };
}

# Ends it, and returns what it received, in order: [id, time] or [undef, time, SQLSTATE, whole error].
sub finish_drawing
{
	my ($session) = @_;
	kill 'TERM', $session->{pid};
	waitpid $session->{pid}, 0;
	my @told = told($session);
	push @accounts, [ map { $_->[0] // () } @told ];
	return @told;
}

sub told
{
	my ($session) = @_;
	my @told;
	my $text = slurp_file($session->{file}) =~ s/^done [\d.]+\n\K(?:(?!^done ).)*\z//msr;
	for (split /^done [\d.]+\n/m, $text)
	{
		my ($id, $time) = /^(-?\d+)\|([\d.]+)$/m;
		my ($sqlstate) = /ERROR:  (\w+)/;
		push @told, $id ? [ $id, $time ] : [ undef, undef, $sqlstate // 'lost', $_ ] if /\S/;
	}
	return @told;
}

# The ids so far of a session that continues.
sub ids_of
{
	my ($session) = @_;
	return map { $_->[0] // () } told($session);
}

# Puts ids from elsewhere on the account.
sub all_ids
{
	push @accounts, @_;
	return;
}

# One assertion: no id of any server is repeated.
sub no_id_comes_twice
{
	my ($fault) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $noted = PostgreSQL::Test::Utils::tempdir() . '/noted';
	append_to_file($noted, join '', map { "$_\n" } map { @$_ } @accounts);
	my $space = judge_space([ $noted, @files ]);
	note_fault($fault, 1, @$space{qw(ids violations)});
	return Test::More::is($space->{violations}, 0, "$fault: none of $space->{ids} ids comes twice")
	  || Test::More::diag(join "\n", @{ $space->{twice} });
}

1;
