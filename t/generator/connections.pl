# Ids are right through pgbouncer, which assigns a server's sessions to other clients from transaction to transaction,
# by each protocol of pgbench.
use ShardidTest;

my ($program) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';
die 'pgbouncer is not installed' unless $program;
my ($version) = `$program --version` =~ /\d+\.(\d+)/;

my $node = new_node('connections', 'max_connections = 60');
sub query { return $node->safe_psql('postgres', $_[0]) }

# Clients connect by this folder's unix socket.
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = getpwuid $<;
append_to_file("$folder/ini", <<"CONF");
[databases]
* = host=@{[ $node->host ]} port=@{[ $node->port ]} user=$user
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
logfile = $folder/log
query_wait_timeout = 0
server_connect_timeout = 180
client_login_timeout = 180
@{[ $version >= 21 ? 'max_prepared_statements = 100' : '' ]}
CONF
my $running = IPC::Run::start([ $program, '-q', "$folder/ini" ], '>', "$folder/out", '2>&1');
usleep 20_000 until -S "$folder/.s.PGSQL.$port" || !$running->pumpable;
END { local $? = $?; $running->kill_kill if $running }

# Each row contains the client that stored it and the id that this client received before (0 at first).
query(<<'SQL');
CREATE TABLE by_default (id bigint DEFAULT next_id(5), client int, previous bigint);
SQL

# Each client has a thread: pgbench blocks its thread while it prepares a statement, and the other clients of that
# thread would meanwhile hold the sessions of the server, one of which it waits for.
sub load
{
	my ($protocol) = @_;
	my $row = "INSERT INTO by_default (client, previous) VALUES (:client_id, :last) RETURNING id AS last \\gset\n";
	my $file = $node->basedir . '/load';
	my $bulk = "INSERT INTO by_default (client) SELECT :client_id FROM generate_series(1, 1000);\n";
	append_to_file($file, "BEGIN;\n$row${row}END;\n$row$bulk") unless -e $file;
	my ($said, $complaints);
	local @ENV{qw(PGHOST PGPORT)} = ($folder, $port);
	IPC::Run::run([ qw(pgbench -n -c 12 -j 12 -t 20 -D last=0 -M), $protocol, '-f', $file, 'postgres' ],
		'>', \$said, '2>', \$complaints);
	return $said =~ m{processed: 240/240} ? 'all done' : $complaints;
}

# Before pgbouncer 1.21 the sessions of others do not know a client's prepared statements.
for my $protocol ('simple', 'extended', $version >= 21 ? 'prepared' : ())
{
	is(load($protocol), 'all done', "$protocol protocol: load");
	is(query('SELECT count(*), count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= previous) FROM by_default'),
		'240720|0|0', "$protocol protocol: no duplicate, and the ids of each client increase");
	query('TRUNCATE by_default');
}
my @rolled_back = ('BEGIN', ('SELECT next_id(5)') x 2, 'ROLLBACK');
my $clients = start_clients("host=$folder port=$port", 12, \@rolled_back, rounds => 250);
finish_clients($clients);
is_innocent(judge_clients([$clients]), 'pgbouncer, rolled back', 1);
my $others = q(backend_type = 'client backend' AND pid <> pg_backend_pid());
cmp_ok(query("SELECT count(*) FROM pg_stat_activity WHERE $others"), '<=', 3, 'all clients shared three sessions');

$node->stop;
done_testing();
