# What the TAP tests of leases share: a registry, members that connect to it by dblink as an ordinary role; single ids,
# sessions that draw continuously and record ids and errors; and one account of all ids of all servers.
package Leases;

use ShardidTest;
use Exporter 'import';

our @EXPORT = (
	qw(new_registry registry_here let_in connect_to_registry lease worker_starts workers_of runs freeze thaw
	  error_of answered draw_one draw_from_all start_drawing finish_drawing ids_of all_ids no_id_comes_twice));

my @accounts;    # lists of ids, each from one session
my @files;       # histories of clients

$ShardidTest::has_own_identifier = 1;

# A started server with these id spaces, each with arguments of create_id_space(). It grants shards to role "member", which
# needs a password. More arguments are those of new_node.
sub new_registry
{
	my ($name, $spaces, @more) = @_;
	my $registry = new_node($name, @more);
	$registry->safe_psql('postgres', <<'SQL');
CREATE EXTENSION shardid_lease CASCADE;
SET password_encryption = 'scram-sha-256';
CREATE ROLE member LOGIN PASSWORD 'of the member';
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO member;
SQL
	$registry->safe_psql('postgres', "SELECT shardid_lease.create_id_space('$_', $spaces->{$_})") for sort keys %$spaces;
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

# Makes a database, a new one unless it is postgres, a member: its role "app", not a superuser, owns the generators and has
# the password.
sub connect_to_registry
{
	my ($node, $registry, $dbname, %options) = @_;
	$dbname //= 'postgres';
	%options = (host => $registry->host, port => $registry->port, dbname => 'postgres', %options);
	my $options = join ', ', map { "$_ '$options{$_}'" } sort keys %options;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname") unless $dbname eq 'postgres';
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
sub worker_starts { return scalar(() = slurp_file($_[0]->logfile) =~ /starting background worker process "shardid lease/g) }

# How many run.
sub workers_of { return $_[0]->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'shardid lease')) }

# Stops all processes of a server, for which the kernel still accepts connections; until thaw(), or the end of the test.
my @frozen;
sub freeze { push @frozen, processes_of($_[0]); return kill 'STOP', @frozen }
sub thaw { return kill 'CONT', splice @frozen }
END { thaw() }

# The error of statements, with its SQLSTATE, or "no error"; $params{role} runs them. If the registry is silent, $params{once}.
sub error_of
{
	my ($node, $dbname, $sql, %params) = @_;
	my $call = sub {
		my (undef, undef, $error) = $node->psql($dbname, "\\set VERBOSITY verbose\n$sql", timeout => $PostgreSQL::Test::Utils::timeout_default, on_error_stop => 1,
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

# What a call returns or raises, once the registry has answered it: a machine that is slow may need more than one.
sub answered
{
	my ($call) = @_;
	my ($result, $end) = (undef, time + $PostgreSQL::Test::Utils::timeout_default);
	do { $result = $call->() }
	  while $result =~ /did not (?:answer within [1-9]|begin)|no answer about the lease of generator/ && time < $end;
	return $result;
}

# Returns one id, which is put on the account, or the error that the registry has caused.
sub draw_one
{
	my ($node, $generator, %params) = @_;
	my $sql = "\\set VERBOSITY verbose\n" . ($params{settings} // '') . "\nSELECT next_id(generator => '$generator')";
	return answered(sub {
		my ($status, $id, $error) = $node->psql($params{dbname} // 'postgres', $sql, on_error_stop => 1, timeout => $PostgreSQL::Test::Utils::timeout_default);
		return $error =~ /ERROR/ ? $error : '?' . $error if $status;
		push @accounts, [$id];
		return $id;
	});
}

# Draws from several [node, database, generator] at the same time, by 4 sessions each, for half a second and until each has
# received ids: on a machine that is slow, a lease can end first. A refusal is no failure. Returns how many ids each received.
sub draw_from_all
{
	my (@places) = @_;
	my @clients = map {
		my ($node, $dbname, $generator) = @$_;
		start_clients($node, 4, "SELECT next_id(generator => '$generator') FROM generate_series(1, 100)",
			dbname => $dbname, pause_ms => 10, tolerate => '55000,57P03')
	} @places;
	usleep 500_000;
	await_ids(@clients);
	finish_clients($_, 1) for @clients;
	push @files, map { @{ $_->{files} } } @clients;
	return map { scalar map { @$_ } @{ read_told($_) } } @clients;
}

# A session that draws an id every 25 ms until finish_drawing, also after errors.
sub start_drawing
{
	my ($node, $generator, %params) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$dir/sql", ($params{settings} // '') . "\n" . <<"SQL" x 24_000);
SELECT next_id(generator => '$generator');
\\echo done
SELECT FROM pg_sleep(0.025);
SQL
	my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr($params{dbname} // 'postgres'));
	return { run => IPC::Run::start(\@command, '<', "$dir/sql", '>', "$dir/told", '2>&1'), file => "$dir/told" };
}

# Ends it, and returns what it received, in order: [id] or [undef, SQLSTATE, whole error].
sub finish_drawing
{
	my ($session) = @_;
	$session->{run}->kill_kill;
	all_ids([ ids_of($session) ]);
	return told($session);
}

sub told
{
	my ($session) = @_;
	my @told = split /^done\n/m, slurp_file($session->{file}), -1;
	pop @told if @told > 1;
	return map { /^(-?\d+)$/m ? [$1] : [ undef, /ERROR:  (\w+)/ ? $1 : 'lost', $_ ] } grep { /\S/ } @told;
}

# The ids so far of a session that continues.
sub ids_of { return map { $_->[0] // () } told($_[0]) }

# Puts ids from elsewhere on the account.
sub all_ids { push @accounts, @_; return }

# Ends a test by one assertion, that no id of any server is repeated, and stops these servers.
sub no_id_comes_twice
{
	my ($fault, @nodes) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $noted = PostgreSQL::Test::Utils::tempdir() . '/noted';
	append_to_file($noted, join '', map { "$_\n" } map { @$_ } @accounts);
	my $space = judge_space([ $noted, @files ]);
	note_fault($fault, 1, @$space{qw(ids violations)});
	is($space->{violations}, 0, "$fault: none of $space->{ids} ids comes twice") || diag(join "\n", @{ $space->{twice} });
	$_->stop for @nodes;
	return done_testing();
}

1;
