# What the TAP tests of leases share: a registry, members that connect to it by dblink as an ordinary role, sessions
# that draw continuously and record ids and errors, and one account of all ids of all servers.
package Leases;

use strict;
use warnings;
use Exporter 'import';
use List::Util 'min';
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes qw(time usleep);
use ShardidTest;

our @EXPORT = qw(new_registry registry_here on_loopback connect_to_registry lease draw_one draw_at_once start_drawing finish_drawing
  ids_of all_ids no_id_comes_twice worker_starts workers_of processes_of ms_of seconds_until wait_until wait_for_end
  error_of);

$ShardidTest::has_own_identifier = 1;

my @accounts;    # lists of ids, each from one session
my @files;       # histories of clients

# A started server that grants shards to role "member", which needs a password. More arguments are those of new_node.
sub new_registry
{
	my $registry = new_node(@_);
	$registry->safe_psql('postgres', <<'SQL');
CREATE EXTENSION shardid_lease CASCADE;
SET password_encryption = 'scram-sha-256';
CREATE ROLE member LOGIN PASSWORD 'of the member';
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO member;
SQL
	my $hba = $registry->data_dir . '/pg_hba.conf';
	my $rest = slurp_file($hba);
	open my $file, '>', $hba or die;
	print $file "local all +member scram-sha-256\n$rest";
	close $file;
	$registry->reload;
	return $registry;
}

# SQL that makes a database its own registry's member, by the server "here", also for these roles, which need to log in.
sub registry_here
{
	my (@owners) = @_;
	return <<'SQL' . join '', map { <<"SQL" } @owners;
CREATE EXTENSION IF NOT EXISTS shardid_lease CASCADE;
CREATE EXTENSION postgres_fdw;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
		split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
	EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user %L)', current_user);
END
$$;
SQL
GRANT USAGE ON FOREIGN SERVER here TO $_;
CREATE USER MAPPING FOR $_ SERVER here OPTIONS (user '$_', password_required 'false');
SQL
}

# Has it listen on TCP, also with a password; returns the port.
sub on_loopback
{
	my ($registry, $conf) = @_;
	my $hba = $registry->data_dir . '/pg_hba.conf';
	my $rest = slurp_file($hba);
	open my $file, '>', $hba or die;
	print $file "hostssl all +member 127.0.0.1/32 scram-sha-256\nhostnossl all +member 127.0.0.1/32 scram-sha-256\n$rest";
	close $file;
	$registry->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\n" . ($conf // ''));
	$registry->restart;
	return $registry->port;
}

# Makes a database a member: its role "app", not a superuser, owns the generators and has the password.
sub connect_to_registry
{
	my ($node, $registry, $dbname, %options) = @_;
	$dbname //= 'postgres';
	%options = (host => $registry->host, port => $registry->port, dbname => 'postgres', %options);
	my $options = join ', ', map { "$_ '$options{$_}'" } sort keys %options;
	$node->safe_psql('postgres',
		"DO \$\$ BEGIN IF to_regrole('app') IS NULL THEN CREATE ROLE app LOGIN; END IF; END \$\$");
	$node->safe_psql($dbname, <<"SQL");
CREATE EXTENSION IF NOT EXISTS shardid;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS ($options);
CREATE USER MAPPING FOR app SERVER registry OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER registry TO app;
GRANT CREATE ON SCHEMA public TO app;
SQL
	return;
}

# Leases a shard for a new sequence of the role "app"; returns the shard.
sub lease
{
	my ($node, $space, $generator, %params) = @_;
	my $more = join '', map { ", $_ => $params{$_}" } grep { $_ ne 'dbname' } sort keys %params;
	return $node->safe_psql($params{dbname} // 'postgres', <<"SQL");
SET ROLE app;
CREATE SEQUENCE IF NOT EXISTS $generator;
SELECT shardid_lease.lease_shard('$space', 'registry', '$generator'$more);
SQL
}

# Returns one id, which is put on the account, or the error.
sub draw_one
{
	my ($node, $generator, %params) = @_;
	my ($settings, $dbname) = ($params{settings} // '', $params{dbname} // 'postgres');
	my ($status, $id, $error) = $node->psql($dbname, <<"SQL", on_error_stop => 1, timeout => 180);
\\set VERBOSITY verbose
$settings
SELECT next_id(generator => '$generator');
SQL
	return $error =~ /ERROR/ ? $error : '?' . $error if $status;
	push @accounts, [$id];
	return $id;
}

# Draws from several [node, database, generator] at the same time, by 4 sessions each, for some seconds. A refusal is no
# failure. Returns how many ids each received.
sub draw_at_once
{
	my ($seconds, @places) = @_;
	my @clients = map {
		my ($node, $dbname, $generator) = @$_;
		start_clients($node, 4, "SELECT next_id(generator => '$generator') FROM generate_series(1, 100)",
			dbname => $dbname, seconds => $seconds, pause_ms => 10, tolerate => '55000,57P03');
	} @places;
	finish_clients($_) for @clients;
	push @files, map { @{ $_->{files} } } @clients;
	return map { my $n = 0; $n += @$_ for @{ read_told($_) }; $n } @clients;
}

# A session that draws an id every $params{ms} (10) for $params{seconds} (600) or until finish_drawing, also after
# errors.
sub start_drawing
{
	my ($node, $generator, %params) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $ms = $params{ms} // 10;
	my $rounds = 1000 * ($params{seconds} // 600) / $ms;
	my $settings = $params{settings} // '';
	append_to_file("$dir/told", '');
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', "$dir/told" or die;
		open STDERR, '>&', \*STDOUT or die;
		my $psql_pid = open my $psql, '|-', 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d',
		  $node->connstr($params{dbname} // 'postgres')
		  or die;
		my $end = 0;
		local $SIG{TERM} = sub { $end = 1 };
		local $SIG{PIPE} = 'IGNORE';
		$psql->autoflush;
		print $psql "$settings\n";
		for (1 .. $rounds)
		{
			last
			  if $end
			  || !print $psql "SELECT next_id(generator => '$generator'), extract(epoch FROM clock_timestamp());\n"
			  . "\\echo done @{[ time ]}\n";
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

# How many lease workers the server has started so far; its log_min_messages is debug1.
sub worker_starts
{
	my ($node) = @_;
	my $log = slurp_file($node->logfile);
	return scalar(() = $log =~ /starting background worker process "shardid lease/g);
}

# The number of running lease workers.
sub workers_of
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'shardid lease'));
}

# All processes of a server, to be stopped by SIGSTOP; the kernel still accepts connections for them.
sub processes_of
{
	my ($node) = @_;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	return ($postmaster, split ' ', `ps -o pid= --ppid $postmaster`);
}

# The error of statements, with its SQLSTATE, or "no error"; $params{role} runs them.
sub error_of
{
	my ($node, $dbname, $sql, %params) = @_;
	my (undef, undef, $error) = $node->psql($dbname, "\\set VERBOSITY verbose\n$sql", timeout => 180, on_error_stop => 1,
		extra_params => [ map { ('-U', $_) } grep { defined } $params{role} ]);
	return $error =~ /(?:ERROR|FATAL): / ? $error : 'no error';
}

# How many milliseconds the code took.
sub ms_of
{
	my ($code) = @_;
	my $start = time;
	$code->();
	return int(1000 * (time - $start));
}

# In how many seconds the window of a generator ends.
sub seconds_until
{
	my ($node, $generator, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres',
		"SELECT extract(epoch FROM until - clock_timestamp()) FROM shardid_lease.shard_leases WHERE generator = '$generator'::regclass");
}

# Waits until the last window that a registry has granted is over, by the registry's row. The shard must be idle: a
# renewal would prolong the window.
sub wait_for_end
{
	my ($node, $dbname, $space, $shard) = @_;
	$node->poll_query_until($dbname,
		"SELECT until < clock_timestamp() FROM shardid_lease.id_space_shards WHERE space = '$space' AND shard = $shard")
	  or die "the lease of shard $shard does not end";
	return;
}

# Waits for a condition, at most this number of seconds; returns whether it became true.
sub wait_until
{
	my ($code, $seconds) = @_;
	my ($end, $pause) = (time + $seconds, 10_000);
	until ($code->())
	{
		return 0 if time > $end;
		usleep $pause;
		$pause = min(2 * $pause, 100_000);
	}
	return 1;
}

1;
