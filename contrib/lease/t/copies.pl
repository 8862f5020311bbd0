# While a lease runs, copies of its holder generate nothing, whatever was copied, and the holder continues; a copied
# registry grants nothing, also to members that are copied with it, and also when the leases that it knows are over. The
# next holder's ids are later than all ids before.
use Leases;
use ShardidTest;

# The leases are longer than the test: a copy of the holder's window would remain usable.
my $original = new_node('original', "autovacuum = off\nmax_connections = 60\nshardid_lease.timeout = '3min'\n", allows_streaming => 1);
my ($host, $port) = ($original->host, $original->port);
$original->safe_psql('postgres', <<SQL);
CREATE DATABASE registry;
CREATE DATABASE shop;
\\connect registry
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', lease => '10 min', max_ahead => '1 h');
\\connect shop
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SELECT shardid_lease.lease_shard('ids', 'registry', shard => 2);
SQL
my $shop = [ $original, 'shop', 'shardid_seq' ];
cmp_ok((draw_from_all($shop))[0], '>', 0, 'ids come');

sub asks
{
	my ($node, $dbname, $port_of_registry, $registry) = @_;
	$node->safe_psql($dbname, "ALTER SERVER registry OPTIONS (SET host '@{[ $node->host ]}', SET port '$port_of_registry', SET dbname '$registry')");
	return;
}

sub generates_nothing
{
	my ($what, $node, $dbname, $why) = @_;
	my $beside = start_drawing($node, 'shardid_seq', dbname => $dbname, settings => "SET shardid_lease.timeout = '3s';");
	my ($ids) = draw_from_all($shop);
	is(scalar(grep { defined $_->[0] } finish_drawing($beside)), 0, "$what: no id beside $ids of the holder");
	await_event("$what: the error says why, once the registry was asked again", sub { my $said = error_of($node, $dbname, "SET shardid_lease.timeout = '3s'; SELECT next_id()"); die "$what: an id" if $said eq 'no error'; return $said =~ /ERROR:  55000: .*has no lease of shard 2.*$why/s });
	return;
}

# Beside the original; with the original's registry, and with a copy of it.
sub copied
{
	my ($what, $node, $dbname, $registry) = @_;
	generates_nothing($what, $node, $dbname, qr/(?:is|last) held by \S+, port $port, database "shop"/) unless $what =~ /^dump/;
	asks($node, $dbname, $node->port, $registry);
	# As if all leases that the copied registry knows had ended.
	$node->safe_psql($registry, 'UPDATE shardid_lease.granted_shard SET until_ms = least(until_ms, shardid_lease.now_ms(epoch)) FROM shardid_lease.id_space');
	my $stopped = qr/is stopped, as its registry .*registry_was_restored\(\)/s;
	generates_nothing("$what with its registry", $node, $dbname, $stopped);
	$node->safe_psql($dbname, 'CREATE SEQUENCE fresh');
	like(error_of($node, $dbname, $_), $stopped, "$what: nor is anything granted by $_")
	  for 'SELECT shardid_lease.take_over_shard()', q(SELECT shardid_lease.lease_shard('ids', 'registry', 'fresh'));
	asks($node, $dbname, $port, 'registry');
	return;
}

$original->safe_psql('postgres', "CREATE DATABASE ${_}_copied TEMPLATE $_") for 'registry', 'shop';
copied('CREATE DATABASE', $original, 'shop_copied', 'registry_copied');
like($original->safe_psql('shop_copied', q(SELECT shardid_lease.release_shard(); SELECT shardid_lease.lease_shard('ids', 'registry'))),
	qr/^\n[013-9]$/, 'it gets another shard when it has released');

# One that is made again, from a copy of its own, has its OID, and is another one.
$original->safe_psql('registry_copied', 'SELECT shardid_lease.registry_was_restored()');
my $stops = 'SELECT count(shardid_lease.why_stopped(s)) FROM shardid_lease.id_space s';
is($original->safe_psql('registry_copied', $stops), 0, 'the copied registry is confirmed');
for my $dbname ('shop_copied', 'registry_copied')
{
	my $oid = $original->safe_psql('postgres', "CREATE DATABASE kept TEMPLATE $dbname; SELECT oid FROM pg_database WHERE datname = '$dbname'");
	cmp_ok((draw_from_all([ $original, $dbname, 'shardid_seq' ]))[0], '>', 0, 'ids after that') if $dbname eq 'shop_copied';
	$original->safe_psql('postgres', "DROP DATABASE $dbname; CREATE DATABASE $dbname TEMPLATE kept OID = $oid; DROP DATABASE kept");
}
like(draw_one($original, 'shardid_seq', dbname => 'shop_copied', settings => "SET shardid_lease.timeout = '3s';"), qr/ERROR:  55000: .*held by \S+, port $port, database "shop_copied"/s, 'made again: no id');
is($original->safe_psql('registry_copied', $stops), 1, 'and no grant');

my $standby = new_standby($original, 'standby');
$original->wait_for_catchup($standby);
$standby->promote;
copied('a promoted standby', $standby, 'shop', 'registry');
$standby->safe_psql('postgres', "CREATE DATABASE ${_}_restored") for 'registry', 'shop';
for my $dbname ('registry', 'shop')
{
	IPC::Run::run([ 'pg_dump', $original->connstr($dbname) ], '|', [ 'psql', '-Xqb', '-v', 'ON_ERROR_STOP=1', $standby->connstr("${dbname}_restored") ], '>', \my $out) or die;
}
is($standby->safe_psql('registry_restored', 'SELECT count(*) FROM shardid_lease.granted_shard'), $original->safe_psql('registry', 'SELECT count(*) FROM shardid_lease.granted_shard'),
	'dumps have all rows');
copied('dumps', $standby, 'shop_restored', 'registry_restored');

# After a takeover the standby has the shard, in a window after the old holder's, which continues until the end of its own.
is($standby->safe_psql('shop', 'SELECT shardid_lease.take_over_shard()'), 2, 'the standby takes over');
my @ids = draw_from_all($shop, [ $standby, 'shop', 'shardid_seq' ]);
cmp_ok($_, '>', 0, "after a takeover $_ ids") for @ids;
my $its = 'FROM shardid_lease.shard_leases WHERE shard = 2';
cmp_ok($original->safe_psql('shop', "SELECT until $its"), 'le', $standby->safe_psql('shop', qq(SELECT "from" $its)), 'of windows that do not overlap');

# --- A shard that goes to and fro: the holder's old window is no longer valid, and each lease has another name, so that
# no late request of an earlier one is taken for one of it.

my @told;
sub on_shop { return $original->safe_psql('shop', $_[0]) }
sub told_by { return push @told, split /\n/, on_shop("SELECT next_id('$_[0]'::regclass) FROM generate_series(1, 3)") }
sub row_of_first { return on_shop(q(SELECT origin, lease FROM shardid_lease.leased_generator WHERE shardid_lease.sequence_oid(generator) = 'first'::regclass)) }
on_shop(q(CREATE SEQUENCE first; CREATE SEQUENCE second; SELECT shardid_lease.lease_shard('ids', 'registry', 'first', 7)));
told_by('first');
on_shop(q(SELECT setval('first', 1)));    # the windows are ahead of the clock from now on
told_by('first');
my ($origin, $lease) = split /\|/, row_of_first();
for my $hands ([qw(first second)], [qw(second first)], [qw(first second)], [qw(second first)])
{
	on_shop("SELECT shardid_lease.release_shard('$hands->[0]'); SELECT shardid_lease.lease_shard('ids', 'registry', '$hands->[1]', 7)");
	told_by($hands->[1]);
}
is(scalar(grep { $told[$_] <= $told[ $_ - 1 ] } 1 .. $#told), 0, 'each id is above the one before') or diag explain \@told;
all_ids(\@told);
like(row_of_first(), qr/^\Q$origin\E\|(?!\Q$lease\E)/, 'a generator that leases its shard again has its origin, and another lease');

# --- The original is lost. The copied registry is told so, and its member takes over.

$original->stop('immediate');
asks($standby, 'shop', $standby->port, 'registry');
$standby->safe_psql('registry', 'SELECT shardid_lease.registry_was_restored()');
is($standby->safe_psql('shop', 'SELECT shardid_lease.take_over_shard()'), 2, 'a copy takes the shard over');
cmp_ok((draw_from_all([ $standby, 'shop', 'shardid_seq' ]))[0], '>', 0, 'and generates ids');

no_id_comes_twice('copies', $standby);
