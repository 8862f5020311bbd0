# What the TAP tests share: clusters with the extension, clients that record what they receive, and one judge of ids.
# A file that uses it is strict, and has what Session, Test::More and PostgreSQL's Utils export.
package ShardidTest;

use strict;
use warnings;
use Exporter ();
use IPC::Run;
use POSIX ();
use Initdb;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = (
	qw(new_node new_standby wait_for_standby await_event start_clients await_clients await_ids finish_clients read_told judge_clients judge judge_space
	  is_innocent note_fault rounds processes_of end_sessions kill_node start_again with_fake_clock judge_program set_fake_clock lead_ms said_of error_on
	  script_with_includes usleep),
	@Session::EXPORT, @Test::More::EXPORT, @PostgreSQL::Test::Utils::EXPORT);

sub import
{
	$_->import for qw(strict warnings);
	goto &Exporter::import;
}

# Where leases, UUIDs or fingerprints distinguish servers by their system identifier: see Initdb.pm.
our $has_own_identifier = 0;

# PostgreSQL's Utils, up to 17, send what a file dies of to its log only.
$SIG{__DIE__} //= sub { diag("died: $_[0]") if defined $^S && !$^S };

# How slow the machine is does not decide what a registry answers.
my $patient = "shardid_lease.timeout = '3min'\nshardid_lease.registry_timeout = '3min'\n";

# The text of a script of psql, with the files that it reads by \ir.
sub script_with_includes
{
	my ($path) = @_;
	my ($folder) = $path =~ m{^(.*/)};
	return slurp_file($path) =~ s{^\\ir (\S+)\n}{script_with_includes("$folder$1")}emgr;
}

# A started cluster with the extension in database postgres. $conf is added to postgresql.conf.
sub new_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%params);
	$node->append_conf('postgresql.conf', "max_connections = 40\nlog_statement = none\n" . ($has_own_identifier ? $patient : '') . ($conf // ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION shardid');
	return $node;
}

# A started standby.
sub new_standby
{
	my ($primary, $name, $conf) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', $conf // '');
	$standby->start;
	return $standby;
}

# Lets the commits of the primary server wait for it.
sub wait_for_standby
{
	my ($primary, $names) = @_;
	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '" . ($names // '*') . "'");
	$primary->reload;
	$primary->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication)) or die 'not synchronous';
	return;
}

# Before a server is stopped, amcheck reads its generators: whatever a test has done to them, other readers find their
# pages in order. A standby, and a server to which nobody can connect, are not asked; pg_amcheck leaves sequences out in
# PostgreSQL 15.
sub check_generators
{
	my ($node) = @_;
	local $ENV{PGCONNECT_TIMEOUT} = 60;
	my ($status, $complaints, $error) = $node->psql('postgres', <<'SQL');
SELECT pg_is_in_recovery() AS is_standby \gset
\if :is_standby
\q
\endif
SET lock_timeout = '1min';
BEGIN;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA pg_catalog;
SELECT oid::regclass, v.* FROM pg_class, pg_catalog.verify_heapam(oid) v WHERE relkind = 'S';
ROLLBACK;
SQL
	die "amcheck: $complaints" if $complaints;
	note "amcheck has read no generator: $error" if $status;
	return;
}

{
	my $stop = \&PostgreSQL::Test::Cluster::stop;
	no warnings 'redefine';
	*PostgreSQL::Test::Cluster::stop = sub {
		my ($node, $mode) = @_;
		check_generators($node) if $node->{_pid} && ($mode // '') ne 'immediate';
		return $stop->(@_);
	};
	# PostgreSQL's own starts psql for each poll. A session that cannot connect, or is ended, is opened again.
	*PostgreSQL::Test::Cluster::poll_query_until = sub {
		my ($node, $dbname, $query, $expected) = @_;
		my ($session, $said);
		for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			unless (eval { $said = ask($session //= open_session($node->connstr($dbname)), "$query;"); 1 })
			{
				$session->{psql}->kill_kill if $session;
				undef $session;
			}
			if ($session && $said eq ($expected // 't'))
			{
				close_session($session);
				return 1;
			}
			usleep 100_000;
		}
		diag guard_said("waiting for: $query") . "\nthe last answer: " . ($said // 'none');
		return 0;
	};
}

# The programs of proof/judge/, which tools/test.sh builds.
sub judge_program
{
	my ($name) = @_;
	my $path = "$ENV{SANDBOX}/judge/$name";
	die "$path is missing: run this test by make test" unless -e $path;
	return $path;
}

# Starts clients of a node, or of a connection string without a database. They repeat the statements in turn, each sent
# by itself, until their server is gone or as %params says (seconds, rounds, reconnect, tolerate, pause_ms: see
# proof/judge/record.cpp). What they receive is written to files outside the server.
sub start_clients
{
	my ($node, $count, $statements, %params) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my @command = (judge_program('record'), '--sessions', $count);
	push @command, '--reconnect' if delete $params{reconnect};
	my $dbname = delete $params{dbname} // 'postgres';
	my $connection = ref $node ? $node->connstr($dbname) : "$node dbname=$dbname";
	my $options = delete $params{options};
	$connection .= " options='$options'" if $options;
	push @command, '--' . tr/_/-/r, $params{$_} for sort keys %params;
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>', "$dir/count" or die;
		exec @command, "$dir/told", $connection, ref $statements ? @$statements : $statements;
		die "exec: $!";
	}
	return { pid => $pid, files => [ map { "$dir/told.$_" } 1 .. $count ] };
}

# Waits for an event that must come; dies if it does not.
sub await_event
{
	my ($event, $code) = @_;
	my ($end, $pause) = (time + $PostgreSQL::Test::Utils::timeout_default, 10_000);
	until ($code->())
	{
		die guard_said("waiting for: $event") if time > $end;
		usleep $pause;
		$pause *= 2 if $pause < 160_000;
	}
	return;
}

# Waits until this number of clients has sent a statement: one whose connection was lost before would fail.
sub await_clients
{
	my ($node, $count) = @_;
	$node->poll_query_until('postgres', <<"SQL") or die 'not all clients are connected';
SELECT count(*) >= $count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query <> ''
SQL
	return;
}

# Waits until each of them has received ids.
sub await_ids
{
	my (@clients) = @_;
	return await_event('ids of all clients', sub { return !grep { !map { @$_ } @{ read_told($_) } } @clients });
}

# Waits until the clients have ended; clients without an end are stopped, unless their server is gone. Dies if one of
# their statements failed. Clients that were stopped before they began have no file.
sub finish_clients
{
	my ($clients, $stop) = @_;
	kill 'TERM', $clients->{pid} if $stop;
	waitpid $clients->{pid}, 0;
	die "a statement of the clients failed" if $? && $? != POSIX::SIGTERM;
	$clients->{files} = [ grep { -e } @{ $clients->{files} } ];
	return;
}

# The ids that each client has received so far, in order, without an incomplete last line.
sub read_told
{
	my ($clients) = @_;
	my @told;
	for my $file (grep { -e } @{ $clients->{files} })
	{
		my $text = slurp_file($file);
		$text =~ s/[^\n]*\z//;
		push @told, [ $text =~ /^(-?\d+)/mg ];
	}
	return \@told;
}

# Runs the judge over the histories of clients of one generator. %params are its options (shard_bits,
# sequence_bits, epoch_ms, lead_ms, borrow_ms, clock_percent); returns its counts, see proof/judge/check.cpp.
sub judge_clients
{
	my ($clients, %params) = @_;
	my $said = said_by_check((map { '--' . tr/_/-/r => $params{$_} } sort keys %params), map { @{ $_->{files} } } @$clients);
	return { $said =~ /^(\w+) (-?\d+)$/mg };
}

# The same for files of any number of generators of one id space, whose ids must not collide. {twice} lists ids that
# did, with their files, and {shared} milliseconds that two incarnations used; the files' names contain the incarnation.
sub judge_space
{
	my ($files, %params) = @_;
	my $said = said_by_check('--one-space', (map { '--' . tr/_/-/r => $params{$_} } sort keys %params), @$files);
	return { $said =~ /^(\w+) (-?\d+)$/mg, map { $_ => [ $said =~ /^$_ (.*)$/mg ] } qw(twice shared) };
}

sub said_by_check
{
	my $output = '';
	my $error = '';
	IPC::Run::run([ judge_program('check'), @_ ], '>', \$output, '2>', \$error);
	die $error if $error;
	return $output;
}

# The same for lists of ids, each in the order in which one client received them.
sub judge
{
	my ($lists, %params) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my @files = map { "$dir/list.$_" } 0 .. $#$lists;
	for my $i (0 .. $#$lists)
	{
		open my $file, '>', $files[$i] or die;
		print $file map { "$_\n" } @{ $lists->[$i] };
		close $file;
	}
	return judge_clients([ { files => \@files } ], %params);
}

# One assertion that the judge finds no violation, with its counts, and a line in the table of faults.
sub is_innocent
{
	my ($verdict, $fault, $rounds) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	note_fault($fault, $rounds, $verdict->{ids}, $verdict->{violations});
	return is($verdict->{violations}, 0, "$fault: none of $verdict->{ids} ids is wrong")
	  || diag(join ', ', map { "$_ $verdict->{$_}" } sort keys %$verdict);
}

# For the table that tools/test.sh prints at its end.
sub note_fault
{
	my ($fault, $rounds, $ids, $violations) = @_;
	append_to_file("$ENV{SANDBOX}/faults", "$fault\t$rounds\t$ids\t$violations\n");
	return;
}

# How many rounds of a fault: few in make test, many in make test-full.
sub rounds
{
	my ($few, $many) = @_;
	return $ENV{FULL} ? $many : $few;
}

# All processes of a server, to be stopped by SIGSTOP; the kernel still accepts connections for them.
sub processes_of
{
	my ($node) = @_;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	return ($postmaster, split ' ', `ps -o pid= --ppid $postmaster`);
}

# Ends some sessions, again and again.
sub end_sessions
{
	my ($node, $times) = @_;
	for (1 .. $times)
	{
		usleep 250_000;
		$node->safe_psql('postgres',
			q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 3));
	}
	return;
}

# SIGKILL for the postmaster and all its children at once.
sub kill_node
{
	my ($node) = @_;
	my ($postmaster) = processes_of($node);
	my $lock = slurp_file($node->data_dir . '/postmaster.pid');
	# Once it is stopped, it starts no more of them: one that survived could wait for ever for a lock of one that did not.
	kill 'STOP', $postmaster;
	usleep 1_000 until slurp_file("/proc/$postmaster/stat") =~ /\) T /;
	my (undef, @children) = processes_of($node);
	kill 'KILL', $postmaster, @children;
	usleep 10_000 while grep { kill 0, $_ } @children;
	$node->{_pid} = undef;
	# Line 7 of postmaster.pid: the key and the number of the shared memory, which stays.
	append_to_file("$ENV{SANDBOX}/segments", (split ' ', (split /\n/, $lock)[6])[1] . "\n");
	return;
}

# As poll_start in PostgreSQL's 017_shm.pl: killed processes may hold shared memory for a moment.
sub start_again
{
	my ($node) = @_;
	return await_event('the server starts again', sub { return $node->start(fail_ok => 1) });
}

# Runs the code in an environment in which servers follow the clock in $file. libfaketime allocates memory at each look at it,
# also in PostgreSQL's handler of SIGALRM, which can come within malloc(): where sessions often wait for locks, and so arm
# deadlock_timeout, that crashes servers now and then.
sub with_fake_clock
{
	my ($file, $code) = @_;
	my ($library) = glob '/usr/lib/*/faketime/libfaketime.so.1';
	die 'libfaketime is not installed' unless $library;
	local %ENV = (
		%ENV,
		LD_PRELOAD => join(' ', grep { $_ } $ENV{LD_PRELOAD}, $library),
		FAKETIME_TIMESTAMP_FILE => $file,
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		DONT_FAKE_MONOTONIC => 1,
		FAKETIME_DONT_RESET => 1);
	return $code->();
}

# Sets that clock, immediately for every process that follows it: '-1h', '+2.5s', '+0'.
sub set_fake_clock
{
	my ($file, $offset) = @_;
	open my $new, '>', "$file.new" or die;
	print $new "$offset\n";
	close $new;
	rename "$file.new", $file or die;
	return;
}

# What psql says of statements, with SQLSTATEs.
sub said_of
{
	my ($node, $sql, $dbname) = @_;
	return ($node->psql($dbname // 'postgres', "\\set VERBOSITY verbose\n$sql"))[2];
}

# Their first error: SQLSTATE and message.
sub error_on { return said_of(@_) =~ /ERROR:  (\w{5}: .*)/ ? $1 : 'none' }

# How far the generator is ahead of the server's clock, in milliseconds.
sub lead_ms
{
	my ($node, $generator, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', <<SQL);
SELECT (last_value >> 10) - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 1314220021721
FROM $generator
SQL
}

1;
