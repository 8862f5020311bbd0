# What docs/operations.md says clients see of a failover: psql and, with FULL=1, node-postgres. A retried INSERT
# gets a new id; each request has one row, with the id that its client received.
use Clients;
use Docs;
use ShardidTest;

my $folder = PostgreSQL::Test::Utils::tempdir();
my ($primary, $standby);
my $nodes = 0;

# A synchronous standby of the node.
sub standby_of
{
	my ($node) = @_;
	my $new = PostgreSQL::Test::Cluster->new('node_' . ++$nodes);
	$node->backup($new->name);
	$new->init_from_backup($node, $new->name, has_streaming => 1);
	$new->start;
	$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT sync_state = 'sync' FROM pg_stat_replication") or die;
	return $new;
}

# Ends the primary and promotes the standby.
sub fail_over
{
	my ($how) = @_;
	$how->($primary);
	$standby->promote;
	$primary = $standby;
	return;
}

# The page's connection string, with these hosts.
sub both_hosts
{
	my ($connect) = command_of('operations.md', 'export PGHOST') =~ /PGTARGETSESSIONATTRS=(\S+)/ or die;
	return (
		PGHOST => join(',', map { $_->host } $primary, $standby),
		PGPORT => join(',', map { $_->port } $primary, $standby),
		PGTARGETSESSIONATTRS => $connect,
		PGDATABASE => 'postgres');
}

sub rows { return $primary->safe_psql('postgres', $_[0]) }

# Each request has one row, with the id that its client received.
sub nothing_is_lost
{
	my ($name, $told, $count) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %stored = map { reverse split /\|/ } split /\n/, rows("SELECT id, request FROM orders WHERE request LIKE 'order %'");
	is(scalar(keys %$told), $count, "$name: all $count requests have their answer");
	is_deeply($told, \%stored, "$name: the rows are those that clients were told, each once");
	is(rows("SELECT count(DISTINCT ids.id_shard(id)) FROM orders"), 1, "$name: of one shard");
	rows("DELETE FROM orders WHERE request LIKE 'order %'");
	return;
}

# --- psql

$primary = new_node('primary', undef, allows_streaming => 1);
rows('CREATE SCHEMA ids; ALTER EXTENSION shardid SET SCHEMA ids');
rows('ALTER DATABASE postgres SET shardid.shard_id = 5');
rows(command_of('operations.md', 'CREATE TABLE orders'));
$standby = standby_of($primary);
rows('CHECKPOINT');

# A session that is connected when the primary ends; at the same time the page's script retries orders until it has
# their ids.
my ($in, $out, $err) = ("INSERT INTO orders (request) VALUES ('first') RETURNING id;\n", '', '');
my ($psql, $orders);
append_to_file("$folder/insert_order.sh", block_of('operations.md', 'insert_order'));
{
	local %ENV = (%ENV, both_hosts());
	$psql = IPC::Run::start([ 'psql', '-XAtq' ], '<', \$in, '>', \$out, '2>', \$err, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	$orders = IPC::Run::start(
		[ 'bash', '-c', "n=0; until [[ -e $folder/enough ]]; do n=\$((n + 1)); echo \$(sh $folder/insert_order.sh \"order \$n\") order \$n; done" ],
		'>', "$folder/told", '2>', "$folder/errors", IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
}
$psql->pump until $out =~ /^\d+\n/;
my ($first) = $out =~ /^(\d+)/;
await_event('an order', sub { return -s "$folder/told" });
# At least one try fails before there is a primary again.
fail_over(sub { kill_node(@_); await_event('an error', sub { return -s "$folder/errors" }) });
$in = "INSERT INTO orders (request) VALUES ('second') RETURNING id;\n";
$psql->finish;
is($psql->result, 2, 'psql: ends with status 2');
like($err, qr/server closed the connection unexpectedly|terminating connection/, 'psql: says that the connection is gone');
is($out, "$first\n", 'psql: was told no id then');
is(rows("SELECT id FROM orders WHERE request = 'first'"), $first, 'psql: the row of the INSERT before is there');
is(rows("SELECT count(*) FROM orders WHERE request = 'second'"), 0, 'psql: one of the INSERT then is not');

append_to_file("$folder/enough", '');
$orders->finish;
my %told = map { /^(\d+) (order \d+)$/ ? ($2 => $1) : () } split /\n/, slurp_file("$folder/told");
like(slurp_file("$folder/errors"), qr/error|refused|closed|terminating connection/, 'psql, retried: there were tries that failed');
nothing_is_lost('psql, retried', \%told, scalar keys %told);
cmp_ok(scalar keys %told, '>', 1, 'psql, retried: orders before and after');
cmp_ok(rows("INSERT INTO orders (request) VALUES ('second') RETURNING id"), '>', $first, 'psql: the INSERT again has an id above');

# --- node-postgres

# Orders while the primary ends in this way, and the errors that the program must receive.
sub orders_by_node
{
	my ($client, $how, @wanted) = @_;
	$standby = standby_of($primary);
	my ($out, $err, $bare_out, $bare_err) = ('', '', '', '');
	my @addresses = map { ($_->host, $_->port) } $primary, $standby;
	my $orders = IPC::Run::start([ 'node', "$client/orders.js", 2000, @addresses ],
		'>', \$out, '2>', \$err, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	my $bare = IPC::Run::start([ 'node', "$client/no_handler.js", @addresses[ 0, 1 ] ],
		'>', \$bare_out, '2>', \$bare_err, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	$bare->pump until $bare_out =~ /connected/;
	$orders->pump until $out =~ /\border 100\n/;
	fail_over($how);
	$orders->finish;
	is($err, '', 'node-postgres: ends well');
	my %told = map { /^told\t(\d+)\t(.*)$/ ? ($2 => $1) : () } split /\n/, $out;
	nothing_is_lost('node-postgres', \%told, 2000);
	for my $wanted (@wanted)
	{
		like($out, qr/^error\t.*$wanted/m, "node-postgres: sees $wanted");
	}
	$bare->finish;
	isnt($bare->result, 0, 'node-postgres: a program without a handler of errors ends');
	like($bare_err, qr/Unhandled 'error' event/, 'node-postgres: and says so');
	return;
}

sub node_postgres
{
	my ($client) = @_;
	append_to_file("$client/insert_order.js", slurp_file('examples/patroni/insert_order.js'));
	rows('DELETE FROM orders');
	local %ENV = (%ENV, PGUSER => scalar getpwuid($<), PGDATABASE => 'postgres');
	orders_by_node($client, sub { $_[0]->stop('fast') }, '57P01');
	orders_by_node($client, \&kill_node, 'Connection terminated unexpectedly', 'ECONNREFUSED');
	return;
}

SKIP:
{
	skip 'node-postgres takes long, see make test-full', 1 unless $ENV{FULL};
	my ($client, $why) = fetched_by_npm('failover');
	skip "node-postgres: $why", 1 unless $client;
	node_postgres($client);
}

$primary->stop;
done_testing();
