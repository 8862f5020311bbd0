# Ids are right over every kind of connection: pgbench's simple, extended and prepared protocol, directly and
# through pgbouncer, which assigns a server's sessions to other clients from transaction to transaction.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;
use Pooler;
use ShardidTest;

my $keeps_prepared_statements = $pgbouncer_version =~ /^1\.(\d+)/ ? $1 >= 21 : 1;

my $node = new_node('connections', 'max_connections = 60');
create_recipe($node);
sub query { return $node->safe_psql('postgres', $_[0]) }

# Each row contains the client that stored it and the id that this client received before (0 at first).
query(<<'SQL');
CREATE TABLE by_default (id bigint DEFAULT next_id(5), client int, previous bigint);
CREATE TABLE of_recipe (id bigint DEFAULT baseline.next_id(), client int, previous bigint);
CREATE FUNCTION next_in_plpgsql() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN next_id(5);
END
$$;
SQL
my $row = 'INSERT INTO %s (client, previous) VALUES (:client_id, :last) RETURNING id AS last \gset';
my $bulk = 'INSERT INTO %s (client) SELECT :client_id FROM generate_series(1, 1000);';
my $two_rows = <<'SQL';
BEGIN;
INSERT INTO %1$s (client, previous) VALUES (:client_id, :last) RETURNING id AS last \gset
INSERT INTO %1$s (client, previous) VALUES (:client_id, :last) RETURNING id AS last \gset
END;
SQL
my $called = <<'SQL';
SELECT next_in_plpgsql() AS last, :last AS before \gset
INSERT INTO %s (id, client, previous) VALUES (:last, :client_id, :before);
SQL

# Runs all scripts, or those that are named. Returns 'all done', or what went wrong. Each client has a thread: pgbench
# blocks its thread while it prepares a statement, and the other clients of that thread would meanwhile hold the
# sessions of the server, one of which it waits for.
sub load
{
	my ($table, $protocol, $port, @only) = @_;
	my %weight = (row => 6, two_rows => 3, called => 1, bulk => 1);
	my %script = (row => $row, two_rows => $two_rows, called => $called, bulk => $bulk);
	my @files;
	for my $name (@only ? @only : sort keys %script)
	{
		my $path = $node->basedir . "/$table.$name";
		append_to_file($path, sprintf $script{$name}, $table) unless -e $path;
		push @files, '-f', "$path\@$weight{$name}";
	}
	local $ENV{PGPORT} = $port;
	my ($said, $complaints);
	my $status = IPC::Run::run(
		[ 'pgbench', '-n', '-c', '12', '-j', '12', '-t', '50', '-M', $protocol, '-D', 'last=0', @files, 'postgres' ],
		'>', \$said, '2>', \$complaints);
	return $complaints if !$status || $complaints =~ /prepared statement/;
	return $said =~ m{processed: 600/600} ? 'all done' : $said;
}

sub judge_table
{
	my ($name, $table) = @_;
	my $rows = query("SELECT count(*) FROM $table");
	cmp_ok($rows, '>', 20_000, "$name: $rows ids");
	is(query("SELECT count(*) - count(DISTINCT id) FROM $table"), 0, "$name: no duplicate");
	is(query("SELECT count(*) FROM $table WHERE id <= previous"), 0, "$name: the ids of each client increase");
	is( query("SELECT count(*) FROM $table a WHERE previous > 0 AND NOT EXISTS (SELECT FROM $table b WHERE b.id = a.previous AND b.client = a.client)"),
		0, "$name: the ids that a client received are those it stored");
	query("TRUNCATE $table");
	return;
}

# The clients of each load are new and know no earlier id, so each load is checked by itself.
for my $protocol ('simple', 'extended', 'prepared')
{
	is(load('by_default', $protocol, $node->port), 'all done', "$protocol protocol: load");
	judge_table("$protocol protocol", 'by_default');
}

# Through pgbouncer: three sessions of the server for all clients.
my $port = start_pgbouncer($node, 'transaction', 3, $keeps_prepared_statements ? 'max_prepared_statements = 100' : '');

{
	local $ENV{PGHOST} = $pgbouncer_folder;
	for my $protocol ('simple', 'extended', 'prepared')
	{
		my $name = "pgbouncer, $protocol protocol";
		if ($protocol eq 'prepared' && !$keeps_prepared_statements)
		{
			# Without transactions: clients that give up would leave them open.
			like(load('by_default', $protocol, $port, 'row'), qr/prepared statement "\S+" (already exists|does not exist)/,
				"$name: pgbouncer $pgbouncer_version cannot");
			query('TRUNCATE by_default');
			next;
		}
		is(load('by_default', $protocol, $port), 'all done', "$name: load");
		judge_table($name, 'by_default');
	}
}

for my $statements ('SELECT next_id(5)', [ 'BEGIN', 'SELECT next_id(5)', 'SELECT next_id(5)', 'ROLLBACK' ])
{
	my $clients = start_clients("host=$pgbouncer_folder port=$port", 12, $statements, rounds => 250);
	finish_clients($clients);
	is_innocent(judge_clients([$clients]), ref $statements ? 'pgbouncer, rolled back' : 'pgbouncer', 1);
}

my $sessions = query("SELECT count(DISTINCT pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
cmp_ok($sessions, '<=', 3, 'all clients shared three sessions of the server');

# The same load must find duplicates of Instagram's PL/pgSQL function.
my $twice = 0;
{
	local $ENV{PGHOST} = $pgbouncer_folder;
	for my $round (1 .. 10)
	{
		load('of_recipe', 'simple', $port);
		$twice = query('SELECT count(*) - count(DISTINCT id) FROM of_recipe');
		last if $twice;
	}
}
cmp_ok($twice, '>', 0, "the recipe made $twice duplicates through pgbouncer");

# In session mode a client keeps its session, so prepared statements work with every version.
stop_pgbouncer();
$port = start_pgbouncer($node, 'session', 12);
{
	local $ENV{PGHOST} = $pgbouncer_folder;
	is(load('by_default', 'prepared', $port), 'all done', 'pgbouncer in session mode, prepared protocol: load');
	judge_table('pgbouncer in session mode', 'by_default');
}

stop_pgbouncer();
$node->stop;
done_testing();
