# What the TAP tests of leases share: a registry, members that connect to it by dblink as an ordinary role, and what
# LeaseDraws has.
package Leases;

use ShardidTest;
use Exporter 'import';
use List::Util 'min';
use Time::HiRes qw(time usleep);
use LeaseDraws;

our @EXPORT = (
	qw(new_registry registry_here let_in on_loopback connect_to_registry lease worker_starts workers_of runs
	  wait_until wait_for_end error_of), @LeaseDraws::EXPORT);

$ShardidTest::has_own_identifier = 1;

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
	let_in($registry, "local all +member scram-sha-256\n");
	return $registry;
}

# Puts these rules before those of pg_hba.conf, and returns what they were.
sub let_in
{
	my ($registry, $rules, $rest) = @_;
	my $hba = $registry->data_dir . '/pg_hba.conf';
	$rest //= slurp_file($hba);
	unlink $hba;
	append_to_file($hba, $rules . $rest);
	$registry->reload;
	return $rest;
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
	let_in($registry, join '', map { "$_ all +member 127.0.0.1/32 scram-sha-256\n" } 'hostssl', 'hostnossl');
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
SET shardid_lease.timeout = '3min';
SET ROLE app;
CREATE SEQUENCE IF NOT EXISTS $generator;
SELECT shardid_lease.lease_shard('$space', 'registry', '$generator'$more);
SQL
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

# The error of statements, with its SQLSTATE, or "no error"; $params{role} runs them. If the registry is silent, $params{once}.
sub error_of
{
	my ($node, $dbname, $sql, %params) = @_;
	my $call = sub {
		my (undef, undef, $error) = $node->psql($dbname, "\\set VERBOSITY verbose\n$sql", timeout => 180, on_error_stop => 1,
			extra_params => [ map { ('-U', $_) } grep { defined } $params{role} ]);
		return $error =~ /(?:ERROR|FATAL): / ? $error : 'no error';
	};
	return $params{once} ? $call->() : answered($call);
}

# Whether a program of IPC::Run still runs; what it has printed so far is there then.
sub runs
{
	my ($program) = @_;
	# It may end between the two calls.
	return $program->pumpable && (eval { $program->pump_nb; 1 } || $@ !~ /ended prematurely/ && die $@);
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

# Waits for a condition; returns whether it became true. The limit is only a guard: no machine is that slow.
sub wait_until
{
	my ($code) = @_;
	my ($end, $pause) = (time + $PostgreSQL::Test::Utils::timeout_default, 10_000);
	until ($code->())
	{
		if (time > $end)
		{
			diag 'waited for it in vain';
			return 0;
		}
		usleep $pause;
		$pause = min(2 * $pause, 200_000);
	}
	return 1;
}

1;
