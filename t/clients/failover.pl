# What docs/operations.md says clients see of a failover: its script and, with FULL=1, node-postgres. A retried INSERT
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
	my $new = new_standby($node, 'node_' . ++$nodes);
	wait_for_standby($node);
	return $new;
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

# The page's script retries orders until it has their ids, by its connection string with these hosts.
my ($connect) = command_of('operations.md', 'export PGHOST') =~ /PGTARGETSESSIONATTRS=(\S+)/ or die;
my $orders;
append_to_file("$folder/insert_order.sh", block_of('operations.md', 'insert_order'));
{
	local @ENV{qw(PGHOST PGPORT PGTARGETSESSIONATTRS PGDATABASE)} = (
		(map { my $of = $_; join ',', map { $_->$of } $primary, $standby } qw(host port)), $connect, 'postgres');
	$orders = IPC::Run::start(
		[ 'bash', '-c', "n=0; until [[ -e $folder/enough ]]; do n=\$((n + 1)); echo \$(sh $folder/insert_order.sh \"order \$n\") order \$n; done" ],
		'>', "$folder/told", '2>', "$folder/errors", guard('insert_order.sh'));
}
await_event('an order', sub { return -s "$folder/told" });
# At least one try fails before there is a primary again.
kill_node($primary);
await_event('an error', sub { return -s "$folder/errors" });
$standby->promote;
$primary = $standby;
my $before = () = slurp_file("$folder/told") =~ /\n/g;
await_event('orders after it', sub { return $before + 1 < (() = slurp_file("$folder/told") =~ /\n/g) });
append_to_file("$folder/enough", '');
$orders->finish;
my @told = map { [ /^(\d+) (order \d+)$/ ] } split /\n/, slurp_file("$folder/told");
like(slurp_file("$folder/errors"), qr/error|refused|closed|terminating connection/, 'psql, retried: there were tries that failed');
nothing_is_lost('psql, retried', { map { reverse @$_ } @told }, scalar @told);
is(scalar(grep { $told[$_][0] <= $told[ $_ - 1 ][0] } 1 .. $#told), 0, 'psql, retried: each id is above the one before');

# --- node-postgres

SKIP:
{
	skip 'node-postgres takes long, see make test-full', 1 unless $ENV{FULL};
	my ($client, $why) = fetched_by_npm('failover');
	skip "node-postgres: $why", 1 unless $client;
	append_to_file("$client/insert_order.js", slurp_file('examples/patroni/insert_order.js'));
	$standby = standby_of($primary);
	my ($out, $err) = ('', '');
	local %ENV = (%ENV, PGUSER => scalar getpwuid($<), PGDATABASE => 'postgres');
	my $requests = IPC::Run::start([ 'node', "$client/orders.js", 2000, map { ($_->host, $_->port) } $primary, $standby ],
		'>', \$out, '2>', \$err, guard('orders.js'));
	$requests->pump until $out =~ /\border 100\n/;
	kill_node($primary);
	$standby->promote;
	$primary = $standby;
	$requests->finish;
	is($err, '', 'node-postgres: ends well');
	nothing_is_lost('node-postgres', { reverse $out =~ /^told\t(\d+)\t(.*)$/mg }, 2000);
	like($out, qr/^error\t.*$_/m, "node-postgres: sees $_") for 'Connection terminated unexpectedly', 'ECONNREFUSED';
}

$primary->stop;
done_testing();
