# The shard by the setting shardid.shard_id through pgbouncer in transaction mode, where a session of the server serves one
# client after the other: SET holds for the next client, too, SET LOCAL for its transaction, and ALTER DATABASE and ALTER
# ROLE for every client. Each psql here is a client, and all of them share one session of the server.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Pooler;
use ShardidTest;

my $node = new_node('pooled_setting');
my $port = start_pgbouncer($node, 'transaction', 1);
sub query { return $node->safe_psql('postgres', $_[0]) }

sub query_through
{
	my ($sql) = @_;
	my ($stdout, $stderr);
	IPC::Run::run([ 'psql', '-XAtq', '-d', "host=$pgbouncer_folder port=$port dbname=postgres", '-f', '-' ],
		'<', \$sql, '>', \$stdout, '2>', \$stderr);
	return $stdout . $stderr;
}

# A changed default holds for new sessions of the server.
sub end_sessions
{
	query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	query_through('SELECT');    # finds its session terminated
	return;
}

my $of_shard = 'SELECT id_shard(next_id());';
like(query_through($of_shard), qr/ERROR:  no shard is set/, 'no shard is set');
is(query_through("BEGIN; SET LOCAL shardid.shard_id = 7; $of_shard COMMIT;"), "7\n", 'SET LOCAL holds in its transaction');
like(query_through($of_shard), qr/ERROR/, 'SET LOCAL does not hold for the next client');
is(query_through("SET shardid.shard_id = 8; $of_shard"), "8\n", 'SET holds in its session');
is(query_through($of_shard), "8\n", 'SET holds for the next client, too: do not use it with pgbouncer');
is(query_through("DISCARD ALL; $of_shard") =~ /ERROR/, 1, 'SET holds until DISCARD ALL');
query('ALTER DATABASE postgres SET shardid.shard_id = 9');
end_sessions();
is(query_through($of_shard), "9\n", 'ALTER DATABASE holds for every client');
is(query_through("BEGIN; SET LOCAL shardid.shard_id = 7; $of_shard COMMIT; $of_shard"), "7\n9\n", 'ALTER DATABASE holds after the transaction of a SET LOCAL');
query('ALTER DATABASE postgres RESET shardid.shard_id');
query('ALTER ROLE CURRENT_USER SET shardid.shard_id = 10');
end_sessions();
is(query_through($of_shard), "10\n", 'ALTER ROLE holds for every client');

stop_pgbouncer();
$node->stop;
done_testing();
